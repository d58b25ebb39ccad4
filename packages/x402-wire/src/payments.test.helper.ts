/** Handmade payments for tests, which can be wrong in any way. */
import { Address, Ed25519, Group, Multisig, Submission, Transaction } from '@latchkey/algorand'
import type { PaymentPayload, PaymentRequirements } from './parsePayment.js'

export const usdc = 10458941n
export const network = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'
export const genesisHash = new Uint8Array(Buffer.from('SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=', 'base64'))

export type Key = { address: string; publicKey: Uint8Array; secretKey: Uint8Array; seed: Uint8Array }

export function keyOf(number: number): Key {
  const seed = new Uint8Array(32).fill(number)
  const { publicKey, secretKey } = Ed25519.keyPairFromSeed(seed)
  return { address: Address.encode(publicKey), publicKey, secretKey, seed }
}

export const buyer = keyOf(1)
export const seller = keyOf(2)
export const sponsor = keyOf(3)
export const stranger = keyOf(4)

export function requirementsFor(change: Partial<PaymentRequirements> = {}): PaymentRequirements {
  const extra = { feePayer: sponsor.address }
  const plain = { scheme: 'exact', network, amount: '1000', asset: `${usdc}`, payTo: seller.address }
  return { ...plain, maxTimeoutSeconds: 60, extra, ...change } as PaymentRequirements
}

let count = 0

export function transfer(change: Partial<Transaction.Transaction> = {}): Transaction.Transaction {
  const note = new Uint8Array(Buffer.from(`payment ${++count}`))
  const plain = { type: 'axfer', snd: buyer.publicKey, arcv: seller.publicKey, aamt: 1000n, xaid: usdc }
  return { ...plain, fv: 100n, lv: 200n, gh: genesisHash, note, ...change } as Transaction.Transaction
}

export function feePayment(change: Partial<Transaction.Transaction> = {}): Transaction.Transaction {
  const plain = { type: 'pay', snd: sponsor.publicKey, rcv: sponsor.publicKey, fee: 2000n }
  return { ...plain, fv: 100n, lv: 200n, gh: genesisHash, ...change } as Transaction.Transaction
}

export function sign(txn: Transaction.Transaction, key: Key = buyer): Uint8Array {
  return Submission.encode({ txn, sig: signature(txn, key), ...signerOf(txn, key) })
}

export function signature(txn: Transaction.Transaction, { secretKey }: Key): Uint8Array {
  return Ed25519.sign(Transaction.bytesToSign(Submission.transactionBytes(txn)), secretKey)
}

function signerOf({ snd }: Transaction.Transaction, { publicKey }: Key) {
  return Buffer.from(snd).equals(Buffer.from(publicKey)) ? {} : { sgnr: publicKey }
}

export function signMultisig(txn: Transaction.Transaction, keys: readonly Key[], signers: readonly Key[]): Uint8Array {
  let msig = Multisig.empty(multisigOf(keys))
  for (const key of signers) msig = Multisig.addSignature(msig, key.publicKey, signature(txn, key))
  return Submission.encode({ txn, msig })
}

export function multisigOf(keys: readonly Key[]): Multisig.Multisig {
  return { version: 1, threshold: 2, publicKeys: keys.map(({ publicKey }) => publicKey) }
}

export type Made = { payload: PaymentPayload; requirements: PaymentRequirements; id: string }

/** The usual payment: our fee transaction first, then the buyer's transfer. */
export function sponsored(
  change: Partial<Transaction.Transaction> = {},
  feeChange: Partial<Transaction.Transaction> = {},
): Made {
  const [fee, payment] = Group.assign([feePayment(feeChange), transfer(change)]) as [Tx, Tx]
  return make([Submission.transactionBytes(fee), sign(payment)], 1, payment)
}

/** A payment whose buyer pays its own fee. */
export function alone(change: Partial<Transaction.Transaction> = {}): Made {
  const payment = transfer({ fee: 1000n, ...change })
  return make([sign(payment)], 0, payment)
}

export type Tx = Transaction.Transaction

export function make(members: readonly (Uint8Array | string)[], paymentIndex: number, payment: Tx): Made {
  const texts = members.map((one) => (typeof one === 'string' ? one : Buffer.from(one).toString('base64')))
  const requirements = requirementsFor()
  const id = Transaction.id(Submission.transactionBytes(payment))
  return { payload: wrap({ paymentGroup: texts, paymentIndex }, requirements), requirements, id }
}

export function wrap(payload: unknown, requirements: PaymentRequirements = requirementsFor()): PaymentPayload {
  return { x402Version: 2, accepted: requirements, payload } as PaymentPayload
}

/** Re-encodes a map with its names in another order, as some encoders write it. */
export function reordered(canonical: Uint8Array): Uint8Array {
  const txnKey = Buffer.from([0xa3, 0x74, 0x78, 0x6e])
  const at = Buffer.from(canonical).indexOf(txnKey)
  if (canonical[0] !== 0x82 || at < 0) throw new RangeError('only for a transaction with one signature')
  return Buffer.concat([canonical.subarray(0, 1), canonical.subarray(at), canonical.subarray(1, at)])
}
