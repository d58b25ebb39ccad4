/**
 * Hides from a handler that its client has disconnected, until its response is captured. Otherwise pipes, and
 * frameworks with files and streams, would stop in the middle, and the response that the buyer paid for would never be
 * complete.
 */
import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import type { Duplex } from 'node:stream'
import { functions, Overlay } from './Overlay.js'

type Listener = (...args: unknown[]) => void
type Closable = { destroyed?: boolean; _closed?: boolean }
type AnyRequest = IncomingMessage | Http2ServerRequest
type Hidden = { readonly name: string; readonly args: readonly unknown[] }

export class HiddenClose {
  readonly #response: ServerResponse
  readonly #overlay: Overlay
  readonly #values: Closable = {}
  /** Listeners on the socket, which receive its end afterwards. */
  readonly #ofSocket = new EventEmitter()
  #socket: Duplex | undefined
  #events: string[] = []
  #isHidden = true
  readonly #request: AnyRequest
  readonly #requestOverlay: Overlay
  readonly #requestValues: { aborted?: boolean } = {}
  #requestEvents: Hidden[] = []

  /** `onClose` is still called. */
  constructor(response: ServerResponse, onClose: () => void, request: AnyRequest) {
    this.#response = response
    this.#request = request
    this.#requestOverlay = this.#hideOnRequest(request)
    const emit = response.emit.bind(response)
    const values = this.#values
    const hide = (name: string | symbol, ...args: unknown[]): boolean => {
      // With HTTP/2, a reset stream also emits `finish`.
      if (name !== 'close' && name !== 'finish') return emit(name as string, ...args)
      this.#events.push(name)
      if (name === 'close') onClose()
      return true
    }
    this.#overlay = new Overlay(response, {
      ...functions({ emit: hide as never }),
      closed: { get: () => false },
      destroyed: { get: () => false, set: (destroyed: boolean) => void Object.assign(values, { destroyed }) },
      _closed: { get: () => false, set: (_closed: boolean) => void Object.assign(values, { _closed }) },
    })
  }

  /** Whether the client left before the request was read to its end, which is hidden from the handler. */
  get isAborted(): boolean {
    return this.#requestValues.aborted ?? false
  }

  /** Events of the request also make handlers stop. A handler that still reads the body gets them. */
  #hideOnRequest(request: AnyRequest): Overlay {
    const emit = request.emit.bind(request)
    const values = this.#requestValues
    const hide = (name: string, ...args: unknown[]): boolean => {
      if (!['aborted', 'close', 'error'].includes(name) || !isLeft(request)) return emit(name, ...args)
      this.#requestEvents.push({ name, args })
      return true
    }
    const aborted = {
      get: () => !isLeft(request) && this.isAborted,
      set: (value: boolean) => void Object.assign(values, { aborted: value }),
    }
    // With HTTP/2, `aborted` cannot be set.
    return new Overlay(request, { ...functions({ emit: hide as never }), ...('stream' in request ? {} : { aborted }) })
  }

  /** The replaced members of the socket. */
  socketMembers(socket: Duplex): { readonly [name: string]: unknown } {
    this.#socket = socket
    const emitter: EventEmitter = socket
    const toHidden = (name: 'on' | 'once' | 'off') => (event: string, listener: Listener) => {
      const isEnd = event === 'close' || event === 'error' || event === 'end'
      if (isEnd && (this.#isHidden || name === 'off')) this.#ofSocket[name](event, listener)
      if (!isEnd || !this.#isHidden) emitter[name](event, listener)
      return this.#response.socket
    }
    const [on, once, off] = [toHidden('on'), toHidden('once'), toHidden('off')]
    const isHidden = (): boolean => this.#isHidden
    return {
      ...{ on, addListener: on, once, off, removeListener: off },
      get destroyed() {
        return isHidden() ? false : socket.destroyed
      },
      get writable() {
        return isHidden() ? true : socket.writable
      },
      get readable() {
        return isHidden() ? true : socket.readable
      },
    }
  }

  /** Restores the response and the request. */
  restore(): void {
    this.#isHidden = false
    this.#overlay.remove()
    this.#requestOverlay.remove()
    Object.assign(this.#response, this.#values)
    Object.assign(this.#request, this.#requestValues)
  }

  /** Emits the hidden events, now that nothing can be cut off. */
  tell(): void {
    const events = this.#events
    this.#events = []
    for (const name of events) this.#response.emit(name)
    const requestEvents = this.#requestEvents
    this.#requestEvents = []
    for (const { name, args } of requestEvents) {
      // An error without a listener would end the process.
      if (name !== 'error' || this.#request.listenerCount('error') > 0) this.#request.emit(name, ...args)
    }
    const socket = this.#socket
    for (const name of ['error', 'close', 'end'] as const) {
      for (const listener of this.#ofSocket.rawListeners(name) as Listener[]) socket?.on(name, listener)
    }
    if (socket?.destroyed && this.#ofSocket.listenerCount('close') > 0) this.#ofSocket.emit('close', false)
  }
}

/** Whether the client has left and nothing of its request is left to read. */
function isLeft(request: AnyRequest): boolean {
  if ('stream' in request) {
    const { endAfterHeaders, closed, destroyed, aborted } = request.stream
    return (endAfterHeaders || request.readableEnded) && (closed || destroyed || aborted)
  }
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
  // A request whose body was read closes without an error.
  return request.errored !== null && encoding === undefined && Number(length) === 0
}
