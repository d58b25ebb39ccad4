/** Explains why a server cannot listen. */
import { CommandError } from './errors.js'
import { quoted } from './format.js'
import * as StackPointer from './stack/StackPointer.js'
import { shortPath } from './stack/stateDirectory.js'

export type ListenAttempt = {
  readonly host: string
  readonly port: number
  /** How to change the port. @default 'give another with --port, or 0 for a free one' */
  readonly cure?: string | undefined
  /** How to change the address. @default 'give another with --host' */
  readonly hostCure?: string | undefined
}

const calls: readonly (string | undefined)[] = ['listen', 'bind', 'getaddrinfo']

/**
 * Returns the system's code of a listen error, or of its cause. Checks the system call, because access to a file can be
 * denied with the same code.
 */
function listenCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, syscall } = error as NodeJS.ErrnoException
  return calls.includes(syscall) ? code : listenCode(error.cause)
}

/** Converts a listen error to one of the command. Returns any other error unchanged. */
export function explainListenError(cause: unknown, attempt: ListenAttempt): unknown {
  const { host, port, hostCure = 'give another with --host' } = attempt
  const { cure = 'give another with --port, or 0 for a free one' } = attempt
  switch (listenCode(cause)) {
    case 'EADDRINUSE':
      return new CommandError('port_in_use', `port ${port} is in use${byWhom(port)}`, { hint: cure, cause })
    case 'EACCES':
      return new CommandError('port_unavailable', `port ${port} requires administrator rights`, { hint: cure, cause })
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new CommandError('port_unavailable', `this machine has no address ${quoted(host)}`, {
        hint: hostCure,
        cause,
      })
    default:
      return cause
  }
}

/** The programs of a stack use ports that are also the defaults of other programs. */
function byWhom(port: number): string {
  const stack = StackPointer.find().running.find(({ devnetUrl, indexerUrl, kmdUrl, facilitatorUrl, sellerUrl }) =>
    [devnetUrl, indexerUrl, kmdUrl, facilitatorUrl, sellerUrl].some((url) => new URL(url).port === String(port)),
  )
  return stack === undefined ? '' : ` by the dev stack in ${shortPath(stack.directory)}`
}
