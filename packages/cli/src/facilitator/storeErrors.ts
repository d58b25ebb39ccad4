/** Explains why a settlement database cannot be used, with the exit codes of the command line. */
import { PostgresError, StoreError } from '@latchkey/x402/postgres'
import { CommandError } from '../errors.js'

/** The class of SQLSTATE for roles and passwords that the server rejects. */
const loginClass = '28'
/** Classes and codes of a server that is temporarily unavailable: connections, starting, stopping. */
const away = /^(08|57P0|53300)/

/** Converts an error of a store to one of the command. Returns any other error unchanged. */
export function explainStoreError(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error
  const { message, hint } = error
  const more = { ...(hint === undefined ? {} : { hint }), cause: error }
  if (error.code === 'store_not_migrated') {
    const migrate = 'run latchkey facilitator migrate --grant-to ROLE, with a role that owns the database or the schema'
    return new CommandError('database_not_migrated', message, { hint: migrate, cause: error })
  }
  if (!(error instanceof PostgresError)) return error
  const { sqlState } = error
  if (sqlState?.startsWith(loginClass) || asksForPassword(error)) {
    return new CommandError('database_login_failed', message, more)
  }
  if (sqlState === undefined || away.test(sqlState)) return new CommandError('database_unreachable', message, more)
  return error
}

/** `pg` itself fails without a password, before the server can. */
function asksForPassword({ cause }: PostgresError): boolean {
  return cause instanceof Error && /SASL|password must be a string/.test(cause.message)
}
