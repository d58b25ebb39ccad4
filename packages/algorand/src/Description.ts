/** Transactions in plain language, for a person who is about to sign them. */
import * as Group from './Group.js'
import * as Bytes from './internal/Bytes.js'
import { type Asset, DescriptionBuilder } from './internal/description/DescriptionBuilder.js'
import { address, algos, base64, grouped, list, quoted, textOrBytes } from './internal/description/format.js'
import { describeUnknownType, typeDescribers } from './internal/description/transactionTypes.js'
import type * as Network from './Network.js'
import type { Transaction } from './Transaction.js'

export type { Asset } from './internal/description/DescriptionBuilder.js'

/** The options of {@link describe}. */
export type Options = {
  /**
   * Decimals and units of assets. USDC of the public networks is built in.
   *
   * @default none: amounts are shown in base units
   */
  assets?: ReadonlyMap<bigint, Asset> | undefined
}

/** Every text is one line that a terminal can print. Untrusted text in it is quoted and escaped. */
export type Description = {
  /** The effects of the transaction, then its sender, fee, network and validity. */
  lines: string[]
  /** The warnings to consider before signing, irreversible effects first. */
  warnings: string[]
  /** The warnings about irreversible effects. */
  finalWarnings: string[]
}

/**
 * Describes a transaction.
 *
 * @example
 * Description.describe(transaction).lines[0] // 'Pays 1.5 ALGO to 5JFGYY…'
 */
export function describe(transaction: Transaction, options: Options = {}): Description {
  const builder = new DescriptionBuilder(transaction, options.assets ?? new Map())
  // Warned of first, because the holder of the new key can do everything else afterwards.
  warnOfRekey(builder)
  const type = typeDescribers.get(transaction.type)
  if (type === undefined) describeUnknownType(builder)
  else {
    type.describe(builder)
    warnOfForeignFields(builder, type.fields)
  }
  builder.add(`The sender is ${address(transaction.snd)}.`)
  describeRekey(builder)
  describeFee(builder)
  describeNetwork(builder)
  describeValidity(builder)
  describeLease(builder)
  if (transaction.note !== undefined) builder.add(`Note: ${textOrBytes(transaction.note)}.`)
  describeMembership(builder)
  return { lines: builder.lines, warnings: builder.warnings, finalWarnings: builder.finalWarnings }
}

/** Returns warnings about transactions that are signed together: none for a complete group or a single transaction. */
export function describeGroup(transactions: readonly Transaction[]): string[] {
  const warnings: string[] = []
  const hashes = new Set(transactions.map(({ gh }) => (gh === undefined ? '' : base64(gh))))
  if (hashes.size > 1) warnings.push('These transactions are for different networks.')
  const named = transactions.filter(isGrouped)
  if (named.length === 0) {
    if (transactions.length > 1) {
      warnings.push('These transactions are not a group: each can be confirmed without the others.')
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
      'This is not the complete group, or not in its order: signing agrees to transactions that are not shown here.',
    )
  }
  return warnings
}

function isGrouped({ grp }: Transaction): boolean {
  return grp !== undefined && !Bytes.isZero(grp)
}

/** The fields that every type may have. */
const commonFields = ['type', 'snd', 'fee', 'fv', 'lv', 'note', 'gen', 'gh', 'grp', 'lx', 'rekey']

/** Foreign fields are not described, so their presence deserves a warning. */
function warnOfForeignFields(builder: DescriptionBuilder, own: readonly string[]): void {
  const foreign = Object.entries(builder.transaction)
    .filter(([name, value]) => value !== undefined && !commonFields.includes(name) && !own.includes(name))
    .map(([name]) => name)
  if (foreign.length === 0) return
  builder.warn(`It has fields that do not belong to its type (${list(foreign)}): the network would reject it.`)
}

function warnOfRekey(builder: DescriptionBuilder): void {
  const { snd, rekey } = builder.transaction
  if (rekey === undefined || Bytes.isZero(rekey)) return
  if (Bytes.equal(rekey, snd)) {
    builder.warnFinal(
      `It gives ${address(snd)} back to its own key: the key that signs for it now can no longer do so.`,
    )
    return
  }
  builder.warnFinal(
    `It rekeys ${address(snd)} to ${address(rekey)}: the holder of that key then controls the account, and the current key can no longer sign for it.`,
  )
}

function describeRekey(builder: DescriptionBuilder): void {
  const { rekey } = builder.transaction
  if (rekey !== undefined && !Bytes.isZero(rekey)) builder.add(`Afterwards ${address(rekey)} signs for the sender.`)
}

const highFeeMicroAlgos = 100_000n

function describeFee(builder: DescriptionBuilder): void {
  const { fee = 0n } = builder.transaction
  if (fee > 0n) builder.add(`The fee is ${algos(fee)}.`)
  else
    builder.add(
      `It pays no fee${isGrouped(builder.transaction) ? ': another transaction of its group has to pay it' : ''}.`,
    )
  if (fee > highFeeMicroAlgos) builder.warnFinal(`The fee of ${algos(fee)} is far above the usual 0.001 ALGO.`)
}

const networkNames: { readonly [name: string]: string } = { mainnet: 'MainNet', testnet: 'TestNet', betanet: 'BetaNet' }

function describeNetwork(builder: DescriptionBuilder): void {
  const { gh, gen } = builder.transaction
  if (gh === undefined) {
    builder.add(`The network is not named by its genesis hash${gen === undefined ? '' : `, only as ${quoted(gen)}`}.`)
    builder.warn('Without a genesis hash it may be valid on more than one network.')
    return
  }
  const { network } = builder
  if (network === undefined) {
    builder.add(
      `The network is a local or private one${gen === undefined ? '' : `, ${quoted(gen)},`} with genesis hash ${base64(gh)}.`,
    )
    return
  }
  const name = nameOf(network)
  builder.add(`The network is ${name}.`)
  if (network.name === 'mainnet') builder.warn('This is MainNet: it moves real money.')
  if (gen !== undefined && gen !== network.genesisId) {
    builder.warn(
      `It names its network ${quoted(gen)}, but its genesis hash is that of ${name}: the network would reject it.`,
    )
  }
}

function nameOf({ name }: Network.Network): string {
  return networkNames[name] ?? name
}

/** The longest validity on public networks. */
const maxValidityRounds = 1000n
const millisecondsPerRound = 2_800n

function describeValidity(builder: DescriptionBuilder): void {
  const { fv = 0n, lv = 0n } = builder.transaction
  if (lv === 0n) {
    builder.add('It has no last round.')
    builder.warn('It has no last round: it is never valid.')
    return
  }
  builder.add(`It is valid from round ${grouped(fv)} to round ${grouped(lv)}.`)
  if (lv < fv) builder.warn('Its last round comes before its first: it is never valid.')
  else if (lv - fv > maxValidityRounds) {
    builder.warn(
      `It stays valid for ${grouped(lv - fv)} rounds, ${duration((lv - fv) * millisecondsPerRound)}: unusually long.`,
    )
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

function describeLease(builder: DescriptionBuilder): void {
  const { lx, lv = 0n } = builder.transaction
  if (lx === undefined || Bytes.isZero(lx)) return
  builder.add(
    `It holds lease ${base64(lx)}: no other transaction of the sender with this lease is confirmed before round ${lv}.`,
  )
}

function describeMembership(builder: DescriptionBuilder): void {
  const { grp } = builder.transaction
  if (!isGrouped(builder.transaction)) return
  builder.add(`It is one of a group (${base64(grp!)}): signing it agrees to the whole group.`)
}
