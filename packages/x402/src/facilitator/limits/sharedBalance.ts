/** Checks whether a balance covers a payment in addition to those that all replicas hold before it. */
import type { Settlement } from '../store/Settlements.js'
import type { HeldAhead } from '../store/SharedHolds.js'
import type { VerifiedPayment } from '../verify/verifyPayment.js'
import type { Costs, PayerAccount } from './PayerAccount.js'

/** The holds ahead of a payment, or its settlement if it already has one. */
export type ShareResult = SharedHeld | { readonly known: Settlement }

export type SharedHeld = {
  readonly ahead: HeldAhead
  /** Whether any replica held the payment before. */
  readonly wasHeld: boolean
  readonly known?: undefined
}

/** A payment in the store, for all replicas. */
export type SharedPayment = {
  /**
   * Holds the payment, or extends its hold.
   *
   * @throws PaymentError if the payment exceeds a limit, or belongs to another claimant
   */
  readonly hold: () => Promise<ShareResult>
  readonly release: () => Promise<void>
}

type SharedCheck = {
  readonly payment: VerifiedPayment
  readonly account: PayerAccount
  readonly costs: Costs
  /** When the simulation started. */
  readonly startedMs: number
  readonly nowMs: () => number
}

/** How often the store is queried again. Settlements end with blocks, at replicas that do not notify this one. */
const againMs = 250

/**
 * Waits for settlements that may not be in the balance yet. Returns the final result, or undefined if the balance does
 * not cover the payment in addition to the holds ahead of it.
 */
export async function checkSharedBalance(
  check: SharedCheck,
  { shared, first, deadlineMs }: { shared: SharedPayment; first: SharedHeld; deadlineMs: number },
): Promise<ShareResult | undefined> {
  const { account, nowMs } = check
  for (let result: ShareResult = first; ; result = await shared.hold()) {
    if (result.known !== undefined) return result
    const { settledAgoMs } = result.ahead
    // Reported by the store, because another replica may have settled the payment.
    if (settledAgoMs !== undefined) account.settledMs = Math.max(account.settledMs, nowMs() - settledAgoMs)
    const { isCovered, isHopeless } = await compare(check, result.ahead)
    if (isCovered) return result
    const leftMs = deadlineMs - nowMs()
    if (isHopeless || leftMs <= 0) return undefined
    await account.change(Math.min(againMs, leftMs))
  }
}

async function compare({ payment, account, costs, startedMs }: SharedCheck, ahead: HeldAhead) {
  // A payment settled since the simulation started is missing in its result.
  const isOutdated = account.settledMs >= startedMs
  let [isCovered, isHopeless] = [true, false]
  for (const [assetId, cost] of costs) {
    const found = ahead.costs.find(({ asset }) => asset === assetId.toString())
    const { held, settling } = found ?? { held: 0n, settling: 0n }
    // The simulation has already compared the cost with a balance that no other payment touches.
    if (held + settling === 0n && !isOutdated) continue
    const balance = await account.balance(payment.chain, assetId)
    isHopeless ||= held + cost > balance
    isCovered &&= held + settling + cost <= balance
  }
  return { isCovered, isHopeless }
}
