/**
 * The events of a stack's seller and facilitator as a stream, for `latchkey listen`: server-sent events, one JSON object
 * each. A listener that reads too slowly is disconnected, and nothing is kept for later.
 */
import type { ServerResponse } from 'node:http'
import type { GateHooks } from '@latchkey/x402/server'

/** The events, in the order of a payment. */
export const eventTypes = ['required', 'verified', 'settled', 'refused'] as const
export type EventType = (typeof eventTypes)[number]

const maxListeners = 16
const maxWaitingBytes = 1024 * 1024
const heartbeatMs = 15_000

const headers = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
}

export class EventFeed {
  readonly #listeners = new Set<ServerResponse>()
  #heartbeat: NodeJS.Timeout | undefined

  /** Adds a listener. Returns false if there are too many. */
  add(response: ServerResponse): boolean {
    if (this.#listeners.size >= maxListeners) return false
    response.writeHead(200, headers)
    response.write(': events of the dev stack\n\n')
    this.#listeners.add(response)
    this.#heartbeat ??= setInterval(() => this.#write(': still here\n\n'), heartbeatMs).unref()
    response.once('close', () => this.#remove(response))
    return true
  }

  /** Sends an event to all listeners. */
  emit(type: EventType, event: object): void {
    if (this.#listeners.size === 0) return
    const text = JSON.stringify({ type, ...event }, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    )
    this.#write(`event: ${type}\ndata: ${text}\n\n`)
  }

  /** The hooks of a gate, which also report to the listeners. */
  hooks(hooks: GateHooks): GateHooks {
    const both = <T extends object>(type: EventType, hook: ((event: T) => unknown) | undefined) => {
      return (event: T): unknown => {
        this.emit(type, event)
        return hook?.(event)
      }
    }
    return {
      onPaymentRequired: both('required', hooks.onPaymentRequired),
      onVerified: both('verified', hooks.onVerified),
      onSettled: both('settled', hooks.onSettled),
      onRefused: both('refused', hooks.onRefused),
    }
  }

  close(): void {
    for (const response of this.#listeners) response.end()
    clearInterval(this.#heartbeat)
  }

  #write(text: string): void {
    for (const response of this.#listeners) {
      if (response.writableLength > maxWaitingBytes) response.destroy()
      else response.write(text)
    }
  }

  #remove(response: ServerResponse): void {
    this.#listeners.delete(response)
    if (this.#listeners.size > 0) return
    clearInterval(this.#heartbeat)
    this.#heartbeat = undefined
  }
}
