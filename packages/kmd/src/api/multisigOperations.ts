/**
 * Operations on multisig preimages, which are not secret: the keys and threshold of a multisig address. Also starts and
 * extends multisig signatures.
 */
import { Address, Bytes, Ed25519, Multisig } from '@latchkey/algorand'
import { maxMultisigMembers } from '@latchkey/kmd-api'
import { byHandle, byHandleAndAddress, newAddress } from '../audit/subjects.js'
import { type Code, KmdError } from '../errors.js'
import { retryWhileLocked } from '../wallet/Sqlite.js'
import type { UnlockedWallet } from '../wallet/UnlockedWallet.js'
import type { Implementations, InputOf } from './Implementation.js'
import { addressesOutput, decodeAddress } from './members.js'

export const multisigOperations = {
  ListMultisig: {
    reusesOutput: true,
    run: ({ handles }, input) => {
      const wallet = handles.wallet(input.wallet_handle_token)
      return retryWhileLocked(() => addressesOutput(wallet.multisigAddresses()))
    },
  },
  ImportMultisig: {
    run: ({ handles }, input) => {
      const wallet = handles.wallet(input.wallet_handle_token)
      if (input.pks.some((key) => key.length !== 32)) throw new KmdError('bad_public_key_length')
      const preimage = { version: input.multisig_version, threshold: input.threshold, publicKeys: input.pks }
      return retryWhileLocked(() => ({
        address: Address.encode(translateMultisigError(() => wallet.importMultisig(preimage))),
      }))
    },
    record: { subject: byHandle, result: newAddress },
  },
  ExportMultisig: {
    run: ({ handles }, input) => {
      const multisigAddress = decodeAddress(input.address)
      const wallet = handles.wallet(input.wallet_handle_token)
      return retryWhileLocked(() => {
        const { version, publicKeys, threshold } = translateMultisigError(() => wallet.multisig(multisigAddress))
        return { multisig_version: version, pks: publicKeys, threshold }
      })
    },
    record: { subject: byHandleAndAddress },
  },
  DeleteMultisig: {
    run: (context, input) => {
      const multisigAddress = decodeAddress(input.address)
      const wallet = context.handles.wallet(input.wallet_handle_token)
      return context.throttle.withPassword(wallet, input.wallet_password, () => {
        wallet.deleteMultisig(multisigAddress)
        return {}
      })
    },
    record: { subject: byHandleAndAddress },
  },
} satisfies Partial<Implementations>

type PartialMultisig = InputOf<'SignMultisigTransaction'>['partial_multisig']

type MultisigRequest = {
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

function startMultisig(request: MultisigRequest, given: PartialSignature): Multisig.Signature {
  const { wallet, publicKey, account, message } = request
  const preimage = wallet.multisig(account)
  const agrees = given.thr === 0 || (given.v === preimage.version && given.thr === preimage.threshold)
  if (!agrees) throw new KmdError('multisig_wrong_preimage')
  const signature = wallet.sign(publicKey, message(account))
  return Multisig.addSignature(Multisig.empty(preimage), publicKey, signature)
}

function continueMultisig(request: MultisigRequest, partial: PartialSignature): Multisig.Signature {
  const { wallet, publicKey, accepted, message } = request
  const slots = readSlots(partial)
  const address = Buffer.from(Multisig.address(Multisig.preimage(slots)))
  if (!accepted.some((candidate) => address.equals(candidate))) throw new KmdError('multisig_wrong_preimage')
  if (!slots.subsig.some((slot) => Buffer.from(slot.pk).equals(publicKey))) throw new KmdError('multisig_not_signer')
  return Multisig.addSignature(slots, publicKey, wallet.sign(publicKey, message(address)))
}

type PartialSignature = { v: number; thr: number; subsig: { pk: Buffer; s: Buffer }[]; starts: boolean }

/**
 * Accepts either spelling. With the reference's names, only a completely empty partial starts a signature. Clients that
 * use the documented names send the whole object, so there a partial without members starts one.
 */
function readPartial(sent: PartialMultisig): PartialSignature {
  const { Version, Threshold, Subsigs } = sent
  const isDocumented = Version !== 0 || Threshold !== 0 || Subsigs.length > 0
  if (isDocumented) {
    const subsig = Subsigs.map(({ Key, Sig }) => ({ pk: Key, s: Sig }))
    return { v: Version, thr: Threshold, subsig, starts: subsig.length === 0 }
  }
  const { v, thr, subsig } = sent
  return { v, thr, subsig, starts: v === 0 && thr === 0 && subsig.length === 0 }
}

function readSlots({ v, thr, subsig }: PartialSignature): Multisig.Signature {
  return {
    v,
    thr,
    subsig: subsig.map(({ pk, s }) => {
      if (pk.length !== Ed25519.publicKeyLength) throw new KmdError('bad_public_key_length')
      if (Bytes.isZero(s)) return { pk }
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

function translateMultisigError<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    const code = error instanceof Multisig.MultisigError ? multisigCodes[error.code] : undefined
    throw code === undefined ? error : new KmdError(code, { cause: error })
  }
}
