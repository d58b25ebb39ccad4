/** Helpers of the signing operations: reading transactions, and starting or extending a multisig signature. */
import { Ed25519, Msgpack, Multisig, Transaction } from '@latchkey/algorand'
import { maxMultisigMembers } from '@latchkey/kmd-api'
import { type Code, KmdError } from '../errors.js'
import { attemptWhileLocked } from '../wallet/Sqlite.js'
import type { UnlockedWallet } from '../wallet/UnlockedWallet.js'
import type { WalletContext } from './Context.js'
import type { InputOf } from './Implementation.js'

export type PartialMultisig = InputOf<'SignMultisigTransaction'>['partial_multisig']

/** Whether a key or signature is absent: no bytes, or zeros. */
export function isZero(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte !== 0) return false
  return true
}

/** The canonical encoding is signed, regardless of the encoding that was sent. */
export function canonicalize(transaction: Uint8Array): Transaction.Canonical {
  try {
    return Transaction.canonicalize(transaction)
  } catch (error) {
    if (error instanceof Msgpack.DecodeError) throw new KmdError('bad_transaction', { cause: error })
    throw error
  }
}

export type MultisigRequest = {
  wallet: UnlockedWallet
  /** The key to sign with. */
  publicKey: Uint8Array
  partial: PartialMultisig
  /** The account whose stored preimage starts a signature. */
  account: Uint8Array
  /** The addresses that a given preimage may hash to. */
  accepted: readonly Uint8Array[]
  /** The bytes to sign, given the multisig address. */
  message: (multisigAddress: Uint8Array) => Uint8Array
}

/** Starts or continues a signature. Like in the reference, each has its own order of checks. */
export function signMultisig(request: MultisigRequest): Uint8Array {
  return translateMultisigError(() => {
    const partial = readPartial(request.partial)
    const signature = partial.starts ? startMultisig(request, partial) : continueMultisig(request, partial)
    // No node would accept it.
    if (signature.subsig.length > maxMultisigMembers) throw new KmdError('multisig_too_large')
    return Multisig.encode(signature)
  })
}

function startMultisig(request: MultisigRequest, given: Partial): Multisig.Signature {
  const { wallet, publicKey, account, message } = request
  const preimage = wallet.multisig(account)
  const agrees = given.thr === 0 || (given.v === preimage.version && given.thr === preimage.threshold)
  if (!agrees) throw new KmdError('multisig_wrong_preimage')
  const signature = wallet.sign(publicKey, message(account))
  return Multisig.addSignature(Multisig.empty(preimage), publicKey, signature)
}

function continueMultisig(request: MultisigRequest, partial: Partial): Multisig.Signature {
  const { wallet, publicKey, accepted, message } = request
  const slots = readSlots(partial)
  const address = Buffer.from(Multisig.address(Multisig.preimage(slots)))
  if (!accepted.some((candidate) => address.equals(candidate))) throw new KmdError('multisig_wrong_preimage')
  if (!slots.subsig.some((slot) => Buffer.from(slot.pk).equals(publicKey))) throw new KmdError('multisig_not_signer')
  return Multisig.addSignature(slots, publicKey, wallet.sign(publicKey, message(address)))
}

type Partial = { v: number; thr: number; subsig: { pk: Buffer; s: Buffer }[]; starts: boolean }

/**
 * Accepts either spelling. With the reference's names, only a completely empty partial starts a signature. Clients that
 * use the documented names send the whole object, so there a partial without members starts one.
 */
function readPartial(sent: PartialMultisig): Partial {
  const { Version, Threshold, Subsigs } = sent
  const isDocumented = Version !== 0 || Threshold !== 0 || Subsigs.length > 0
  if (isDocumented) {
    const subsig = Subsigs.map(({ Key, Sig }) => ({ pk: Key, s: Sig }))
    return { v: Version, thr: Threshold, subsig, starts: subsig.length === 0 }
  }
  const { v, thr, subsig } = sent
  return { v, thr, subsig, starts: v === 0 && thr === 0 && subsig.length === 0 }
}

function readSlots({ v, thr, subsig }: Partial): Multisig.Signature {
  return {
    v,
    thr,
    subsig: subsig.map(({ pk, s }) => {
      if (pk.length !== Ed25519.publicKeyLength) throw new KmdError('bad_public_key_length')
      if (isZero(s)) return { pk }
      if (s.length !== Ed25519.signatureLength) throw new KmdError('bad_signature_length')
      return { pk, s }
    }),
  }
}

const multisigCodes: { [code: string]: Code } = {
  multisig_unknown_version: 'multisig_version',
  multisig_invalid_threshold: 'multisig_threshold',
  multisig_key_missing: 'multisig_not_member',
  multisig_duplicate: 'multisig_duplicate',
}

export function translateMultisigError<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    const code = error instanceof Multisig.MultisigError ? multisigCodes[error.code] : undefined
    throw code === undefined ? error : new KmdError(code, { cause: error })
  }
}

/**
 * Runs `work` on the wallet's file if the password is correct. After wrong passwords on the same handle, the check is
 * delayed. Repeated blank passwords are only one guess, so they are neither counted nor delayed, as at unlocking.
 *
 * Returns synchronous results without a promise.
 *
 * @throws {@link KmdError} `wrong_password` or `too_many_wrong_passwords`.
 */
export function withPassword<T>(
  { throttle }: Pick<WalletContext, 'throttle'>,
  wallet: UnlockedWallet,
  password: Uint8Array,
  work: () => T,
): T | Promise<T> {
  const check = (): void => {
    if (!wallet.isPassword(password)) throw new KmdError('wrong_password')
  }
  const run = (): T | Promise<T> =>
    attemptWhileLocked(() => {
      wallet.requireSamePassword()
      return work()
    })
  const checked = password.length === 0 ? check() : throttle.attemptOnHandle(wallet, check)
  return checked instanceof Promise ? checked.then(run) : run()
}
