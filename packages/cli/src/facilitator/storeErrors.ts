/** Why a database of settlements cannot be used, in the words and with the exit codes of the command line. */
import { PostgresError, StoreError } from '@latchkey/x402/postgres'
import { CommandError } from '../errors.js'

/** The class of SQLSTATE for roles and passwords that the server does not accept. */
const loginClass = '28'
/** Classes and codes of a server that is there and cannot be used for a while: connections, starting, stopping. */
const away = /^(08|57P0|53300)/

/** The error of a store as that of the command; any other as it is. */
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

/** `pg` refuses to answer without a password before the server can. */
function asksForPassword({ cause }: PostgresError): boolean {
  return cause instanceof Error && /SASL|password must be a string/.test(cause.message)
}
