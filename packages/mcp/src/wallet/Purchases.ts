/** The running purchases: one at a time per URL, shared by all callers, and found again by the next call. */
import { Purchase, type PurchaseOptions } from './Purchase.js'
import { ToolError } from './ToolError.js'
import type { WalletParts } from './WalletParts.js'
import { within } from './within.js'

/** A model with more purchases at once is probably in a loop. */
const maxRunning = 16
/** How long a result is kept if no call waits for it. */
const keptMs = 10 * 60 * 1000
const maxKept = 64
/** How long `close` waits for payments that were sent. */
const closeMs = 5_000

export class Purchases {
  readonly #parts: WalletParts
  /** The purchases by the key of their request. */
  readonly #byKey = new Map<string, Purchase>()

  constructor(parts: WalletParts) {
    this.#parts = parts
  }

  /**
   * Returns the running or finished purchase for the same request, or a new one.
   *
   * @throws ToolError if another request for the same URL is being paid for, or too many are
   */
  join(options: PurchaseOptions): Purchase {
    this.#forget()
    const { key, url } = options.request
    const same = this.#byKey.get(key)
    if (same !== undefined) return same
    const running = [...this.#byKey.values()].filter(({ endedMs }) => endedMs === undefined)
    if (running.some(({ request }) => request.url === url)) {
      throw new ToolError('payment_open', 'a payment for the same URL is already in progress')
    }
    if (running.length >= maxRunning) throw new ToolError('busy', `${maxRunning} payments are already in progress`)
    const purchase = new Purchase(this.#parts, options)
    this.#byKey.set(key, purchase)
    return purchase
  }

  /** Returns the purchase that waits or has waited for an approval. */
  findByApproval(approvalId: string): Purchase | undefined {
    return [...this.#byKey.values()].find((purchase) => purchase.isFor(approvalId))
  }

  find(key: string): Purchase | undefined {
    return this.#byKey.get(key)
  }

  /**
   * A result is returned to the callers that wait for it and then removed. The same request later is a new purchase.
   */
  leave(purchase: Purchase): void {
    const { key } = purchase.request
    if (purchase.endedMs !== undefined && this.#byKey.get(key) === purchase) this.#byKey.delete(key)
  }

  /**
   * Cancels unsigned purchases and waits for the others, because answering a sent payment now avoids sending it again
   * later.
   */
  async close(): Promise<void> {
    const running = [...this.#byKey.values()].filter(({ endedMs }) => endedMs === undefined)
    for (const purchase of running) purchase.cancel()
    const ended = Promise.allSettled(running.map(({ result }) => result))
    await within(ended, closeMs, new AbortController().signal)
  }

  #forget(): void {
    const ended = [...this.#byKey].filter(([, { endedMs }]) => endedMs !== undefined)
    const old = ended.filter(
      ([, { endedMs }], index) => Date.now() - endedMs! > keptMs || index < ended.length - maxKept,
    )
    for (const [key] of old) this.#byKey.delete(key)
  }
}
