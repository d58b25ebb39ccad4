import { PartyError } from '../../errors.js'
import type { PaymentState } from '../store/Payments.js'
import type { SignedPayment } from './Buyer.js'

/**
 * A payment was sent, but the request was not served: no response arrived, or the response did not serve the request
 * although the payment is settled. Call `buyer.lookUp(transactionId)` to get the current state from the ledger. To send
 * the same payment again, repeat the request with `payingFetch`, or with `header` as its PAYMENT-SIGNATURE.
 */
export class LostResponseError extends PartyError<'response_lost'> {
  override name = 'LostResponseError'
  readonly transactionId: string
  /** The PAYMENT-SIGNATURE header that sends the payment again. */
  readonly header: string
  /** The state of the payment when the error was thrown; `open` if it is not known yet. */
  readonly state: PaymentState
  /** The status of the response that did not serve the request; undefined if none arrived. */
  readonly status: number | undefined

  constructor({ payment, repeatHeader }: SignedPayment, state: PaymentState, cause: unknown, status?: number) {
    const response = status === undefined ? 'no response arrived' : `the seller responded with status ${status}`
    super('response_lost', messages[state](payment.transactionId, response), { cause })
    this.transactionId = payment.transactionId
    this.header = repeatHeader
    this.state = state
    this.status = status
  }
}

const messages: { readonly [state in PaymentState]: (transactionId: string, response: string) => string } = {
  settled: (transactionId, response) => `${response}, but the payment ${transactionId} is settled`,
  open: (transactionId, response) => `${response}; the payment ${transactionId} was sent and may still be settled`,
  expired: (transactionId, response) => `${response}; the payment ${transactionId} was sent but has expired unsettled`,
}
