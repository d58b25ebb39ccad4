/** Finds payments in a buyer's log that may still be settled. */
import { Bytes, SignedTransaction, Transaction, UptoProgram } from '@latchkey/algorand'
import type { Payment, PaymentLog, PaymentPayload } from '@latchkey/x402/client'
import { McpError } from '../errors.js'

/** Returns the payments for a URL that may still be settled, oldest first. */
export function openPayments(payments: Pick<PaymentLog, 'all'>, url: string): Payment[] {
  return payments.all().filter((payment) => payment.url === url && payment.state === 'open')
}

/**
 * Checks a payment that was just signed, before it is sent. Returns an error if another process with the same log
 * recorded a payment for the call first. Each process records its payment and then checks, so the second always finds
 * the first. A payment that is not sent can never be settled.
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
  const message = `the payment ${transactionId} for the same call may still be settled until round ${lastValid}`
  return new McpError('tool_payment_open', message)
}

/** Returns the id of a payment that this process signed: of its transaction, or of its authorization. */
function transactionIdOf({ payload }: PaymentPayload): string {
  const { program } = payload as { program?: string }
  if (program !== undefined) return UptoProgram.idOf(UptoProgram.parse(Bytes.fromBase64(program)!)!.lease)
  const { paymentGroup, paymentIndex } = payload as { paymentGroup: string[]; paymentIndex: number }
  return Transaction.id(SignedTransaction.decode(Bytes.fromBase64(paymentGroup[paymentIndex]!)!).txn)
}
