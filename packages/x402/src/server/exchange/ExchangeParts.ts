import type { GateHookCalls } from '../gate/DecidingHooks.js'
import type { GateEvents } from '../gate/GateEvents.js'
import type { ClaimStore, StoredPurchase } from '../store/Claims.js'
import type { GateResponse } from './Admission.js'
import type { Facilitators } from './Facilitators.js'
import type { PaidRequest } from './PaidRequest.js'
import type { Renewals, Unfinished } from './Renewals.js'
import type { SignedReceipts } from './SignedReceipts.js'
import type { Withdrawals } from './Withdrawals.js'

/** The parts of a gate that its exchanges share. */
export type ExchangeParts = {
  readonly facilitators: Facilitators
  readonly claims: ClaimStore
  readonly renewals: Renewals
  readonly unfinished: Unfinished
  readonly cors: boolean | readonly string[]
  /** Signs receipts, if the seller does. */
  readonly receipts: SignedReceipts | undefined
  /** Completes a response of the gate. */
  readonly respond: (request: Request, response: Response) => GateResponse
  readonly events: GateEvents
  /** Finds out on the ledger whether a payer has withdrawn an authorization. */
  readonly withdrawals: Withdrawals
  /** Called with an authorization whose handler failed, and the round in which it was claimed. */
  readonly onUnused: (paid: PaidRequest, round: bigint) => void
  /** Undefined if no hook decides. */
  readonly hooks: GateHookCalls | undefined
  /** Never throws. */
  readonly onError: (error: unknown) => void
  /** How many streams may be left unpaid within an hour until no response is sent before it is charged. */
  readonly maxUnpaidStreams: number
  /** Called when a response is charged before it is sent because there are as many. Never throws. */
  readonly onManyUnpaid: () => void
  /** Called when a facilitator reports that another gate has a payment. Never throws. */
  readonly onClaimedElsewhere: (transactionId: string) => void
}

/** The outcome of deciding on a request, for a purchase that the buyer named. */
export type ExchangeOutcome = {
  /** Another payment that is the purchase; undefined if this one is claimed for it. */
  readonly purchase: StoredPurchase | undefined
  /** Whether a facilitator has verified the payment, and with it the payer, for this request. */
  readonly isVerified: boolean
  /** Why the payment of an earlier request gets no answer. */
  readonly obstacle: 'busy' | 'expired' | 'taken' | undefined
}
