import type { KmdClientErrorCode } from '@latchkey/kmd-client'
import type { ExitCode } from './exitCodes.js'

/**
 * The exit codes for errors of the daemon's client; `failed` for all others. Only its types are imported, because
 * loading it takes time.
 */
export const clientExits: { readonly [Code in KmdClientErrorCode]?: ExitCode } = {
  daemon_not_running: 'unreachable',
  foreign_listener: 'unreachable',
  data_directory_unreadable: 'unreachable',
  connection_lost: 'unreachable',
  timeout: 'unreachable',
  password_required: 'password',
  wrong_password: 'password',
  too_many_wrong_passwords: 'password',
}
