/** A transaction told in plain words, for somebody who is about to sign it. */
import * as Group from './Group.js'
import * as Bytes from './internal/Bytes.js'
import { type Asset, DescriptionBuilder } from './internal/description/DescriptionBuilder.js'
import { address, algos, base64, list, quoted, textOrBytes } from './internal/description/format.js'
import { bodies, unknownType } from './internal/description/transactionTypes.js'
import type * as Network from './Network.js'
import type { Transaction } from './Transaction.js'

export type { Asset } from './internal/description/DescriptionBuilder.js'

export type Options = {
  /** Decimals and units of assets, as far as they are known. That of USDC is known on public networks. */
  assets?: ReadonlyMap<bigint, Asset> | undefined
}

/** Every text is one line that a terminal can print: strangers' words in it are quoted and escaped. */
export type Description = {
  /** What it does first, then who, at what cost, where and when. */
  words: string[]
  /** What one should think about before signing, the gravest first. */
  warnings: string[]
  /** Those of the warnings that tell of what nobody can take back afterwards. */
  finalWarnings: string[]
}

export function describe(transaction: Transaction, options: Options = {}): Description {
  const tale = new DescriptionBuilder(transaction, options.assets ?? new Map())
  // Said first, as whoever holds the key afterwards can undo or do everything else.
  warnOfRekey(tale)
  const body = bodies.get(transaction.type)
  if (body === undefined) unknownType(tale)
  else {
    body.tell(tale)
    warnOfForeignFields(tale, body.fields)
  }
  tale.add(`The sender is ${address(transaction.snd)}.`)
  tellRekey(tale)
  tellFee(tale)
  tellNetwork(tale)
  tellValidity(tale)
  tellLease(tale)
  if (transaction.note !== undefined) tale.add(`Note: ${textOrBytes(transaction.note)}.`)
  tellGroup(tale)
  return { words: tale.lines, warnings: tale.warnings, finalWarnings: tale.finalWarnings }
}

/** What is wrong with transactions that were given together. Nothing is, if they are one whole group or just one. */
export function describeGroup(transactions: readonly Transaction[]): string[] {
  const warnings: string[] = []
  const hashes = new Set(transactions.map(({ gh }) => (gh === undefined ? '' : base64(gh))))
  if (hashes.size > 1) warnings.push('These transactions are for different networks.')
  const named = transactions.filter(isGrouped)
  if (named.length === 0) {
    if (transactions.length > 1) {
      warnings.push('These transactions are no group: each may go through without the others.')
    }
    return warnings
  }
  if (named.length < transactions.length) {
    warnings.push('Some of these transactions belong to a group, others do not.')
  } else if (!named.every(({ grp }) => Bytes.equal(grp!, named[0]!.grp!))) {
    warnings.push('These transactions belong to different groups.')
  }
  if (!Group.isComplete(transactions)) {
    warnings.push(
      'These are not all of their group, or not in its order: signing agrees to transactions that are not shown here.',
    )
  }
  return warnings
}

function isGrouped({ grp }: Transaction): boolean {
  return grp !== undefined && !Bytes.isZero(grp)
}

/** The fields that every type may have. */
const commonFields = ['type', 'snd', 'fee', 'fv', 'lv', 'note', 'gen', 'gh', 'grp', 'lx', 'rekey']

/** Nothing is told of them, so it has to be said that they are there. */
function warnOfForeignFields(tale: DescriptionBuilder, own: readonly string[]): void {
  const foreign = Object.entries(tale.transaction)
    .filter(([name, value]) => value !== undefined && !commonFields.includes(name) && !own.includes(name))
    .map(([name]) => name)
  if (foreign.length === 0) return
  tale.warn(`It has fields that do not belong to its type (${list(foreign)}): the network would refuse it.`)
}

