/** What `latchkey` ends with. The command `kmd` has those of the Go daemon, which its launchers act on. */
export const exitCodes = {
  ok: 0,
  declined: 1,
  usage: 2,
  failed: 3,
  running: 4,
  unreachable: 5,
  password: 6,
  interrupted: 130,
} as const

export type ExitCode = keyof typeof exitCodes

export const meanings: { readonly [code in ExitCode]: string } = {
  ok: 'done, or stopped in good order',
  declined: 'a person was asked and said no; nothing was done',
  usage: 'wrong use',
  failed: 'failed; the message says why',
  running: 'a daemon already runs in that directory',
  unreachable: 'no daemon runs there, or it does not answer',
  password: 'the password is wrong, or there is none to be had',
  interrupted: 'interrupted (Ctrl-C) before it was done',
}

/** An end that has a code of its own; what throws it says what, why, and what to do. */
export class CommandError extends Error {
  override name = 'Failure'
  readonly code: ExitCode

  constructor(code: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
