/** The receipts that sellers have signed, from a log of payments, each checked again. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Network, SignedReceipt } from '@latchkey/algorand'
import type { Payment } from '@latchkey/x402/client'
import { FilePayments } from '@latchkey/x402/file'
import { CommandError } from '../../errors.js'
import { quoted } from '../../format.js'

export const logOption = {
  log: {
    type: 'string',
    placeholder: 'FILE',
    completes: 'file',
    description: 'log of payments (~/.latchkey/payments.jsonl)',
  },
} as const

/** A receipt, and whether it is valid. */
export type CheckedReceipt = {
  readonly jws: string
  readonly verified: SignedReceipt.Verified | undefined
  /** Why the receipt is not valid; undefined if it is. */
  readonly problem: string | undefined
  /** The payment that the receipt is for, if it comes from a log. */
  readonly payment: Payment | undefined
}

/** @throws CommandError if the log does not exist */
export function paymentsIn(log: string | undefined): Payment[] {
  const path = log ?? join(homedir(), '.latchkey', 'payments.jsonl')
  if (!existsSync(path)) {
    throw new CommandError('file_unreadable', `${quoted(path)} does not exist`, {
      hint: 'give the log of payments with --log',
    })
  }
  return new FilePayments(path).all()
}

export function receiptsIn(payments: readonly Payment[]): CheckedReceipt[] {
  return payments.flatMap((payment) =>
    payment.signedReceipt === undefined ? [] : [checkReceipt(payment.signedReceipt, payment)],
  )
}

/** Verifies the signature, and compares the receipt with the payment it is for. */
export function checkReceipt(jws: string, payment?: Payment | undefined): CheckedReceipt {
  try {
    const verified = SignedReceipt.verify(jws)
    const problem = payment === undefined ? undefined : mismatch(verified.receipt, payment)
    return { jws, verified, problem, payment }
  } catch (error) {
    if (!(error instanceof SignedReceipt.ReceiptError)) throw error
    return { jws, verified: undefined, problem: error.message, payment }
  }
}

function mismatch(receipt: SignedReceipt.Receipt, { transactionId, network, url, claimedResource }: Payment) {
  if (receipt.transaction !== undefined && receipt.transaction !== transactionId) return 'it is for another transaction'
  if (!Network.matches(receipt.network, network)) return 'it is for another network'
  if (receipt.resourceUrl !== url && receipt.resourceUrl !== claimedResource) return 'it is for another resource'
  return undefined
}

/** The signer of a receipt: the key that was paid, or another one. */
export function signerText({ verified, payment }: CheckedReceipt): string {
  if (verified === undefined) return ''
  if (payment === undefined) return verified.signer
  return verified.signer === payment.payTo ? 'the account that was paid' : `another key, ${verified.signer}`
}

/** A receipt in the form of `--json`. */
export function receiptJson(checked: CheckedReceipt): object {
  const { jws, verified, problem, payment } = checked
  return {
    isValid: problem === undefined,
    problem: problem ?? null,
    transactionId: verified?.receipt.transaction ?? payment?.transactionId ?? null,
    receipt: verified?.receipt ?? null,
    signer: verified?.signer ?? null,
    did: verified?.did ?? null,
    isSignedByPayTo: payment === undefined || verified === undefined ? null : verified.signer === payment.payTo,
    jws,
  }
}
