/** Decides which transactions a key signs and how, and signs them after the confirmation. */
import { Address, Bytes, Ed25519, Multisig, SignedTransaction, Transaction, TransactionFile } from '@latchkey/algorand'
import type { Wallet } from '@latchkey/kmd-client'
import { CommandError, UsageError } from '../../errors.js'
import { quoted } from '../../format.js'

export type Given = {
  readonly key?: string | undefined
  readonly multisig?: string | undefined
  readonly member?: string | undefined
}

export type Step = {
  readonly member: TransactionFile.Member
  /** Describes the step on the screen. */
  readonly text: string
  /** The account whose key or keys sign the transaction, or undefined if it is passed on unchanged. */
  readonly signer?: string | undefined
  /** Undefined for a transaction that is passed on unchanged. */
  readonly sign: (() => Promise<Signed>) | undefined
}

export type Signed = {
  readonly bytes: Uint8Array
  /** How many more members of a multisig must sign; 0 if the transaction can be sent. */
  readonly missing: number
}

export function check({ key, multisig, member }: Given): void {
  for (const [option, address] of Object.entries({ key, multisig, member })) {
    if (address !== undefined && !Address.isValid(address)) {
      throw new UsageError(`--${option} must be an address`, { code: 'invalid_value' })
    }
  }
  if ((multisig === undefined) !== (member === undefined)) {
    throw new UsageError(
      '--multisig and --member must be given together: the account, and the key in the wallet that signs for it',
    )
  }
  if (key !== undefined && multisig !== undefined) throw new UsageError('give --key or --multisig, not both')
}

export async function create(
  members: readonly TransactionFile.Member[],
  wallet: Wallet,
  given: Given,
): Promise<Step[]> {
  const keys = new Set(await wallet.keys())
  const wanted = given.key ?? given.member
  if (wanted !== undefined && !keys.has(wanted)) {
    throw new CommandError(
      'key_not_found',
      `wallet ${quoted(wallet.name)} does not have the key of ${wanted}; nothing was signed`,
    )
  }
  if (given.multisig !== undefined) return byMultisig(members, wallet, given.multisig, given.member!)
  if (given.key !== undefined) return byKey(members, wallet, given.key)
  return members.map((member) => {
    const sender = senderOf(member)
    if (member.isSigned) return signedAlready(member)
    return keys.has(sender) ? signedBy(member, wallet, sender) : foreign(member, wallet)
  })
}

/**
 * Signs the transactions of the key's own account, or all of them if there are none, for accounts rekeyed to the key.
 */
function byKey(members: readonly TransactionFile.Member[], wallet: Wallet, key: string): Step[] {
  const isOwn = chooser(members, key)
  return members.map((member) => {
    if (member.isSigned) return signedAlready(member)
    return isOwn(member) ? signedBy(member, wallet, key) : foreign(member, wallet)
  })
}

async function byMultisig(
  members: readonly TransactionFile.Member[],
  wallet: Wallet,
  account: string,
  key: string,
): Promise<Step[]> {
  const isOwn = chooser(members, account)
  const isUnfinished = ({ isSigned, signed }: TransactionFile.Member): boolean =>
    !isSigned || signed?.msig !== undefined
  const chosen = members.filter((member) => isUnfinished(member) && isOwn(member))
  const needsPreimage = chosen.some(({ signed }) => signed?.msig === undefined)
  const empty = needsPreimage ? Multisig.empty(await wallet.exportMultisig(account)) : undefined
  for (const { signed } of chosen) if (signed?.msig !== undefined) checkAccount(signed.msig, account)
  return members.map((member) => {
    if (!isUnfinished(member)) return signedAlready(member)
    if (!isOwn(member)) return foreign(member, wallet)
    const partial = member.signed?.msig ?? empty!
    return {
      member,
      text: `is signed by ${key}, for the multisig ${account}`,
      signer: account,
      sign: () => signMultisig(member, wallet, { account, key, partial }),
    }
  })
}

function chooser(
  members: readonly TransactionFile.Member[],
  account: string,
): (member: TransactionFile.Member) => boolean {
  const hasOwn = members.some((member) => senderOf(member) === account)
  return (member) => !hasOwn || senderOf(member) === account
}

