/** One request and its response on a connection. */
import type { ResponseHandler } from './ResponseReader.js'
import type { Server } from './Server.js'
import { TransportError } from './Transport.js'

/** The connection of an exchange, as far as the exchange controls it. */
export type ExchangeConnection = {
  /** Whether the exchange certainly has not reached the server. */
  readonly isUnsent: boolean
  /** Stops reading the body of the response, until `resume`. */
  pause: () => void
  resume: () => void
  /** Closes the connection. The caller has already ended the exchange. */
  destroy: () => void
}

/** A request, and the callbacks for its response. Exactly one of `onEnd` and `onError` is called, unless cancelled. */
export type Exchange = ResponseHandler & {
  readonly server: Server
  readonly method: string
  /** The request line and the headers, one character per byte. */
  readonly head: string
  readonly body: Uint8Array | undefined
  /** Whether the exchange uses a kept connection, and leaves it to others. */
  readonly isKept: boolean
  /** How long the server may send nothing; undefined if the exchange has another limit. */
  readonly silenceMs: number | undefined
  /** Whether the exchange was cancelled while it waited for a connection. */
  readonly isOver: boolean
  /** Set as soon as the exchange has a connection. */
  connection: ExchangeConnection | undefined
  onEnd: () => void
  /** Called with a `TransportError`, or with the reason of a peer that was not approved. */
  onError: (error: Error) => void
}

const invalidTarget = /[^\x21-\x7e\x80-\xff]/
const invalidName = /[^!#$%&'*+.^_`|~0-9A-Za-z-]|^$/
const invalidValue = /[^\t\x20-\x7e\x80-\xff]/

/** Writes the request line and the headers. `Connection` comes last. */
export class RequestHead {
  #text: string

  /** @throws TransportError for a path that would change the request */
  constructor(method: string, path: string, authority: string) {
    if (invalidTarget.test(path) || invalidName.test(method)) throw unsendable('the path or the method')
    this.#text = `${method} ${path} HTTP/1.1\r\nHost: ${authority}\r\n`
  }

  /** @throws TransportError for a header that would change the request */
  add(name: string, value: string): void {
    if (invalidValue.test(value) || invalidName.test(name)) throw unsendable(`the header ${JSON.stringify(name)}`)
    this.#text += `${name}: ${value}\r\n`
  }

  end(isKept: boolean): string {
    return `${this.#text}Connection: ${isKept ? 'keep-alive' : 'close'}\r\n\r\n`
  }
}

function unsendable(what: string): TransportError {
  const cause = new TypeError(`${what} has characters that cannot be sent`)
  return new TransportError('broken', { cause, isUnsent: true })
}
