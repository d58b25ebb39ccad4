/** Transactions as wallets take them (ARC-1): in base64, with an empty list of signers on those that are not theirs. */
import { Bytes } from '@latchkey/algorand'
import type { TransactionGroup } from './Connector.js'

export type WalletTransaction = { txn: string; signers?: string[] }

export function walletTransactions({ transactions, index }: TransactionGroup): WalletTransaction[] {
  return transactions.map((bytes, at) => ({ txn: Bytes.toBase64(bytes), ...(at === index ? {} : { signers: [] }) }))
}

/** Signed transactions of a wallet: in base64 or as bytes, and null for those that it did not sign. */
export function signedBytes(signed: readonly unknown[]): (Uint8Array | null)[] {
  return signed.map((one) => {
    if (one instanceof Uint8Array) return one
    return typeof one === 'string' ? (Bytes.fromBase64(one) ?? null) : null
  })
}
