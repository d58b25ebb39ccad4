/** Builds and decomposes signed transactions around the bytes that the daemon signed. */
import {
  Address,
  Bytes,
  Group,
  Msgpack,
  type Multisig,
  Network,
  SignedTransaction,
  Transaction,
} from '@latchkey/algorand'

/** Splits concatenated transactions. Returns the input as one part if it cannot be split. */
export function split(bytes: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = []
  const reader = new Msgpack.Reader(bytes)
  try {
    while (reader.remaining > 0 && parts.length <= Group.maxSize) {
      const start = reader.position
      reader.skip()
      parts.push(bytes.subarray(start, reader.position))
    }
    return parts
  } catch {
    return [bytes]
  }
}

/** The multisig signature of a signed transaction, if it has one. */
export function multisigOf(transaction: Uint8Array): Multisig.Signature | undefined {
  try {
    return SignedTransaction.decode(transaction).msig
  } catch {
    return undefined
  }
}

export type WithMultisigOptions = {
  transaction: Uint8Array
  sender: string
  multisig: Multisig.Signature
  account: string
}

/** The transaction with a multisig signature. `sgnr` names the account if the sender was rekeyed to it. */
export function withMultisig({ transaction, sender, multisig, account }: WithMultisigOptions): Uint8Array {
  const txn = Transaction.decode(transaction)
  const signer = account === sender ? {} : { sgnr: Address.decode(account) }
  return SignedTransaction.encode({ txn, msig: multisig, ...signer })
}

/** The transaction without a signature in the encoding of a signed one, as group files carry it for other signers. */
export function unsigned(transaction: Uint8Array): Uint8Array {
  return SignedTransaction.encode({ txn: Transaction.decode(transaction) })
}

/** Whether the bytes of the transaction say that it is for MainNet. A transaction without a genesis hash may be. */
export function isMainnet(transaction: Uint8Array): boolean {
  const { gh } = Transaction.decode(transaction)
  return gh === undefined || Bytes.toBase64(gh) === Network.mainnet.genesisHash
}

/** Whether every transaction has all the signatures that a node requires. */
export function isComplete(signed: readonly Uint8Array[]): boolean {
  return signed.every((one) => {
    const { sig, msig, lsig } = SignedTransaction.decode(one)
    if (msig === undefined) return sig !== undefined || lsig !== undefined
    return msig.subsig.filter(({ s }) => s !== undefined).length >= msig.thr
  })
}
