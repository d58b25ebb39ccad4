/** The requests that are being paid for: one at a time for a URL, for all callers, and found again by the next call. */
import { Purchase, type PurchaseOptions } from './Purchase.js'
import { ToolError } from './ToolError.js'
import type { WalletParts } from './WalletParts.js'
import { within } from './within.js'

/** More at the same time are a model in a loop. */
const maxRunning = 16
/** How long a result is kept that no call has waited for. */
const keptMs = 10 * 60 * 1000
const maxKept = 64
/** How long the end waits for payments that are on their way. */
const closeMs = 5_000

export class Purchases {
  readonly #parts: WalletParts
  /** By the key of the request. */
  readonly #byKey = new Map<string, Purchase>()

  constructor(parts: WalletParts) {
    this.#parts = parts
  }

  /**
   * The one that runs or has ended for the same request, or a new one.
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
      throw new ToolError('payment_open', 'another request for the same URL is being paid for')
    }
    if (running.length >= maxRunning) throw new ToolError('busy', `${maxRunning} requests are being paid for`)
    const purchase = new Purchase(this.#parts, options)
    this.#byKey.set(key, purchase)
    return purchase
  }

  /** The one that waits for an approval, or has waited for it. */
  findByApproval(approvalId: string): Purchase | undefined {
    return [...this.#byKey.values()].find((purchase) => purchase.isFor(approvalId))
  }

  find(key: string): Purchase | undefined {
    return this.#byKey.get(key)
  }

  /** A result is handed out to those who wait for it, and then forgotten: the same request again is a new one. */
  leave(purchase: Purchase): void {
    const { key } = purchase.request
    if (purchase.endedMs !== undefined && this.#byKey.get(key) === purchase) this.#byKey.delete(key)
  }

  /** Ends what is not signed, and waits for the rest: a payment that is sent is better answered now than sent again later. */
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
