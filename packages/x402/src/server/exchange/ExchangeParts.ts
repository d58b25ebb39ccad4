import type { GateEvents } from '../gate/GateEvents.js'
import type { ClaimStore } from '../store/Claims.js'
import type { GateResponse } from './Admission.js'
import type { Facilitators } from './Facilitators.js'
import type { Renewals, Unfinished } from './Renewals.js'
import type { SignedReceipts } from './SignedReceipts.js'
import type { UnpaidPayers } from './UnpaidPayers.js'

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
  /** Never throws. */
  readonly onError: (error: unknown) => void
  /** Called when a facilitator reports that another gate has a payment. Never throws. */
  readonly onClaimedElsewhere: (transactionId: string) => void
  /** Payers whose work was done and whose charge then could not be settled. */
  readonly unpaid: UnpaidPayers
}
