import type { KmdClientErrorCode } from '@latchkey/kmd-client'

/** The exit codes of `latchkey`. The command `kmd` uses those of the Go daemon, which its launchers depend on. */
export const exitCodes = {
  ok: 0,
  declined: 1,
  usage: 2,
  failed: 3,
  running: 4,
  unreachable: 5,
  password: 6,
  pending: 7,
  migrationDue: 8,
  broken: 9,
  interrupted: 130,
} as const

export type ExitCode = keyof typeof exitCodes

export const meanings: { readonly [code in ExitCode]: string } = {
  ok: 'success, or stopped on request',
  declined: 'the confirmation was declined; nothing was done',
  usage: 'invalid usage',
  failed: 'failed; the message says why',
  running: 'a daemon or a dev stack is already running in that directory',
  unreachable: 'the daemon or server is not running or does not respond',
  password: 'the password is wrong or missing',
  pending: 'a transaction was sent, but is not confirmed yet; check it with latchkey tx ID',
  migrationDue: 'database migrations are due',
  broken: 'the audit log was altered, or records are missing',
  interrupted: 'interrupted (Ctrl-C) before completion',
}

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
