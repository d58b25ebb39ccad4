/**
 * Limits events that an untrusted party can cause at will, such as wrong passwords. For each source, only a few are
 * recorded per minute, followed by the number of omitted ones, so that a flood does not fill the disk.
 */
import type { AuditEvent } from './AuditChain.js'

export type RepeatedEventsOptions = {
  /** Never rejects. */
  record: (event: AuditEvent) => Promise<void>
  /** Per source and minute. */
  limit?: number
  now?: () => number
}

type Source = { startedAtMs: number; recorded: number; more: number; event: AuditEvent }

const windowMs = 60_000
/** Further sources share one entry. */
const maxSources = 10_000

export class RepeatedEvents {
  readonly #options: RepeatedEventsOptions
  readonly #limit: number
  readonly #now: () => number
  readonly #sources = new Map<string, Source>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: RepeatedEventsOptions) {
    this.#options = options
    this.#limit = options.limit ?? 5
    this.#now = options.now ?? (() => performance.now())
  }

  async add(source: string, event: AuditEvent): Promise<void> {
    await this.#finish(false)
    const key = this.#sources.has(source) || this.#sources.size < maxSources ? source : ''
    const known = this.#sources.get(key) ?? { startedAtMs: this.#now(), recorded: 0, more: 0, event }
    this.#sources.set(key, known)
    this.#timer ??= setTimeout(() => void this.#finish(false), windowMs + 1).unref()
    known.event = event
    if (known.recorded < this.#limit) {
      known.recorded++
      return this.#options.record(event)
    }
    known.more++
  }

  /** Records events that were only counted so far. */
  close(): Promise<void> {
    clearTimeout(this.#timer)
    return this.#finish(true)
  }

  async #finish(isEnd: boolean): Promise<void> {
    const oldest = this.#sources.values().next().value
    const now = this.#now()
    if (oldest === undefined || (!isEnd && now - oldest.startedAtMs < windowMs)) return
    const records: Promise<void>[] = []
    for (const [key, { startedAtMs, more, event }] of this.#sources) {
      if (!isEnd && now - startedAtMs < windowMs) break
      this.#sources.delete(key)
      const detail = { ...event.detail, more: `${more}` }
      if (more > 0) records.push(this.#options.record({ ...event, detail }))
    }
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#sources.size > 0) this.#timer = setTimeout(() => void this.#finish(false), windowMs + 1).unref()
    await Promise.all(records)
  }
}
