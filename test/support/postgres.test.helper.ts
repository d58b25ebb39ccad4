/**
 * Runs PostgreSQL servers for a test: a fresh data directory, on a free loopback port, with a password that only this
 * test knows. A test that connects to the wrong server is refused, and cannot write into the database of another.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client, type QueryResult } from 'pg'
import { freePort } from './freePort.test.helper.js'

type Cache = {
  readonly cacheDirectory: (name: string) => string
  readonly buildOnce: (directory: string, build: (directory: string) => void) => void
}

const cacheScript = new URL('../../../scripts/cache.mjs', import.meta.url).href
const run = promisify(execFile)
/** Long enough for a start on an overloaded machine. */
const startMs = 120_000
/** The programs refuse to run as root. Debian reserves this id for users that own no file. */
const unprivilegedId = 65_534

type Scope = { after: (work: () => unknown) => void }

export type PostgresServerOptions = {
  /** @default a free port */
  readonly port?: number | undefined
  /** @default '127.0.0.1' */
  readonly host?: string | undefined
  /** Additional settings of the server, like `{ max_connections: '20' }`. */
  readonly settings?: { readonly [name: string]: string } | undefined
  /** A command that starts the server, like `['ip', 'netns', 'exec', 'name']`. */
  readonly prefix?: readonly string[] | undefined
  /** Additional environment variables of the server, not passed to the command that starts it. */
  readonly environment?: { readonly [name: string]: string } | undefined
}

/** Whether this machine has the programs. */
export const hasPostgres = (): boolean => existsSync(join(binDirectory(), 'initdb'))

/** A server that can be killed and restarted on the same data. Its superuser is `postgres`. */
export class PostgresServer {
  readonly directory: string
  readonly port: number
  readonly host: string
  /** The password of the superuser. Over the Unix socket in `directory`, the server asks for none. */
  readonly password = randomBytes(16).toString('hex')
  readonly #options: PostgresServerOptions
  #process: ChildProcess | undefined

  private constructor(directory: string, port: number, options: PostgresServerOptions) {
    this.directory = directory
    this.port = port
    this.host = options.host ?? '127.0.0.1'
    this.#options = options
  }

  /** Creates the data and starts the server; both are removed with the test. */
  static async start(t: Scope, options: PostgresServerOptions = {}): Promise<PostgresServer> {
    const directory = mkdtempSync(join(tmpdir(), 'latchkey-postgres-'))
    const server = new PostgresServer(directory, options.port ?? (await freePort()), options)
    t.after(async () => {
      await server.kill()
      rmSync(directory, { recursive: true, force: true })
    })
    if (isRoot()) chownSync(directory, unprivilegedId, unprivilegedId)
    await createData(directory)
    await server.restart()
    await server.query(`ALTER ROLE postgres PASSWORD '${server.password}'`)
    return server
  }

  /** Returns the URL of a database for the superuser. */
  url(database = 'postgres'): string {
    return `postgres://postgres:${this.password}@${this.host}:${this.port}/${database}`
  }

  /** Creates a role that can log in, with the password of the superuser. */
  async createRole(role: string): Promise<void> {
    await this.query(`CREATE ROLE ${role} LOGIN PASSWORD '${this.password}'`)
  }

  /** Executes a statement as the superuser, over the Unix socket. */
  async query(statement: string): Promise<QueryResult> {
    const client = new Client({ host: this.directory, port: this.port, user: 'postgres', database: 'postgres' })
    await client.connect()
    try {
      return await client.query(statement)
    } finally {
      await client.end()
    }
  }

