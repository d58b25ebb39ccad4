/** Explains why a request got no response, because `fetch` itself only reports that it failed. */
import { CommandError } from './errors.js'
import { quoted } from './format.js'

const spelling = 'check the address and the connection'

/** By the codes of the system and of Node's HTTP client. */
const reasons: { readonly [code: string]: (host: string) => readonly [message: string, hint: string] } = {
  ECONNREFUSED: (host) => [`nothing listens at ${host}`, 'start the server there, or correct the address'],
  ENOTFOUND: (host) => [`the host name ${host} does not exist`, spelling],
  EAI_AGAIN: (host) => [`the host name ${host} could not be resolved`, 'check the connection, and try again'],
  EHOSTUNREACH: (host) => [`${host} cannot be reached from here`, spelling],
  ENETUNREACH: (host) => [`${host} cannot be reached from here`, spelling],
  ETIMEDOUT: (host) => [`${host} does not respond`, spelling],
  UND_ERR_CONNECT_TIMEOUT: (host) => [`${host} does not respond`, spelling],
  ECONNRESET: (host) => [`${host} closed the connection without a response`, 'try again'],
  UND_ERR_SOCKET: (host) => [`${host} closed the connection without a response`, 'try again'],
  EPROTO: (host) => [`${host} does not speak TLS`, 'try http:// instead of https://, if you trust the network'],
  ERR_SSL_WRONG_VERSION_NUMBER: (host) => [
    `${host} does not speak TLS`,
    'try http:// instead of https://, if you trust the network',
  ],
  ERR_SSL_PACKET_LENGTH_TOO_LONG: (host) => [
    `${host} does not speak TLS`,
    'try http:// instead of https://, if you trust the network',
  ],
  CERT_HAS_EXPIRED: (host) => [`the certificate of ${host} has expired`, 'nothing was sent; tell its operator'],
  DEPTH_ZERO_SELF_SIGNED_CERT: (host) => [
    `the certificate of ${host} is self-signed`,
    'nothing was sent; to trust the certificate, set NODE_EXTRA_CA_CERTS',
  ],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: (host) => [
    `the certificate of ${host} cannot be verified`,
    'nothing was sent; to trust the certificate, set NODE_EXTRA_CA_CERTS',
  ],
  ERR_TLS_CERT_ALTNAME_INVALID: (host) => [
    `the certificate of ${host} is for another name`,
    'nothing was sent; correct the address',
  ],
}

/** A TypeError with another message is a programming error. */
const fetchMessages = ['fetch failed', 'terminated']

/** Converts an error of `fetch` to one of the command. Returns any other error unchanged. */
export function explainServerError(error: unknown, url: string): unknown {
  if (!(error instanceof TypeError) || !fetchMessages.includes(error.message)) return error
  const { protocol, hostname, host } = new URL(url)
  const codes = codesOf(error.cause)
  // The parser of `fetch` gives no code since Node 24.
  const isParserError = error.cause instanceof Error && error.cause.name === 'HTTPParserError'
  if (isParserError || codes.some((code) => code.startsWith('HPE_'))) {
    const message = `${quoted(host)} does not speak HTTP`
    return new CommandError('server_unreachable', message, { hint: 'correct the address', cause: error })
  }
  for (const code of codes) {
    const reason = reasons[code]
    if (reason === undefined) continue
    const isName = code === 'ENOTFOUND' || code === 'EAI_AGAIN'
    const [message, hint] = reason(isName ? quoted(hostname) : `${protocol}//${host}`)
    return new CommandError('server_unreachable', message, { hint, cause: error })
  }
  const why = error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return new CommandError('server_unreachable', `the request failed${why}`, { hint: spelling, cause: error })
}

/** A name with several addresses has an error for each of them. */
function codesOf(cause: unknown): string[] {
  if (!(cause instanceof Error)) return []
  const { code } = cause as NodeJS.ErrnoException
  const inner = cause instanceof AggregateError ? cause.errors.flatMap(codesOf) : codesOf(cause.cause)
  return typeof code === 'string' ? [code, ...inner] : inner
}
