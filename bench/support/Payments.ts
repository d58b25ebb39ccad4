/** Builds the payments to sign, by keys of one master derivation key, and checks the responses. */
import { Address, Ed25519, KeyDerivation, SignedTransaction, Transaction } from '@latchkey/algorand'

export const masterDerivationKey = new Uint8Array(32).fill(7)

/** Returns the public key of the wallet's nth key; wallets count from 1. */
const publicKey = (ordinal: number): Uint8Array => Ed25519.publicKey(KeyDerivation.seed(masterDerivationKey, ordinal))

export const address = (ordinal: number): string => Address.encode(publicKey(ordinal))

/** Returns the addresses of the first keys in the order in which daemons list them: by their bytes. */
export function listedAddresses(count: number): string[] {
  const keys = Array.from({ length: count }, (_, index) => Buffer.from(publicKey(index + 1)))
  return keys.sort(Buffer.compare).map((key) => Address.encode(key))
}

/** Returns payments of ordinary size, each by a different key, so no cache of keys or responses is measured. */
export function payments(count: number): Uint8Array[] {
  const receiver = publicKey(count + 1)
  return Array.from({ length: count }, (_, index) =>
    Transaction.encode({
      type: 'pay',
      snd: publicKey(index + 1),
      rcv: receiver,
      amt: 1_000_000n + BigInt(index),
      fee: 1_000n,
      fv: 40_000_000n,
      lv: 40_001_000n,
      gen: 'testnet-v1.0',
      gh: new Uint8Array(32).fill(9),
      note: new Uint8Array(16).fill(index),
    }),
  )
}

/** Throws unless the response is this payment, signed by its sender. */
export function checkSigned(payment: Uint8Array, response: Uint8Array): void {
  const { sig, sgnr, txn } = SignedTransaction.decode(response)
  if (sig === undefined || sgnr !== undefined) throw new Error('not signed by the sender alone')
  if (!Buffer.from(Transaction.encode(txn)).equals(payment)) throw new Error('another transaction was signed')
  if (!Ed25519.verify(sig, Transaction.bytesToSign(payment), txn.snd)) throw new Error('the signature does not verify')
}
