/** A payment log that refuses a payment for a URL while another one for it may still be settled. */
import type { Payment, PaymentLog } from '@latchkey/x402/client'
import { openPayments } from '../client/openPayments.js'
import { McpError } from '../errors.js'

/**
 * Wraps a log. The check is part of `add`, which is atomic across all processes that use the log, and runs before
 * anything is signed.
 */
export function oneOpenPayment(log: PaymentLog): PaymentLog {
  return {
    add: (payment) =>
      log.exclusive(() => {
        const [open] = openPayments(log, payment.url)
        if (open !== undefined) throw new OpenPaymentError(open)
        log.add(payment)
      }),
    update: (transactionId, state) => log.update(transactionId, state),
    get: (transactionId) => log.get(transactionId),
    all: () => log.all(),
    spent: () => log.spent(),
    exclusive: (work) => log.exclusive(work),
    keep: (transactionId, header) => log.keep(transactionId, header),
    resume: (requestId, networks) => log.resume(requestId, networks),
    finish: (transactionId, outcome) => log.finish(transactionId, outcome),
  }
}

/** Another payment for the same URL may still be settled. Nothing was signed. */
export class OpenPaymentError extends McpError {
  override name = 'OpenPaymentError'
  readonly payment: Payment

  constructor(payment: Payment) {
    const { transactionId, lastValid } = payment
    const message = `the payment ${transactionId} for the same URL may still be settled until round ${lastValid}`
    super('tool_payment_open', message)
    this.payment = payment
  }
}