  /** Restarts the server after `kill` or a crash. */
  async restart(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#start()
      } catch (error) {
        // Its processes notice the death of their parent one after the other, and hold the shared memory until then.
        if (tries >= 100 || !String(error).includes('shared memory')) throw error
        await sleep(100)
      }
    }
  }

  async #start(): Promise<void> {
    const settings = {
      listen_addresses: this.host,
      port: String(this.port),
      unix_socket_directories: this.directory,
      fsync: 'off',
      max_connections: '200',
      shared_buffers: '32MB',
      ...this.#options.settings,
    }
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const variables = Object.entries(this.#options.environment ?? {}).map(([name, value]) => `${name}=${value}`)
    const setting = variables.length === 0 ? [] : ['env', ...variables]
    const program = [...setting, join(binDirectory(), 'postgres'), '-D', join(this.directory, 'data'), ...flags]
    const [command, ...args] =
      this.#options.prefix === undefined ? program : [...this.#options.prefix, ...asUser(program)]
    const child = spawn(command!, args, {
      ...(this.#options.prefix === undefined ? identity() : {}),
      env: environment(),
      cwd: this.directory,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#process = child
    await ready(child)
  }

  /** Whether the process is running. */
  get isRunning(): boolean {
    return this.#process !== undefined && this.#process.exitCode === null && this.#process.signalCode === null
  }

  /**
   * Kills all processes immediately (`SIGKILL`), or stops like `SIGINT`: connections are closed, and nothing is lost.
   */
  async kill(signal: 'SIGKILL' | 'SIGINT' = 'SIGKILL'): Promise<void> {
    const child = this.#process
    if (child === undefined || !this.isRunning) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    // The postmaster writes its process id first; a prefix command may be between it and this process.
    process.kill(postmasterPid(join(this.directory, 'data')) ?? child.pid!, signal)
    await ended
  }
}

/** Returns the URL of a new, empty database in a server. */
export async function emptyDatabase(server: PostgresServer): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await server.query(`CREATE DATABASE ${name}`)
  return server.url(name)
}

/** Returns the URL for another role, which `createRole` created. */
export function asRole(address: string, role: string): string {
  const url = new URL(address)
  url.username = role
  return url.href
}

/** Moves the password from the addresses in a command's arguments, where it is refused, into the environment. */
export function forCommand(args: readonly string[]): {
  readonly args: string[]
  readonly env: { PGPASSWORD?: string }
} {
  const env: { PGPASSWORD?: string } = {}
  const plain = args.map((arg) => {
    if (!arg.startsWith('postgres://')) return arg
    const url = new URL(arg)
    if (url.password !== '') env.PGPASSWORD = url.password
    url.password = ''
    return url.href
  })
  return { args: plain, env }
}

/** Fills `data` in a directory with a copy of an empty server's data, because `initdb` takes ten times as long. */
async function createData(directory: string): Promise<void> {
  const { stdout } = await run(join(binDirectory(), 'initdb'), ['--version'], { env: environment() })
  const kept = `latchkey-postgres-scram-data-${stdout.replaceAll(/[^\w.]+/g, '-')}${process.getuid?.() ?? ''}`
  const { buildOnce, cacheDirectory } = (await import(cacheScript)) as Cache
  buildOnce(cacheDirectory(kept), initialize)
  await run('cp', ['-a', join(cacheDirectory(kept), 'data'), directory])
}

/** Creates the data below the directory for temporary files, where every user has access. */
function initialize(target: string): void {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-postgres-'))
  try {
    if (isRoot()) chownSync(directory, unprivilegedId, unprivilegedId)
    const data = join(directory, 'data')
    const flags = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
    execFileSync(join(binDirectory(), 'initdb'), flags, {
      ...{ ...identity(), env: environment(), cwd: directory },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    writeFileSync(
      join(data, 'pg_hba.conf'),
      'local all all trust\nhost all all 0.0.0.0/0 scram-sha-256\nhost all all ::0/0 scram-sha-256\n',
    )
    execFileSync('cp', ['-a', data, target])
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function binDirectory(): string {
  const given = process.env['POSTGRES_BIN']
  if (given !== undefined) return given
  const versions = ['18', '17', '16', '15'].map((version) => `/usr/lib/postgresql/${version}/bin`)
  return versions.find((directory) => existsSync(join(directory, 'initdb'))) ?? '/usr/bin'
}

function environment(): NodeJS.ProcessEnv {
  const libraries = process.env['LATCHKEY_TEST_LIBRARIES']
  return { PATH: process.env['PATH'], LC_ALL: 'C', ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) }
}

const isRoot = (): boolean => process.getuid?.() === 0
const identity = (): { uid?: number; gid?: number } => (isRoot() ? { uid: unprivilegedId, gid: unprivilegedId } : {})

/** Does the same for a program that another one starts. */
function asUser(program: readonly string[]): readonly string[] {
  if (!isRoot()) return program
  return ['setpriv', `--reuid=${unprivilegedId}`, `--regid=${unprivilegedId}`, '--clear-groups', ...program]
}

/** Resolves once the server accepts connections. @throws with its output if it exits before */
function ready(child: ChildProcess): Promise<void> {
  let text = ''
  return new Promise((resolve, reject) => {
    const fail = (): void => reject(new Error(`PostgreSQL did not start: ${text}`))
    const timer = setTimeout(fail, startMs)
    child.once('error', reject)
    child.once('exit', () => {
      clearTimeout(timer)
      fail()
    })
    child.stderr!.on('data', (chunk: Buffer) => {
      if (text.length < 10_000) text += chunk.toString()
      if (!text.includes('ready to accept connections')) return
      clearTimeout(timer)
      resolve()
    })
  })
}

function postmasterPid(data: string): number | undefined {
  try {
    return Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n', 1)[0])
  } catch {
    return undefined
  }
}
