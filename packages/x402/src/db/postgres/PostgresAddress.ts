/**
 * Parses where a PostgreSQL server is and how to connect to it: a `postgres://` address, and the `PG*` environment for
 * the rest.
 */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { userInfo } from 'node:os'
import type { ConnectionOptions } from 'node:tls'
import { StoreError } from '../StoreError.js'

/** The modes of libpq, without `allow`. `prefer` encrypts if the server supports it, and checks no certificate. */
export type SslMode = 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full'

/** The settings of a connection. */
export type PostgresAddress = {
  /** A host, or the directory of a socket. */
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
  /** Undefined if neither the address nor the environment has one. `pg` then looks in the password file. */
  readonly password: string | undefined
  readonly sslMode: SslMode
  /** The TLS options of the connection, for all modes except `disable`. */
  readonly tls: ConnectionOptions | undefined
  readonly applicationName: string | undefined
  readonly connectTimeoutMs: number | undefined
  readonly options: string | undefined
}

type Environment = { readonly [name: string]: string | undefined }
type Parameters = { readonly [name: string]: string | undefined }

/** The parameters of an address, and their environment variables. */
const variables = {
  host: 'PGHOST',
  port: 'PGPORT',
  dbname: 'PGDATABASE',
  user: 'PGUSER',
  password: 'PGPASSWORD',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  application_name: 'PGAPPNAME',
  connect_timeout: 'PGCONNECT_TIMEOUT',
  options: 'PGOPTIONS',
} as const

type Parameter = keyof typeof variables

const sslModes: readonly string[] = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full']
const maxAddressLength = 4_096
const maxCertificateBytes = 1_000_000

/**
 * Parses an address. Missing parts are taken from the environment, and then from the defaults of PostgreSQL.
 *
 * @throws StoreError `store_failed`, without the password in its text
 */
export function parse(address: string | undefined, environment: Environment = process.env): PostgresAddress {
  const given = address === undefined ? {} : parametersOf(address)
  const value = (name: Parameter): string | undefined => given[name] || environment[variables[name]] || undefined
  const user = value('user') ?? systemUser()
  const host = value('host') ?? 'localhost'
  const sslMode = modeOf(value('sslmode'), host)
  const timeout = value('connect_timeout')
  return {
    host,
    port: integer('port', value('port') ?? '5432', 65_535),
    database: value('dbname') ?? user,
    user,
    password: value('password'),
    sslMode,
    tls: sslMode === 'disable' ? undefined : tlsOf(sslMode, host, value),
    applicationName: value('application_name'),
    connectTimeoutMs: timeout === undefined ? undefined : integer('connect_timeout', timeout, 600) * 1000,
    options: value('options'),
  }
}

/** The server and database for messages, without user and password. */
export function describe({ host, port, database }: PostgresAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}/${database}`
}

function parametersOf(address: string): Parameters {
  if (address.length > maxAddressLength) throw unusable('it is too long')
  // Without a host, as in postgres:///name?host=/run/postgresql, `URL` would refuse a user.
  const text = address.replace(/^(postgres(?:ql)?:\/\/(?:[^/@?#]*@)?)(?=(?::\d*)?(?:[/?]|$))/, '$1no-host.invalid')
  let url: URL
  try {
    url = new URL(text)
  } catch {
    // The cause is left out, because the error of `URL` contains the whole address, including the password.
    throw unusable('it is not a URL')
  }
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:')
    throw unusable('it does not begin with postgres://')
  const host = url.hostname === 'no-host.invalid' ? '' : url.hostname.replace(/^\[(.+)\]$/, '$1')
  if (host.includes(',') || host.includes('%2C')) throw unusable('it names several servers')
  const named: Record<string, string> = {
    host: decoded(host),
    port: url.port,
    dbname: decoded(url.pathname.slice(1)),
    user: decoded(url.username),
    password: decoded(url.password),
  }
  for (const [name, value] of url.searchParams) {
    // A misspelled sslmode would leave the connection open to a network attacker.
    if (!Object.hasOwn(variables, name)) throw unusable(`its parameter ${name.slice(0, 40)} is unknown`)
    named[name] = value
  }
  return named
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw unusable('it has a % that encodes nothing')
  }
}

function modeOf(value: string | undefined, host: string): SslMode {
  // A local socket has no TLS.
  if (host.startsWith('/')) return 'disable'
  const mode = value ?? 'prefer'
  if (sslModes.includes(mode)) return mode as SslMode
  throw unusable(`sslmode is not one of ${sslModes.join(', ')}`)
}

function tlsOf(mode: SslMode, host: string, value: (name: Parameter) => string | undefined): ConnectionOptions {
  const [root, cert, key] = [value('sslrootcert'), value('sslcert'), value('sslkey')]
  if (mode === 'verify-ca' && root === undefined) {
    throw unusable('sslmode=verify-ca needs sslrootcert, because otherwise any public authority would be accepted')
  }
  // As in libpq: with a root certificate, `require` checks that the server's certificate is from that authority.
  const isChecked = mode === 'verify-full' || mode === 'verify-ca' || (mode === 'require' && root !== undefined)
  return {
    // For an IP address, nothing else determines the name in the certificate, and Node would use "localhost".
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    rejectUnauthorized: isChecked,
    ...(mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
    ...(root === undefined || root === 'system' ? {} : { ca: certificate('sslrootcert', root) }),
    ...(cert === undefined ? {} : { cert: certificate('sslcert', cert) }),
    ...(key === undefined ? {} : { key: certificate('sslkey', key) }),
  }
}

function certificate(name: string, path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const hint = "Check the path, and that this process's user may read the file."
    throw new StoreError('store_failed', `the file of ${name}, ${path}, cannot be read`, { hint, cause: error })
  }
  if (text.length > maxCertificateBytes) throw unusable(`the file of ${name} is too large`)
  return text
}

function integer(name: string, value: string, max: number): number {
  const number = /^\d{1,6}$/.test(value) ? Number(value) : Number.NaN
  if (number >= 1 && number <= max) return number
  throw unusable(`its ${name} is not a number from 1 to ${max}`)
}

function systemUser(): string {
  try {
    return userInfo().username
  } catch {
    return 'postgres'
  }
}

function unusable(reason: string): StoreError {
  const hint = 'Write it like postgres://user@host:5432/database?sslmode=verify-full, with the password in PGPASSWORD.'
  return new StoreError('store_failed', `the address of PostgreSQL cannot be used: ${reason}`, { hint })
}
