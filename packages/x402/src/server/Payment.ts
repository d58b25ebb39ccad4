/** What a seller learns about a payment: who paid, how much, and how far it is. */
import { Amount, Network, VisibleText } from '@latchkey/algorand'
import { type AssetInfo, type Chain, parseAssetId } from '../chain/Chain.js'
import type { PaymentRequirements } from '../wire/types.js'
import type { LedgerPayment } from './LedgerPayment.js'

/** A payment that the gate has checked. All of it is from the transaction that the buyer has signed, and can be written as JSON. */
export type Payment = {
  /** Identifies the payment for ever: the same in every event, on the ledger and in the buyer's receipt. */
  readonly transactionId: string
  /** The address of the account that pays. */
  readonly payer: string
  /** The address that is paid. */
  readonly payTo: string
  /** Base units, exactly: `10000`. */
  readonly amount: string
  /** The amount with its unit, exactly: `0.01 USDC`. */
  readonly amountText: string
  /** The id of the asset; `0` is ALGO. */
  readonly asset: string
  /** The unit name of the asset; `asset 123` where it has none, or no node has told it. */
  readonly assetName: string
  /** The decimals of the asset; undefined where no node has told them. */
  readonly decimals: number | undefined
  /** The canonical CAIP-2 id of the network. */
  readonly network: string
  /** The network's name for people: `TestNet`, `local network`. */
  readonly networkName: string
  /** The key of the route that it is for, like `GET /weather`. */
  readonly route: string
  /**
   * `verified`: it is valid and not settled yet. `settled`: it is on the ledger. `pending`: it was submitted and the ledger
   * has not decided. `failed`: it was not settled, or the handler failed and nothing was charged.
   */
  readonly state: 'verified' | 'settled' | 'pending' | 'failed'
  /** The round that it was settled in, once that is known. */
  readonly round: number | undefined
  /** Set if it opened an earlier request, and this one by its pass. */
  readonly pass?: PassUse | undefined
}

/** What is left of the pass that opened a request. */
export type PassUse = {
  /** When it ends, in milliseconds since 1970. */
  readonly untilMs: number
  /** How many further requests it opens; undefined if they are not counted. */
  readonly requestsLeft: number | undefined
}

/** What changes about a payment. */
export type PaymentChange = Pick<Payment, 'state'> & { readonly round?: number | undefined }

/** A payment as it is now; each change replaces it, so that a caller's copy stays as it was. */
export class PaymentStatus {
  #current: Payment

  constructor(payment: Payment) {
    this.#current = Object.freeze(payment)
  }

  get current(): Payment {
    return this.#current
  }

  change({ state, round = this.#current.round }: PaymentChange): Payment {
    // What the ledger has stays there, whatever a later repeat finds.
    if (this.#current.state === 'settled' && state !== 'settled') return this.#current
    this.#current = Object.freeze({ ...this.#current, state, round })
    return this.#current
  }
}

export type PaymentParts = {
  readonly chain: Chain
  readonly requirement: Pick<PaymentRequirements, 'amount' | 'asset' | 'payTo'>
  readonly payment: Pick<LedgerPayment, 'transactionId' | 'payer'>
  readonly route: string
  readonly asset: AssetInfo | undefined
}

export function describePayment({ chain, requirement, payment, route, asset }: PaymentParts): Payment {
  const { amount, payTo } = requirement
  const assetName = asset === undefined ? `asset ${requirement.asset}` : unitOf(asset)
  const amountText = formatAmount(amount, asset?.decimals, assetName)
  const { transactionId, payer } = payment
  return {
    transactionId,
    payer,
    payTo,
    amount,
    amountText,
    asset: requirement.asset,
    assetName,
    decimals: asset?.decimals,
    network: chain.caip2,
    networkName: Network.displayName(chain.caip2),
    route,
    state: 'verified',
    round: undefined,
  }
}

/** An amount with its unit; base units where the decimals are not known. */
export function formatAmount(amount: string, decimals: number | undefined, assetName: string): string {
  if (decimals === undefined) return `${amount} base units of ${assetName}`
  return `${Amount.format(BigInt(amount), decimals)} ${assetName}`
}

/** The asset of a requirement; undefined if no node tells. Looked up once, and never a reason to refuse a payment. */
export async function assetOf(chain: Chain, asset: string): Promise<AssetInfo | undefined> {
  const assetId = parseAssetId(asset)
  if (assetId === undefined) return undefined
  try {
    return await chain.asset(assetId)
  } catch {
    return undefined
  }
}

/** The creator of an asset chooses its name, which goes to terminals and pages. */
function unitOf({ name }: AssetInfo): string {
  return VisibleText.replaceHidden(name.slice(0, 40), '?')
}
