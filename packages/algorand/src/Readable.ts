/**
 * Money, networks, times and payments as people read them. The command line, the console and the MCP server use this
 * module, so that one payment has one wording.
 */
import { encodeBase64 } from '#platform'
import * as Address from './Address.js'
import * as Amount from './Amount.js'
import * as Description from './Description.js'
import * as Bytes from './internal/Bytes.js'
import { unitText } from './internal/description/DescriptionBuilder.js'
import * as Network from './Network.js'
import type { Transaction } from './Transaction.js'
import * as VisibleText from './VisibleText.js'

const dollarDecimals = 6
const maxNameCharacters = 60
const maxUrlCharacters = 200
const shortAddressCharacters = 8

/**
 * Formats a whole number or a decimal with thousands separators.
 *
 * @example
 * Readable.number(1234567n) // '1,234,567'
 * Readable.number('1234.56') // '1,234.56'
 */
export function number(value: bigint | number | string): string {
  return Amount.group(String(value))
}

/**
 * Formats millionths of a dollar with no decimals or at least two.
 *
 * @example
 * Readable.dollars(10_000n) // '$0.01'
 * Readable.dollars(1_234_500_000n) // '$1,234.50'
 */
export function dollars(microDollars: bigint): string {
  return Amount.formatDollars(microDollars)
}

/** The assets that are known by more than their id. */
export type AssetOptions = {
  /**
   * The dollar assets of a local network, with six decimals. USDC of the public networks is built in.
   *
   * @default none
   */
  dollarAssetIds?: readonly bigint[] | undefined
  /**
   * Decimals and units of other assets.
   *
   * @default none: amounts are shown in base units
   */
  assets?: ReadonlyMap<bigint, Description.Asset> | undefined
}

/**
 * Formats an amount in base units: dollars, Algos, an asset's own unit, or base units of an unknown asset.
 *
 * @example
 * Readable.money({ assetId: 31566704n, amount: 10_000n }, { dollarAssetIds: [31566704n] }) // '$0.01'
 * Readable.money({ assetId: 0n, amount: 1_500_000_000n }) // '1,500 ALGO'
 * Readable.money({ assetId: 7n, amount: 12_345n }) // '12,345 base units of asset 7'
 */
export function money(
  { assetId, amount }: { assetId: bigint; amount: bigint },
  { dollarAssetIds, assets }: AssetOptions = {},
): string {
  if (assetId === 0n) return Amount.formatAlgos(amount)
  if (dollarAssetIds?.includes(assetId)) return dollars(amount)
  const asset = assets?.get(assetId)
  const hasDecimals = asset !== undefined && asset.decimals >= 0 && asset.decimals <= Amount.maxDecimals
  if (!hasDecimals || asset.unitName === '') {
    return `${number(amount)} base unit${amount === 1n ? '' : 's'} of asset ${assetId}`
  }
  return `${Amount.formatGrouped(amount, asset.decimals)} ${unitText(asset.unitName)} (asset ${assetId})`
}

/**
 * Returns the name of a network in place of its CAIP-2 id.
 *
 * @example
 * Readable.network('algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe') // 'TestNet'
 */
export function network(nameOrId: string): string {
  return Network.displayName(nameOrId)
}

/**
 * Formats a time in UTC without milliseconds. Times from elsewhere may exceed the range of a date.
 *
 * @example
 * Readable.time(1_790_000_000_123) // '2026-09-21 14:13:20 UTC'
 */
export function time(ms: number): string {
  const date = new Date(ms)
  if (Number.isNaN(date.getTime())) return 'an unknown time'
  return `${date.toISOString().slice(0, -5).replace('T', ' ')} UTC`
}

/**
 * Returns the beginning of an address, for a list that links to the whole address. An attacker can find another address
 * with the same beginning in minutes, so never show only this where a person decides.
 *
 * @example
 * Readable.shortAddress('KNLHV3RIBZ5V7BGVPHI2HH4AGRXWYKVVYTX5BGQOYMVKFFBLAIVKZFFTUE') // 'KNLHV3RI...'
 */
export function shortAddress(address: string): string {
  return `${address.slice(0, shortAddressCharacters)}...`
}

/**
 * Explains that an account or a list has more than one asset that is called USDC. Returns undefined for fewer.
 *
 * @example
 * Readable.dollarKinds([31566704n, 10458941n])
 * // 'This network has two kinds of USDC: asset 31566704 (the id of USDC on MainNet) and asset 10458941 (the id of USDC on TestNet). A payment in one cannot be made with the other.'
 */
export function dollarKinds(assetIds: readonly bigint[]): string | undefined {
  const ids = [...new Set(assetIds)]
  if (ids.length < 2) return undefined
  const count = ids.length === 2 ? 'two' : String(ids.length)
  const names = ids.map((id) => {
    const home = Network.known.find(({ usdcAssetId }) => usdcAssetId === id)
    return home === undefined ? `asset ${id}` : `asset ${id} (the id of USDC on ${home.displayName})`
  })
  const list = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
  return `This network has ${count} kinds of USDC: ${list}. A payment in one cannot be made with the other.`
}

