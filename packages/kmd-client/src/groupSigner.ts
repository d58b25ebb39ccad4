/** Signs members of a transaction group with a daemon's wallet, for the adapters of other libraries. */
import { Address, Bytes, Multisig, SignedTransaction, Transaction } from '@latchkey/algorand'
import { KmdClientError } from './KmdClientError.js'
import type { PublicKey, Wallet } from './Wallet.js'

/** Signs a transaction (msgpack) and returns the signed transaction (msgpack). */
export type SignOne = (transaction: Uint8Array) => Promise<Uint8Array>

/** Signs sequentially, so that a password prompt appears only once at a time. */
export async function signGroup(
  group: readonly Uint8Array[],
  indexesToSign: readonly number[],
  sign: SignOne,
): Promise<Uint8Array[]> {
  const signed: Uint8Array[] = []
  for (const index of indexesToSign) {
    const transaction = group[index]
    if (transaction === undefined) {
      throw new KmdClientError('invalid_argument', `the group has no transaction ${index}`, {
        operation: 'SignTransaction',
      })
    }
    signed.push(await sign(transaction))
  }
  return signed
}

/** Signs with the sender's key, or with the key of `address` for accounts rekeyed to it. */
export function singleSigner(wallet: Wallet, address: PublicKey | undefined): SignOne {
  return (transaction) => wallet.signTransaction(transaction, { publicKey: address })
}

/** Signs with as many members' keys as the multisig threshold requires. */
export function multisigSigner(wallet: Wallet, address: string): SignOne {
  return async (transaction) => {
    const members = await membersToSign(wallet, address)
    const { snd: sender } = Transaction.decode(transaction)
    const account = Address.decode(address)
    const isRekeyed = !Bytes.equal(sender, account)
    let partial = Multisig.encode(Multisig.empty(await wallet.exportMultisig(address)))
    for (const publicKey of members) {
      const signer = isRekeyed ? account : undefined
      partial = await wallet.signMultisigTransaction({ transaction, publicKey, partial, signer })
    }
    const signed = { msig: Multisig.decode(partial), txn: Transaction.decode(transaction) }
    return SignedTransaction.encode(isRekeyed ? { ...signed, sgnr: account } : signed)
  }
}

async function membersToSign(wallet: Wallet, address: string): Promise<Uint8Array[]> {
  const { threshold, publicKeys } = await wallet.exportMultisig(address)
  const keys = new Set(await wallet.keys())
  const members = publicKeys.filter((key) => keys.has(Address.encode(key)))
  if (members.length >= threshold) return members.slice(0, threshold)
  const message = `the wallet has the keys of ${members.length} members of ${address}, which needs ${threshold} signatures`
  throw new KmdClientError('multisig_incomplete', message, { operation: 'SignMultisigTransaction' })
}
