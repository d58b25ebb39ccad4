/**
 * Gives authorizations back whose handler failed. A facilitator counts the maximum against the balance of the payer until
 * the authorization ends; a charge of 0 ends that. The same payment may be sent again before.
 */

import { type ClaimParts, ExchangeClaim } from './ExchangeClaim.js'
import type { ExchangeParts } from './ExchangeParts.js'
import type { PaidRequest } from './PaidRequest.js'

/** As long as buyers sign authorizations for, beyond the longest work: the handler does not run after that. */
const graceMs = 60_000
/** The payments of requests that fail faster than this are given back when they expire. */
const maxWaiting = 1_000

export type UnusedOptions = ClaimParts & Pick<ExchangeParts, 'facilitators'>

export class UnusedAuthorizations {
  readonly #options: UnusedOptions
  readonly #graceMs: number
  readonly #waiting = new Set<ReturnType<typeof setTimeout>>()

  constructor(options: UnusedOptions, waitMs = graceMs) {
    this.#options = options
    this.#graceMs = waitMs
  }

  /** Call it when the handler has failed, and its claim was deleted. */
  add(paid: PaidRequest, round: bigint): void {
    if (this.#waiting.size >= maxWaiting) return
    const timer = setTimeout(() => {
      this.#waiting.delete(timer)
      void this.#giveBack(paid, round).catch(this.#options.onError)
    }, this.#graceMs)
    timer.unref?.()
    this.#waiting.add(timer)
  }

  stop(): void {
    for (const timer of this.#waiting) clearTimeout(timer)
    this.#waiting.clear()
  }

  /**
   * The payment is claimed first, so that no gate lets a handler run for it. The claim stays: the buyer may have had the
   * payment verified before, and the facilitator may settle 0 later than it responds.
   */
  async #giveBack(paid: PaidRequest, round: bigint): Promise<void> {
    const { claims, facilitators } = this.#options
    if (claims.id !== paid.claimsId) return
    // No sale is recorded: the failure was.
    const claim = await ExchangeClaim.take(this.#options, paid, { state: 'settled', round, isKnown: false })
    if (!(claim instanceof ExchangeClaim)) return
    const { payload, requirement, claimant, request } = paid
    try {
      const nothing = { ...requirement, amount: '0' }
      // The payment was sent again meanwhile.
      if (claim.isNew) await facilitators.settle(payload, nothing, { claimant, requestId: request.id })
    } finally {
      await claim.end(claim.isNew ? 'served' : 'open')
    }
  }
}
