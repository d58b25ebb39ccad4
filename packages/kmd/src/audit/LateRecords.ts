/**
 * Batches records of frequent owner operations that may be recorded with a short delay, such as generating keys in
 * bulk. The first record is written before its response; those that follow within a quarter of a second are written
 * together. A transaction for each would take as long as the operation itself.
 */
import type { AuditEvent } from './AuditChain.js'

export type LateRecordsOptions = {
  /** Writes the events in one transaction. Never rejects. */
  write: (events: readonly AuditEvent[]) => Promise<void>
  /** A monotonic clock, in milliseconds. @default performance.now */
  now?: (() => number) | undefined
}

const lateMs = 250
/** More events are written at once, because they take memory until then. */
const maxEvents = 1_000

export class LateRecords {
  readonly #write: (events: readonly AuditEvent[]) => Promise<void>
  readonly #now: () => number
  #events: AuditEvent[] = []
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #lastAtMs = Number.NEGATIVE_INFINITY

  constructor({ write, now = () => performance.now() }: LateRecordsOptions) {
    this.#write = write
    this.#now = now
  }

  /** Writes the event: before this resolves if it is the first for a while, otherwise soon afterwards. */
  async add(event: AuditEvent): Promise<void> {
    const nowMs = this.#now()
    const isFirst = nowMs - this.#lastAtMs >= lateMs
    this.#lastAtMs = nowMs
    this.#events.push(event)
    if (isFirst || this.#events.length >= maxEvents) return this.flush()
    this.#timer ??= setTimeout(() => void this.flush(), lateMs).unref()
  }

  /** Resolves once all events added before are written. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const events = this.#events
    this.#events = []
    if (events.length > 0) {
      const before = this.#writing
      const writing = this.#write(events)
      this.#writing = before.then(() => writing)
    }
    return this.#writing
  }
}
