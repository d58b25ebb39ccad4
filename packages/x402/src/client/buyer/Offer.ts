/** Reads payment requirements as offers, and compares and sorts offers. */
import { Address, VisibleText } from '@latchkey/algorand'
import { feePayerOf, type PaymentRequirements } from '@latchkey/x402-wire'
import { type AssetInfo, type Chain, parseAssetId } from '../../chain/Chain.js'
import type { Limits } from './Limits.js'
import { orReason, type RefusalCode, type RefusalReason } from './PaymentRefusedError.js'

/** A payment requirement that the buyer understands, with the asset details looked up for it. */
export type Offer = {
  readonly requirement: PaymentRequirements
  readonly chain: Chain
  readonly asset: AssetInfo
  /** The price in base units. */
  readonly amount: bigint
  /** The account that pays the fees; undefined if the buyer does. */
  readonly feePayer: string | undefined
  /** The price in millionths of a dollar, if the asset is the dollar of its network. */
  readonly microDollars: bigint | undefined
}

/** The paying account, its networks and its limits. */
export type OfferReader = {
  readonly address: string
  readonly chains: readonly Chain[]
  readonly limits: Limits
}

const zeroAddress = Address.encode(new Uint8Array(32))
const maxTimeoutSecondsAccepted = 24 * 60 * 60

/** Reads a requirement and looks up its asset. Returns a reason if the buyer cannot pay the requirement. */
export async function read(
  requirement: PaymentRequirements,
  { address, chains, limits }: OfferReader,
): Promise<Offer | RefusalReason> {
  const { scheme, network, asset, amount, payTo, maxTimeoutSeconds, extra } = requirement
  const refuse = (code: RefusalCode, message: string): RefusalReason => ({ code, message, network, asset })
  if (![scheme, network, asset, amount, payTo].every((one) => typeof one === 'string')) {
    return { code: 'invalid_offer', message: 'a field of the offer is not a string' }
  }
  if (scheme !== 'exact') return refuse('unsupported_scheme', `the scheme ${quote(scheme)} is not supported`)
  const chain = chains.find((one) => one.matches(network))
  if (chain === undefined)
    return refuse('unsupported_network', `the buyer does not pay on the network ${quote(network)}`)
  const assetId = parseAssetId(asset)
  if (assetId === undefined) return refuse('invalid_offer', `${quote(asset)} is not an asset id`)
  // Checked before a node is queried about the asset, so that a seller cannot choose what the buyer requests from its
  // node.
  if (limits.rank(assetId, chain) === undefined) {
    const message = `payments in asset ${assetId} are not allowed; add it to \`assets\` with a limit`
    return refuse('asset_not_allowed', message)
  }
  const units = /^[1-9][0-9]{0,19}$/.test(amount) ? BigInt(amount) : 0n
  if (units === 0n || units >= 2n ** 64n) return refuse('invalid_offer', `${quote(amount)} is not an amount`)
  if (!Address.isValid(payTo)) return refuse('invalid_offer', `payTo is not an address: ${quote(payTo)}`)
  // Funds sent to the zero address are lost, and its key does not exist.
  if (payTo === zeroAddress) return refuse('invalid_offer', 'payTo is the zero address')
  if (extra?.['feePayer'] === zeroAddress) return refuse('invalid_offer', 'feePayer is the zero address')
  if (
    typeof maxTimeoutSeconds !== 'number' ||
    !(maxTimeoutSeconds > 0 && maxTimeoutSeconds <= maxTimeoutSecondsAccepted)
  ) {
    return refuse('invalid_offer', 'maxTimeoutSeconds is out of range')
  }
  const flow = extra?.['paymentFlow'] ?? 'authorization'
  if (flow !== 'authorization' && flow !== 'upfront') {
    return refuse('unsupported_payment_flow', 'the payment flow is not supported')
  }
  const offer = await orReason(async () => {
    const info = await chain.asset(assetId)
    const microDollars = limits.microDollars(units, info, chain)
    return {
      requirement,
      chain,
      asset: info,
      amount: units,
      feePayer: feePayerOf(requirement, address),
      microDollars,
    }
  })
  return 'code' in offer ? { ...offer, network, asset } : offer
}

/** Whether consent to one offer is consent to the other: nothing that a person sees, or that is sent, differs. */
export function isSame(a: Offer, b: Offer): boolean {
  return (
    a.amount === b.amount &&
    a.chain === b.chain &&
    a.asset.assetId === b.asset.assetId &&
    a.asset.decimals === b.asset.decimals &&
    a.feePayer === b.feePayer &&
    JSON.stringify(a.requirement) === JSON.stringify(b.requirement)
  )
}

/** Sorts the offers by preference. */
export function sort(offers: readonly Offer[], { chains, limits }: OfferReader): Offer[] {
  const preference = ({ requirement, chain, asset, amount }: Offer): bigint[] => {
    const isUpfront = requirement.extra?.['paymentFlow'] === 'upfront'
    const rank = limits.rank(asset.assetId, chain)!
    return [BigInt(chains.indexOf(chain)), BigInt(rank), amount, isUpfront ? 1n : 0n]
  }
  return [...offers].sort((a, b) => compare(preference(a), preference(b)))
}

function compare(a: readonly bigint[], b: readonly bigint[]): number {
  for (const [index, value] of a.entries()) if (value !== b[index]) return value < b[index]! ? -1 : 1
  return 0
}

/** Quotes text from outside: shortened, and without control characters and invisible characters. */
function quote(text: string): string {
  return VisibleText.replaceHidden(JSON.stringify(text.slice(0, 60)), '?')
}