function signedAlready(member: TransactionFile.Member): Step {
  return { member, text: 'is passed on unchanged: it is already signed', sign: undefined }
}

function foreign(member: TransactionFile.Member, { name }: Wallet): Step {
  return { member, text: `stays unsigned: ${quoted(name)} has no key for its sender`, sign: undefined }
}

function signedBy(member: TransactionFile.Member, wallet: Wallet, key: string): Step {
  const rekeyed = senderOf(member) === key ? '' : ', to which its sender must be rekeyed'
  const text = `is signed by ${key}${rekeyed}`
  return { member, text, signer: key, sign: () => signAlone(member, wallet, key) }
}

async function signAlone({ transaction, bytes }: TransactionFile.Member, wallet: Wallet, key: string): Promise<Signed> {
  const signed = await wallet.signTransaction(bytes, { publicKey: key })
  const publicKey = Address.decode(key)
  const [found, ...others] = readResponse(() => TransactionFile.decode(signed))
  const { sig, sgnr } = found?.signed ?? {}
  const isRight =
    others.length === 0 &&
    Bytes.equal(found!.bytes, bytes) &&
    Bytes.equal(sgnr ?? transaction.snd, publicKey) &&
    sig !== undefined &&
    Ed25519.verify(sig, Transaction.bytesToSign(bytes), publicKey)
  if (!isRight) throw invalidResponse()
  return { bytes: signed, missing: 0 }
}

type MultisigJob = { account: string; key: string; partial: Multisig.Signature }

async function signMultisig(
  { transaction, bytes }: TransactionFile.Member,
  wallet: Wallet,
  { account, key, partial }: MultisigJob,
): Promise<Signed> {
  const address = Address.decode(account)
  const isRekeyed = !Bytes.equal(transaction.snd, address)
  const response = await wallet.signMultisigTransaction({
    transaction: bytes,
    publicKey: key,
    partial: Multisig.encode(partial),
    signer: isRekeyed ? address : undefined,
  })
  const msig = readResponse(() => Multisig.decode(response))
  const message = Transaction.bytesToSign(bytes)
  checkAccount(msig, account)
  const own = msig.subsig.find(({ pk }) => Address.encode(pk) === key)
  if (own?.s === undefined || !Ed25519.verify(own.s, message, own.pk)) throw invalidResponse()
  const given = msig.subsig.filter(({ s }) => s !== undefined)
  const wrong = given.find(({ pk, s }) => !Ed25519.verify(s!, message, pk))
  if (wrong !== undefined) {
    const message = `the existing signature of ${Address.encode(wrong.pk)} is invalid; nothing was written`
    throw new CommandError('invalid_signature', message)
  }
  const sgnr = isRekeyed ? address : undefined
  const signed = SignedTransaction.encode({ msig, sgnr, txn: transaction })
  return { bytes: signed, missing: Math.max(0, msig.thr - given.length) }
}

function checkAccount(msig: Multisig.Signature, account: string): void {
  if (addressOf(msig) === account) return
  throw new CommandError(
    'invalid_signature',
    `the existing signatures belong to a different account than ${account}; nothing was signed`,
  )
}

function addressOf(msig: Multisig.Signature): string | undefined {
  try {
    return Address.encode(Multisig.address(Multisig.preimage(msig)))
  } catch (error) {
    if (error instanceof Multisig.MultisigError) return undefined
    throw error
  }
}

/** The encoding that tools exchange: a signed transaction, with or without a signature. */
export function encodeUnchanged({ signed, transaction }: TransactionFile.Member): Uint8Array {
  return SignedTransaction.encode(signed ?? { txn: transaction })
}

function senderOf({ transaction }: TransactionFile.Member): string {
  return Address.encode(transaction.snd)
}

function readResponse<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof TransactionFile.DecodeError) throw invalidResponse()
    throw error
  }
}

function invalidResponse(): CommandError {
  return new CommandError('daemon_misbehaved', 'the daemon returned no valid signature; nothing was written')
}
