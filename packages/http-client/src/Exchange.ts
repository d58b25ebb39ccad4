/** One request and its response on a connection. */
import type { ResponseHead } from './ResponseReader.js'
import type { Server } from './Server.js'
import { TransportError, timerMs } from './Transport.js'

/** The connection of an exchange, as far as the exchange controls it. */
export type ExchangeConnection = {
  /** Whether the exchange certainly has not reached the server. */
  readonly isUnsent: boolean
  readonly isPaused: boolean
  /** Stops reading the body of the response, until `resume`. */
  pause: () => void
  resume: () => void
  destroy: () => void
}

/** A request as it is sent. */
export type ExchangeRequest = {
  readonly server: Server
  readonly method: string
  /** The request line and the headers, one character per byte. */
  readonly head: string
  readonly body: Uint8Array | undefined
  /** Whether the exchange uses a kept connection, and leaves it to others. */
  readonly isKept: boolean
}

/** A request, and the receiver of its response. */
export abstract class Exchange<Result = unknown> {
  readonly request: ExchangeRequest
  readonly result: Promise<Result>
  /** Set while the exchange has a connection. */
  connection: ExchangeConnection | undefined
  isOver = false
  protected reject!: (error: unknown) => void
  /** An exchange of any result can be sent, so the type is not that of the result. */
  #resolve!: (result: never) => void
  readonly #signal: AbortSignal | undefined
  readonly #onAbort = (): void => this.fail(this.#signal!.reason)
  readonly #limitMs: number
  #timer: ReturnType<typeof setTimeout> | undefined

  /** @param limitMs the time until `onLate` */
  constructor(request: ExchangeRequest, signal: AbortSignal | undefined, limitMs: number) {
    this.request = request
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.reject = reject
    })
    this.#signal = signal
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    this.#limitMs = timerMs(limitMs)
    this.restartTimer()
  }

  abstract onHead(head: ResponseHead): void
  /** The piece shares its memory with others, and may be wiped. */
  abstract onData(piece: Buffer): void
  /** Called once, unless `onError` is. */
  protected abstract onEnd(): void
  protected abstract onError(error: unknown): void
  protected abstract onLate(): void

  /** Ends the exchange with its response. */
  end(): void {
    if (this.#finish()) this.onEnd()
  }

  /** Ends the exchange with an error, and closes its connection. */
  fail(error: unknown): void {
    const { connection } = this
    if (!this.#finish()) return
    connection?.destroy()
    this.onError(error)
  }

  protected resolve(result: Result): void {
    this.#resolve(result as never)
  }

  /** Starts the time until `onLate` again. */
  protected restartTimer(): void {
    clearTimeout(this.#timer)
    if (!this.isOver) this.#timer = setTimeout(() => this.onLate(), this.#limitMs)
  }

  /** Returns false if the exchange is over already. From here on the connection belongs to others. */
  #finish(): boolean {
    if (this.isOver) return false
    this.isOver = true
    this.connection = undefined
    clearTimeout(this.#timer)
    this.#signal?.removeEventListener('abort', this.#onAbort)
    return true
  }
}

const invalidTarget = /[^\x21-\x7e\x80-\xff]/
const invalidName = /[^!#$%&'*+.^_`|~0-9A-Za-z-]|^$/
const invalidValue = /[^\t\x20-\x7e\x80-\xff]/

/**
 * Writes the request line and the headers, with `Host` first and `Connection` last.
 *
 * @throws TransportError for characters that would change the request
 */
export function requestHead(
  { method, path, authority, isKept }: { method: string; path: string; authority: string; isKept: boolean },
  headers: Iterable<readonly [name: string, value: string]>,
): string {
  if (invalidTarget.test(path) || invalidName.test(method)) throw unsendable('the path or the method')
  let text = `${method} ${path} HTTP/1.1\r\nHost: ${authority}\r\n`
  for (const [name, value] of headers) {
    if (invalidValue.test(value) || invalidName.test(name)) throw unsendable(`the header ${JSON.stringify(name)}`)
    text += `${name}: ${value}\r\n`
  }
  return `${text}Connection: ${isKept ? 'keep-alive' : 'close'}\r\n\r\n`
}

function unsendable(what: string): TransportError {
  const cause = new TypeError(`${what} has characters that cannot be sent`)
  return new TransportError('broken', { cause, isUnsent: true })
}