function warnOfRekey(tale: DescriptionBuilder): void {
  const { snd, rekey } = tale.transaction
  if (rekey === undefined || Bytes.isZero(rekey)) return
  if (Bytes.equal(rekey, snd)) {
    tale.warnFinal(`It gives ${address(snd)} back to its own key: whoever signed for it since can do so no more.`)
    return
  }
  tale.warnFinal(
    `It rekeys ${address(snd)} to ${address(rekey)}: whoever holds that key then owns the account, and the key of today can do nothing.`,
  )
}

function tellRekey(tale: DescriptionBuilder): void {
  const { rekey } = tale.transaction
  if (rekey !== undefined && !Bytes.isZero(rekey)) tale.add(`From then on ${address(rekey)} signs for the sender.`)
}

const usualFeeMicroAlgos = 100_000n

function tellFee(tale: DescriptionBuilder): void {
  const { fee = 0n } = tale.transaction
  if (fee > 0n) tale.add(`The fee is ${algos(fee)}.`)
  else tale.add(`It pays no fee${isGrouped(tale.transaction) ? ': another of its group has to pay for it' : ''}.`)
  if (fee > usualFeeMicroAlgos) tale.warnFinal(`The fee of ${algos(fee)} is far above the usual 0.001 ALGO.`)
}

const networkNames: { readonly [name: string]: string } = { mainnet: 'MainNet', testnet: 'TestNet', betanet: 'BetaNet' }

function tellNetwork(tale: DescriptionBuilder): void {
  const { gh, gen } = tale.transaction
  if (gh === undefined) {
    tale.add(`The network is not named by its genesis hash${gen === undefined ? '' : `, only as ${quoted(gen)}`}.`)
    tale.warn('Without a genesis hash it may be good on more than one network.')
    return
  }
  const { network } = tale
  if (network === undefined) {
    tale.add(
      `The network is a local or private one${gen === undefined ? '' : `, ${quoted(gen)},`} with genesis hash ${base64(gh)}.`,
    )
    return
  }
  const name = nameOf(network)
  tale.add(`The network is ${name}.`)
  if (network.name === 'mainnet') tale.warn('This is MainNet: it moves real money.')
  if (gen !== undefined && gen !== network.genesisId) {
    tale.warn(
      `It calls its network ${quoted(gen)}, but by the genesis hash it is ${name}: the network would refuse it.`,
    )
  }
}

function nameOf({ name }: Network.Network): string {
  return networkNames[name] ?? name
}

/** How long public networks let a transaction live. */
const maxLifeRounds = 1000n
const millisecondsPerRound = 2_800n

function tellValidity(tale: DescriptionBuilder): void {
  const { fv = 0n, lv = 0n } = tale.transaction
  if (lv === 0n) {
    tale.add('It has no last round.')
    tale.warn('It has no last round: it is never valid.')
    return
  }
  tale.add(`It is valid from round ${fv} to round ${lv}.`)
  if (lv < fv) tale.warn('Its last round comes before its first: it is never valid.')
  else if (lv - fv > maxLifeRounds) {
    tale.warn(`It stays valid for ${lv - fv} rounds, ${duration((lv - fv) * millisecondsPerRound)}: unusually long.`)
  }
}

const hourMs = 3_600_000n
const dayMs = 24n * hourMs
const yearMs = 365n * dayMs

function duration(ms: bigint): string {
  if (ms >= yearMs) return 'more than a year'
  if (ms >= 2n * dayMs) return `about ${ms / dayMs} days`
  return `about ${ms / hourMs || 1n} hours`
}

function tellLease(tale: DescriptionBuilder): void {
  const { lx, lv = 0n } = tale.transaction
  if (lx === undefined || Bytes.isZero(lx)) return
  tale.add(`It holds lease ${base64(lx)}: no other transaction of the sender with it goes through until round ${lv}.`)
}

function tellGroup(tale: DescriptionBuilder): void {
  const { grp } = tale.transaction
  if (!isGrouped(tale.transaction)) return
  tale.add(`It is one of a group (${base64(grp!)}): signing it agrees to all of the group.`)
}
