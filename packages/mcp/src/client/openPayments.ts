/** Other payments for the same call that may still be settled, by the log of a buyer. */
import { Bytes, SignedTransaction, Transaction } from '@latchkey/algorand'
import type { Payment, PaymentLog, PaymentPayload } from '@latchkey/x402/client'
import { McpError } from '../errors.js'

/** Those that were recorded for a call, the oldest first. */
export function openPayments(payments: PaymentLog, callUrl: string): Payment[] {
  return payments.all().filter(({ url, state }) => url === callUrl && state === 'open')
}

/**
 * Why a payment that was just signed is not sent: another process with the same log has recorded one before. Each of two records
 * its payment and then looks, so that the second finds the first. What is not sent can never be settled.
 */
export function yieldToEarlier(payments: PaymentLog, callUrl: string, paid: PaymentPayload): McpError | undefined {
  const own = transactionIdOf(paid)
  return payments.exclusive(() => {
    const [first] = openPayments(payments, callUrl)
    if (first === undefined || first.transactionId === own) return undefined
    payments.update(own, 'expired')
    return openError(first)
  })
}

export function openError({ transactionId, lastValid }: Payment): McpError {
  const message = `the payment ${transactionId} for the same call may still be settled, up to round ${lastValid}`
  return new McpError('tool_payment_open', message)
}

/** Of a payment that this process has signed. */
function transactionIdOf({ payload }: PaymentPayload): string {
  const { paymentGroup, paymentIndex } = payload as { paymentGroup: string[]; paymentIndex: number }
  return Transaction.id(SignedTransaction.decode(Bytes.fromBase64(paymentGroup[paymentIndex]!)!).txn)
}
