/** Describes a problem with a PostgreSQL server and its fix, by SQLSTATE or by the error of the connection. */
import { StoreError } from '../StoreError.js'

/** Details about a change that failed. */
export type PostgresErrorDetails = {
  /** The server's code, such as 42501; undefined if the connection failed. */
  readonly sqlState: string | undefined
  /** Whether the change may have been made, because the connection was lost after it was sent. */
  readonly isOutcomeUnknown: boolean
}

/** A PostgreSQL server that cannot be used. */
export class PostgresError extends StoreError {
  override name = 'StoreError'
  readonly sqlState: string | undefined
  readonly isOutcomeUnknown: boolean

  constructor(message: string, hint: string | undefined, cause: unknown, details: PostgresErrorDetails) {
    super('store_failed', message, { ...(hint === undefined ? {} : { hint }), cause })
    this.sqlState = details.sqlState
    this.isOutcomeUnknown = details.isOutcomeUnknown
  }
}

type Reason = readonly [reason: string, hint: string]

const rights = 'Let the owner run the migrations for this role, and allow the role to connect: see docs/deploying.md.'
const wait = 'Wait, or check what the server is doing in pg_stat_activity.'

/** Keyed by SQLSTATE, or by its two-character class. */
const reasons: { readonly [sqlState: string]: Reason } = {
  '08': ['the connection failed', "Check the network and the server's log."],
  '25006': ['it is read-only', 'Use the address of the primary server: this may be a standby.'],
  '28': ['it does not accept the role or the password', "Check the user, PGPASSWORD and the server's pg_hba.conf."],
  '3D000': ['the database does not exist', 'Create it, or use another database.'],
  '3F000': ['the schema does not exist', rights],
  '42501': ['the role does not have the right to do this', rights],
  '42704': ['a role does not exist', 'Create it first, or check its name: docs/deploying.md has the statements.'],
  '42P01': ['a table is missing', rights],
  '42883': ['a function is missing', rights],
  '53100': ['the disk is full', 'Free some disk space. No acknowledged payment is lost.'],
  '53200': ['the server is out of memory', 'Raise max_locks_per_transaction, or use fewer connections.'],
  '53300': ['it has no free connections', 'Raise max_connections, or use fewer connections or replicas.'],
  '55P03': ['a lock was not released in time', wait],
  '57014': ['a statement took too long', wait],
  '57P01': ['it is shutting down', 'Wait until it is running again.'],
  '57P02': ['it crashed', 'Wait until it is running again, and check its log.'],
  '57P03': ['it is starting', 'Wait until it accepts connections.'],
}

/** Matched by the system's code, or the message of `pg`. */
const connectionReasons: readonly (readonly [text: RegExp, reason: string, hint: string])[] = [
  [/ECONNREFUSED/, 'no server listens at this address', 'Start the server, or check host and port.'],
  [/ENOTFOUND|EAI_AGAIN/, 'the host name cannot be resolved', 'Check the host name.'],
  [/ENOENT/, "the server's socket does not exist", 'Start the server, or check the socket directory.'],
  [
    /does not support SSL/,
    'it does not offer TLS',
    'Enable `ssl` on the server, or use sslmode=disable on a trusted network.',
  ],
  [
    /certificate|CERT_|ERR_TLS|self.signed|issuer/i,
    'its certificate is not accepted',
    "Pass its authority's certificate as sslrootcert, and use the host name that the server's certificate has.",
  ],
  [/SASL|password must be a string/i, 'it asks for a password', 'Set PGPASSWORD.'],
  [/trying to connect/, 'all connections of this process are busy', 'Allow more connections, or send fewer requests.'],
  [/timeout/i, 'it did not respond in time', "Check the network and the server's load."],
]

/** Whether the connection can still be used after an error of the server. */
export function isOfStatement(error: unknown): boolean {
  const { severity } = error as { severity?: unknown }
  return severity === 'ERROR' && !isShutdown(sqlStateOf(error))
}

/** Whether the error is caused by the data of a statement, so that one of several items may be at fault. */
export function isOfItem(error: unknown): boolean {
  return error instanceof PostgresError && /^2[23]/.test(error.sqlState ?? '')
}

/** Whether the server has rolled back a statement because of others, so that it can be run again. */
export function isConflict(error: unknown): boolean {
  return error instanceof PostgresError && (error.sqlState === '40P01' || error.sqlState === '40001')
}

/** Whether the server is not available yet or anymore, and nothing was sent. Connecting again is safe. */
export function isTemporary(error: unknown): boolean {
  const state = sqlStateOf(error)
  if (state !== undefined) return isShutdown(state) || state === '53300'
  const text = textOf(error)
  return /ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|EAI_AGAIN|terminated|connection timeout|timeout expired/.test(text)
}

/** Adds the name of the server to an error. */
export function named(server: string, error: unknown, isOutcomeUnknown: boolean): unknown {
  if (error instanceof StoreError) return error
  const sqlState = sqlStateOf(error)
  const [reason, hint] = (sqlState === undefined ? connectionReason(error) : serverReason(sqlState, error)) ?? []
  const message = `the database ${server}: ${reason ?? textOf(error).slice(0, 300)}`
  return new PostgresError(message, hint, error, { sqlState, isOutcomeUnknown })
}

export function sqlStateOf(error: unknown): string | undefined {
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && severity !== undefined && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

function isShutdown(sqlState: string | undefined): boolean {
  return sqlState !== undefined && (/^57P0[1-5]$/.test(sqlState) || sqlState.startsWith('08'))
}

function serverReason(sqlState: string, error: unknown): Reason {
  const [reason, hint] = reasons[sqlState] ?? reasons[sqlState.slice(0, 2)] ?? []
  const text = String((error as { message?: unknown }).message).slice(0, 300)
  return [reason === undefined ? `${text} (${sqlState})` : `${reason} (${text})`, hint ?? "Check the server's log."]
}

function connectionReason(error: unknown): Reason | undefined {
  const text = textOf(error)
  const found = connectionReasons.find(([pattern]) => pattern.test(text))
  return found && [found[1], found[2]]
}

/** An `AggregateError` for several addresses of a host has no message. */
function textOf(error: unknown): string {
  const { code, message, errors } = error as { code?: unknown; message?: unknown; errors?: readonly unknown[] }
  const inner = Array.isArray(errors) && errors.length > 0 ? ` ${textOf(errors[0])}` : ''
  return `${message ?? ''}${typeof code === 'string' ? ` ${code}` : ''}${inner}`.trim()
}