/** The options of {@link payment}. */
export type PaymentOptions = AssetOptions & {
  /**
   * The agent that wants to pay.
   *
   * @default none: the sentence starts with the verb
   */
  payer?: string | undefined
  /** The owner's name for the payee. */
  payeeName?: string | undefined
  /** The URL that the payer says it pays for. Marked as not checked. */
  claimedUrl?: string | undefined
  /**
   * Whether the amount is the maximum of a price by usage.
   *
   * @default false
   */
  isUpTo?: boolean | undefined
}

/**
 * Describes a transaction in one sentence that leads with the money. Only a payment without other effects is worded as
 * one: anything else (a rekey, a closed account, a clawback, another type) is described by its first effect. The payee is
 * always the whole address, because an attacker can find an address with the same beginning. The warnings are in
 * {@link Description.describe}.
 *
 * @example
 * Readable.payment(transaction, { payer: 'shopper', claimedUrl: 'http://127.0.0.1:4021/quote' })
 * // shopper wants to pay $0.01 to KNLHV3RIBZ5V7BGVPHI2HH4AGRXWYKVVYTX5BGQOYMVKFFBLAIVKZFFTUE for http://127.0.0.1:4021/quote (not checked)
 */
export function payment(transaction: Transaction, options: PaymentOptions = {}): string {
  const { payer, payeeName, claimedUrl = '', isUpTo = false } = options
  const purpose = claimedUrl === '' ? '' : ` for ${plainText(claimedUrl, maxUrlCharacters, isPlainUrl)} (not checked)`
  const spent = plainPayment(transaction)
  if (spent === undefined) {
    const [effect = ''] = Description.describe(transaction, describeOptions(transaction, options)).lines
    const what = effect.replace(/\.$/, '')
    return `${payer === undefined ? what : `${nameText(payer)} wants to sign: ${what}`}${purpose}`
  }
  const address = Address.encode(spent.payee)
  const payee = payeeName === undefined || payeeName === '' ? address : `${nameText(payeeName)} (${address})`
  const verb = payer === undefined ? 'Pays' : `${nameText(payer)} wants to pay`
  const most = isUpTo ? 'up to ' : ''
  return `${verb} ${most}${money(spent, describedAssets(transaction, options))} to ${payee}${purpose}`
}

/** The options of {@link Description.describe} in which dollar assets are known. */
export function describeOptions(transaction: Transaction, options: AssetOptions): Description.Options {
  const { assets, dollarAssetIds = [] } = describedAssets(transaction, options)
  const known = new Map(dollarAssetIds.map((id) => [id, { decimals: dollarDecimals, unitName: 'USDC' }]))
  return { assets: new Map([...(assets ?? []), ...known]) }
}

/** On a public network only its own USDC is a dollar, regardless of the options. */
function describedAssets({ gh }: Transaction, { dollarAssetIds, assets }: AssetOptions): AssetOptions {
  const hash = gh === undefined ? undefined : encodeBase64(gh)
  const known = Network.known.find(({ genesisHash }) => genesisHash === hash)
  if (known === undefined) return { dollarAssetIds, assets }
  return { dollarAssetIds: known.usdcAssetId === undefined ? [] : [known.usdcAssetId], assets }
}

type Spent = { assetId: bigint; amount: bigint; payee: Uint8Array }

/** Every other member means another effect. */
const harmlessMembers: ReadonlySet<string> = new Set([
  'type',
  'snd',
  'fee',
  'fv',
  'lv',
  'note',
  'gen',
  'gh',
  'grp',
  'lx',
])
const paymentMembers: ReadonlySet<string> = new Set(['rcv', 'amt'])
const transferMembers: ReadonlySet<string> = new Set(['xaid', 'aamt', 'arcv'])

/** Returns the amount and the payee, or undefined unless paying is all that the transaction does. */
function plainPayment(transaction: Transaction): Spent | undefined {
  const { type, snd, rcv, amt = 0n, xaid = 0n, aamt = 0n, arcv } = transaction
  const has = (own: ReadonlySet<string>): boolean =>
    Object.entries(transaction).every(
      ([name, value]) => value === undefined || harmlessMembers.has(name) || own.has(name),
    )
  if (type === 'pay' && has(paymentMembers)) return { assetId: 0n, amount: amt, payee: rcv ?? new Uint8Array(32) }
  if (type !== 'axfer' || !has(transferMembers) || arcv === undefined || xaid === 0n) return undefined
  if (aamt === 0n && Bytes.equal(arcv, snd)) return undefined
  return { assetId: xaid, amount: aamt, payee: arcv }
}

const isPlainName = /^[\p{L}\p{N}_.-]+$/u
const isPlainUrl = /^[!-~]+$/

/**
 * Formats a name for a sentence. One plain word stays unchanged; other names are quoted, on one line and without
 * invisible characters.
 *
 * @example
 * Readable.nameText('shopper') // 'shopper'
 * Readable.nameText('my shopper') // '"my shopper"'
 */
export function nameText(name: string): string {
  return plainText(name, maxNameCharacters, isPlainName)
}

/** Quoted, so that untrusted text cannot continue the sentence, unless it is one word. */
function plainText(text: string, maxCharacters: number, plain: RegExp): string {
  const characters = [...VisibleText.replaceHidden(text.slice(0, 4 * maxCharacters))]
  const shown = characters.slice(0, maxCharacters).join('')
  const more = characters.length > maxCharacters ? '...' : ''
  return plain.test(shown) ? `${shown}${more}` : `"${shown.replaceAll('"', "'")}${more}"`
}
