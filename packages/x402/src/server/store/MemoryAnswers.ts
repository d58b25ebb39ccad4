/** Held answers in memory, limited in total size. Served answers make room for others. */
import { bytesOf, type HeldAnswer } from './HeldAnswer.js'

type Entry = { readonly answer: HeldAnswer; readonly bytes: number }

const defaultMaxBytes = 64 * 1024 * 1024

export class MemoryAnswers {
  readonly #maxBytes: number
  readonly #entries = new Map<string, Entry>()
  /** Served answers and when they are dropped, the oldest first. */
  readonly #served = new Map<string, number>()
  #bytes = 0

  constructor(maxBytes = defaultMaxBytes) {
    this.#maxBytes = maxBytes
  }

  get(id: string): HeldAnswer | undefined {
    return this.#entries.get(id)?.answer
  }

  add(id: string, answer: HeldAnswer): void {
    this.delete(id)
    const bytes = bytesOf(answer)
    if (bytes > this.#maxBytes) return
    for (const served of this.#served.keys()) {
      if (this.#bytes + bytes <= this.#maxBytes) break
      this.delete(served)
    }
    if (this.#bytes + bytes > this.#maxBytes) return
    this.#entries.set(id, { answer, bytes })
    this.#bytes += bytes
  }

  delete(id: string): void {
    this.#bytes -= this.#entries.get(id)?.bytes ?? 0
    this.#entries.delete(id)
    this.#served.delete(id)
  }

  /** Marks an answer as served, to be dropped at this time. */
  expireAt(id: string, atMs: number): void {
    this.#served.delete(id)
    if (this.#entries.has(id)) this.#served.set(id, atMs)
  }

  /** Keeps an answer until it is served. */
  keep(id: string): void {
    this.#served.delete(id)
  }

  expire(nowMs: number): void {
    for (const [id, atMs] of this.#served) {
      if (atMs > nowMs) return
      this.delete(id)
    }
  }
}
