import { X402Error } from '../errors.js'
import type { SignedPayment } from './Buyer.js'
import type { PaymentState } from './Payments.js'

/**
 * A payment was sent, and the request was not served: no response arrived, or one that does not serve it although the
 * payment is settled. `buyer.lookUp(transactionId)` asks the ledger for its state since; the same request with `header`
 * as its PAYMENT-SIGNATURE sends the same payment again, and so does the same request by `payingFetch`.
 */
export class LostResponseError extends X402Error<'response_lost'> {
  override name = 'LostResponseError'
  readonly transactionId: string
  /** The value of the header PAYMENT-SIGNATURE that sends the payment again. */
  readonly header: string
  /** The state of the payment when the error was thrown: `open` where it is not known yet. */
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
  settled: (transactionId, response) => `the payment ${transactionId} is settled, and ${response}`,
  open: (transactionId, response) =>
    `the payment ${transactionId} was sent, and ${response}; whether it is settled is not known yet`,
  expired: (transactionId, response) =>
    `the payment ${transactionId} was sent, and ${response}; it is not settled and can no longer be`,
}
