/**
 * Hides from a handler that its client has disconnected, until its response is captured: pipes, and frameworks with files and
 * streams, stop in the middle otherwise, and what the buyer has paid for is never whole.
 */
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { functions, Overlay } from './Overlay.js'

type Listener = (...args: unknown[]) => void
type Closable = { destroyed?: boolean; _closed?: boolean }

export class HiddenClose {
  readonly #response: ServerResponse
  readonly #overlay: Overlay
  readonly #values: Closable = {}
  /** Listeners to the socket, which get its end afterwards. */
  readonly #ofSocket = new EventEmitter()
  #socket: Duplex | undefined
  #events: string[] = []
  #isHidden = true

  /** `onClose` is told nevertheless. */
  constructor(response: ServerResponse, onClose: () => void) {
    this.#response = response
    const emit = response.emit.bind(response)
    const values = this.#values
    const hide = (name: string | symbol, ...args: unknown[]): boolean => {
      // With HTTP/2 a stream that was reset is finished, too.
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

  /** What replaces members of the socket. */
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

  /** The response is as it is. */
  restore(): void {
    this.#isHidden = false
    this.#overlay.remove()
    Object.assign(this.#response, this.#values)
  }

  /** Tells those who listened, now that nothing can be cut off any more. */
  tell(): void {
    const events = this.#events
    this.#events = []
    for (const name of events) this.#response.emit(name)
    const socket = this.#socket
    for (const name of ['error', 'close', 'end'] as const) {
      for (const listener of this.#ofSocket.rawListeners(name) as Listener[]) socket?.on(name, listener)
    }
    if (socket?.destroyed && this.#ofSocket.listenerCount('close') > 0) this.#ofSocket.emit('close', false)
  }
}
