/** Signs a list of transactions, one after the other, each with the method chosen for it. */
import { Address, Multisig, SignedTransaction as Signed, Transaction } from '@latchkey/algorand'
import { signOperations } from '@latchkey/kmd-api/operations'
import type { Daemon } from './daemon.js'
import { ConsoleError } from './errors.js'
import * as SignedTransaction from './model/signedTransaction.js'
import type { SigningMethod } from './model/signerOptions.js'
import type { TransactionDescription } from './responseTypes.js'

/** A transaction to review: the bytes as entered, and the daemon's description of them. */
export type ReviewedTransaction = { description: TransactionDescription; original: Uint8Array }

export type SigningTask = ReviewedTransaction & {
  method: SigningMethod
  /** The members of a multisig account that sign. */
  members: readonly string[]
}

export type SignOptions = { daemon: Daemon; handle: string; password: string; tasks: readonly SigningTask[] }

/** Returns each transaction, signed or not, in the encoding that nodes accept. */
export async function signAll({ tasks, ...options }: SignOptions): Promise<Uint8Array[]> {
  const signed: Uint8Array[] = []
  for (const task of tasks) {
    const one = await signOne({ ...options, task })
    // Ensures that the transaction that was shown is the one that is sent.
    if (Transaction.id(Signed.decode(one).txn) !== task.description.transactionId) {
      throw new ConsoleError('wrong_signature')
    }
    signed.push(one)
  }
  return signed
}

type SignOneOptions = Omit<SignOptions, 'tasks'> & { task: SigningTask }

async function signOne({ daemon, handle, password, task }: SignOneOptions): Promise<Uint8Array> {
  const { description, original, method, members } = task
  const { transaction, sender, isSigned } = description
  const unchanged = (): Uint8Array => (isSigned ? original : SignedTransaction.unsigned(transaction))
  if (method.kind === 'skip') return unchanged()
  const request = { wallet_handle_token: handle, wallet_password: password, transaction }
  if (method.kind === 'key') {
    const key = { public_key: Address.decode(method.address) }
    return (await daemon.call(signOperations.SignTransaction, { ...request, ...key })).signedTransaction
  }
  const { account } = method
  let multisig: Multisig.Signature | undefined
  for (const member of members) {
    const response = await daemon.call(signOperations.SignMultisigTransaction, {
      ...request,
      public_key: Address.decode(member),
      signer: Address.decode(account),
      partial_multisig: multisig ?? method.partial,
    })
    multisig = Multisig.decode(response.multisig)
  }
  return multisig === undefined
    ? unchanged()
    : SignedTransaction.withMultisig({ transaction, sender, multisig, account })
}
