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
  running: 'a daemon or a dev stack already runs in that directory',
  unreachable: 'no daemon or server is there, or it does not answer',
  password: 'the password is wrong or missing',
  pending: 'a transaction was sent and is not confirmed yet; latchkey tx ID tells what became of it',
  migrationDue: 'migrations of a database are due',
  broken: 'the audit log was altered, or records of it are missing',
  interrupted: 'interrupted (Ctrl-C) before it was done',
}
