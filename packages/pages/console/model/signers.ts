/** Who can sign a transaction, out of what a wallet holds. */
import type { Account, Described, Multisig } from '../responses.js'
import * as Address from './address.js'
import type { MultisigSoFar } from './envelope.js'

/** `leave`: as it was pasted, for others to sign, or because it is signed. */
export type Way =
  | { kind: 'leave' }
  | { kind: 'key'; address: string }
  | { kind: 'multisig'; account: string; soFar: MultisigSoFar; members: readonly Member[] }

/** A member whose key is in the wallet. */
export type Member = { address: string; hasSigned: boolean }

export type Choice = { id: string; label: string; way: Way }

export type Choices = {
  choices: readonly Choice[]
  /** Undefined where a person has to say. */
  suggested: string | undefined
  note: string
}

export type Holdings = { keys: readonly string[]; multisigs: readonly Multisig[] }

export type SignersOptions = {
  transaction: Described
  /** What was pasted brought this with it. */
  soFar: MultisigSoFar | undefined
  holdings: Holdings
  account: Account | undefined
  /** There are others with it, which others may sign. */
  isOneOfSeveral: boolean
}

const leave: Choice = { id: 'leave', label: 'Do not sign this one', way: { kind: 'leave' } }

export function choicesFor(options: SignersOptions): Choices {
  const { transaction, holdings, account } = options
  const rekeyedTo = account?.rekeyedTo ?? ''
  const authority = rekeyedTo === '' ? transaction.sender : rekeyedTo
  const keys = holdings.keys.map((address) => ({
    id: `key:${address}`,
    label: `${shorten(address)}${roleOf(address, transaction.sender, rekeyedTo)}`,
    way: { kind: 'key', address } as const,
  }))
  const multisigs = multisigChoices(options, authority)
  const choices: Choice[] = [...keys, ...multisigs, leave]
  if (transaction.isSigned && options.soFar === undefined) {
    return { choices, suggested: leave.id, note: 'This one is signed already.' }
  }
  const own = choices.find(({ id }) => id === `key:${authority}`) ?? multisigs[0]
  if (own !== undefined) return { choices, suggested: own.id, note: noteOn(own, rekeyedTo) }
  if (options.isOneOfSeveral) {
    return {
      choices,
      suggested: leave.id,
      note: "The sender's key is not in this wallet: this one is left for others.",
    }
  }
  return { choices, suggested: undefined, note: missing(authority, rekeyedTo) }
}

/** As many as are still needed. */
export function firstMembers(way: Extract<Way, { kind: 'multisig' }>): string[] {
  const missing = way.soFar.threshold - way.soFar.slots.filter(({ signature }) => signature !== undefined).length
  const open = way.members.filter(({ hasSigned }) => !hasSigned).map(({ address }) => address)
  return open.slice(0, Math.max(0, missing))
}

function noteOn(choice: Choice, rekeyedTo: string): string {
  if (choice.way.kind === 'multisig') return ''
  return rekeyedTo === '' ? '' : 'The sender was rekeyed: this key signs for it.'
}

function missing(authority: string, rekeyedTo: string): string {
  const whose =
    rekeyedTo === '' ? "The sender's key is not in this wallet." : 'The sender was rekeyed to a key not in this wallet:'
  const which = rekeyedTo === '' ? '' : ` ${shorten(authority)}.`
  return `${whose}${which} Choose the key it was rekeyed to, if you know it, or open the wallet that has it.`
}

function multisigChoices({ transaction, soFar, holdings }: SignersOptions, authority: string): Choice[] {
  const known = holdings.multisigs.find(({ address }) => address === authority)
  const multisig = soFar ?? (known === undefined ? undefined : begin(known))
  if (multisig === undefined) return []
  const account = known?.address ?? authority
  const members = multisig.slots
    .map(({ publicKey, signature }) => ({ address: Address.encode(publicKey), hasSigned: signature !== undefined }))
    .filter(({ address }) => holdings.keys.includes(address))
  const label = `Multisig ${shorten(account)}, ${multisig.threshold} of ${multisig.slots.length}`
  const way = { kind: 'multisig', account, soFar: multisig, members } as const
  return transaction.sender === '' ? [] : [{ id: 'multisig', label, way }]
}

function begin({ version, threshold, members }: Multisig): MultisigSoFar {
  const slots = members.map((member) => ({ publicKey: Address.decode(member), signature: undefined }))
  return { version, threshold, slots }
}

function roleOf(address: string, sender: string, rekeyedTo: string): string {
  if (address === rekeyedTo) return ' (signs for the sender)'
  return address === sender ? ' (the sender)' : ''
}

export function shorten(address: string): string {
  return address.length <= 16 ? address : `${address.slice(0, 8)}…${address.slice(-6)}`
}
