/** Why a server cannot listen, in the words of the command line. */
import { CommandError } from './errors.js'
import { quoted } from './format.js'
import * as StackPointer from './stack/StackPointer.js'
import { shortPath } from './stack/stateDirectory.js'

export type ListenAttempt = {
  readonly host: string
  readonly port: number
  /** What changes the port. @default 'give another with --port, or 0 for a free one' */
  readonly cure?: string | undefined
  /** What changes the address. @default 'give another with --host' */
  readonly hostCure?: string | undefined
}

const calls: readonly (string | undefined)[] = ['listen', 'bind', 'getaddrinfo']

/** The system's code of listening, also where another error has it as its cause. A file can be the administrator's, too. */
function listenCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, syscall } = error as NodeJS.ErrnoException
  return calls.includes(syscall) ? code : listenCode(error.cause)
}

/** An error of listening as that of the command; any other as it is. */
export function explainListenError(cause: unknown, attempt: ListenAttempt): unknown {
  const { host, port, hostCure = 'give another with --host' } = attempt
  const { cure = 'give another with --port, or 0 for a free one' } = attempt
  switch (listenCode(cause)) {
    case 'EADDRINUSE':
      return new CommandError('port_in_use', `port ${port} is in use${byWhom(port)}`, { hint: cure, cause })
    case 'EACCES':
      return new CommandError('port_unavailable', `port ${port} is for the administrator only`, { hint: cure, cause })
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

/** The programs of a stack have the ports that other programs take by default, too. */
function byWhom(port: number): string {
  const stack = StackPointer.find().running.find(({ devnetUrl, indexerUrl, kmdUrl, facilitatorUrl, sellerUrl }) =>
    [devnetUrl, indexerUrl, kmdUrl, facilitatorUrl, sellerUrl].some((url) => new URL(url).port === String(port)),
  )
  return stack === undefined ? '' : ` by the dev stack in ${shortPath(stack.directory)}`
}
