/** The ways to sign a transaction with the keys and multisig accounts of a wallet. */
import { Address, Multisig } from '@latchkey/algorand'
import type { Account, TransactionDescription } from '../responseTypes.js'
import { shortAddress } from './shortAddress.js'

/** `skip` leaves the transaction as entered, because others sign it or it is already signed. */
export type SigningMethod =
  | { kind: 'skip' }
  | { kind: 'key'; address: string }
  | { kind: 'multisig'; account: string; partial: Multisig.Signature; members: readonly Member[] }

export type MultisigMethod = Extract<SigningMethod, { kind: 'multisig' }>

/** A multisig member whose key is in the wallet. */
export type Member = { address: string; hasSigned: boolean }

export type SignerOption = { id: string; label: string; method: SigningMethod }

export type SignerOptions = {
  options: readonly SignerOption[]
  /** Undefined if the person has to choose. */
  suggestedId: string | undefined
  note: string
}

/** The option a person selected, and for a multisig account the members that sign. */
export type SelectedSigner = { id: string; method: SigningMethod | undefined; members: readonly string[] }

export type MultisigAccount = { address: string; version: number; threshold: number; members: readonly string[] }

/** The addresses of an unlocked wallet. */
export type WalletContents = { keys: readonly string[]; multisigs: readonly MultisigAccount[] }

export type SignerContext = {
  description: TransactionDescription
  /** The multisig signature that the transaction already carries. */
  partial: Multisig.Signature | undefined
  contents: WalletContents
  /** The sender's account on the ledger, if a node is available. */
  account: Account | undefined
  isInGroup: boolean
}

const skip: SignerOption = { id: 'skip', label: 'Do not sign this one', method: { kind: 'skip' } }

export function signerOptions(context: SignerContext): SignerOptions {
  const { description, contents, account } = context
  const rekeyedTo = account?.rekeyedTo ?? ''
  const authority = rekeyedTo === '' ? description.sender : rekeyedTo
  const keys = contents.keys.map((address) => ({
    id: `key:${address}`,
    label: `${shortAddress(address)}${roleOf(address, description.sender, rekeyedTo)}`,
    method: { kind: 'key', address } as const,
  }))
  const multisigs = multisigOptions(context, authority)
  const options: SignerOption[] = [...keys, ...multisigs, skip]
  if (description.isSigned && context.partial === undefined) {
    return { options, suggestedId: skip.id, note: 'This transaction is already signed.' }
  }
  const suggested = options.find(({ id }) => id === `key:${authority}`) ?? multisigs[0]
  if (suggested !== undefined) return { options, suggestedId: suggested.id, note: rekeyNote(suggested, rekeyedTo) }
  if (context.isInGroup) {
    const note = "The sender's key is not in this wallet. Others have to sign this transaction."
    return { options, suggestedId: skip.id, note }
  }
  return { options, suggestedId: undefined, note: missingKeyNote(authority, rekeyedTo) }
}

/** Selects an option, with as many members of a multisig account as are still needed. */
export function selectSigner({ options }: SignerOptions, id: string | undefined): SelectedSigner {
  const method = options.find((option) => option.id === id)?.method
  return { id: id ?? '', method, members: method?.kind === 'multisig' ? neededMembers(method) : [] }
}

/** Whether this selection signs anything. */
export function willSign({ method, members }: Pick<SelectedSigner, 'method' | 'members'>): boolean {
  return method?.kind === 'key' || (method?.kind === 'multisig' && members.length > 0)
}

export function signatureCount({ subsig }: Multisig.Signature): number {
  return subsig.filter(({ s }) => s !== undefined).length
}

function neededMembers({ partial, members }: MultisigMethod): string[] {
  const missing = partial.thr - signatureCount(partial)
  const unsigned = members.filter(({ hasSigned }) => !hasSigned).map(({ address }) => address)
  return unsigned.slice(0, Math.max(0, missing))
}

function rekeyNote({ method }: SignerOption, rekeyedTo: string): string {
  return method.kind === 'multisig' || rekeyedTo === '' ? '' : 'The sender was rekeyed. This key signs for it.'
}

function missingKeyNote(authority: string, rekeyedTo: string): string {
  const reason =
    rekeyedTo === ''
      ? "The sender's key is not in this wallet."
      : `The sender was rekeyed to a key that is not in this wallet: ${shortAddress(authority)}.`
  return `${reason} Choose the key that signs for the sender, or unlock the wallet that has it.`
}

function multisigOptions({ description, partial, contents }: SignerContext, authority: string): SignerOption[] {
  const known = contents.multisigs.find(({ address }) => address === authority)
  const multisig = partial ?? (known === undefined ? undefined : withoutSignatures(known))
  if (multisig === undefined || description.sender === '') return []
  const account = known?.address ?? authority
  const members = multisig.subsig
    .map(({ pk, s }) => ({ address: Address.encode(pk), hasSigned: s !== undefined }))
    .filter(({ address }) => contents.keys.includes(address))
  const label = `Multisig ${shortAddress(account)}, ${multisig.thr} of ${multisig.subsig.length}`
  return [{ id: 'multisig', label, method: { kind: 'multisig', account, partial: multisig, members } }]
}

function withoutSignatures({ version, threshold, members }: MultisigAccount): Multisig.Signature {
  return Multisig.empty({ version, threshold, publicKeys: members.map(Address.decode) })
}

function roleOf(address: string, sender: string, rekeyedTo: string): string {
  if (address === rekeyedTo) return ' (signs for the sender)'
  return address === sender ? ' (sender)' : ''
}
