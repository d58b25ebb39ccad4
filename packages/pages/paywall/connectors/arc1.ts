/**
 * Transactions in the form that wallets expect (ARC-1): base64, with an empty list of signers on those of other
 * signers.
 */
import { Bytes } from '@latchkey/algorand'
import type { TransactionGroup } from './Connector.js'

export type WalletTransaction = { txn: string; signers?: string[] }

export function walletTransactions({ transactions, index }: TransactionGroup): WalletTransaction[] {
  return transactions.map((bytes, at) => ({ txn: Bytes.toBase64(bytes), ...(at === index ? {} : { signers: [] }) }))
}

/** Decodes a wallet's signed transactions, which are base64 or bytes, and null for those that it did not sign. */
export function signedBytes(signed: readonly unknown[]): (Uint8Array | null)[] {
  return signed.map((one) => {
    if (one instanceof Uint8Array) return one
    return typeof one === 'string' ? (Bytes.fromBase64(one) ?? null) : null
  })
}
