/** The options of a facilitator, with their defaults. */
import type { Chain } from '../chain/Chain.js'
import type * as Signer from '../signer/Signer.js'
import type { DiscoveryOptions } from './discovery/DiscoveryOptions.js'
import type { FacilitatorHooks } from './FacilitatorHooks.js'
import type { PolicyOptions } from './limits/Policy.js'
import type { SettlementStore } from './store/Settlements.js'

/** Options of a `Facilitator`. */
export type FacilitatorOptions = FacilitatorHooks & {
  /** One chain for each network that is served. */
  chains: readonly Chain[]
  /**
   * The account that pays the fees of buyers, or several in order of preference. New payments name the first account
   * that can pay and sign. Payments that name another one are settled as well.
   *
   * @default buyers pay their own fees
   */
  feePayer?: Signer.Signer | readonly Signer.Signer[] | undefined
  /**
   * Where settlements are recorded, shared by all replicas.
   *
   * @default new MemorySettlements()
   */
  store?: SettlementStore | undefined
  /**
   * The sellers and callers to serve, and the limits on fees.
   *
   * @default no restriction
   */
  policy?: PolicyOptions | undefined
  /**
   * Catalogues the resources whose payments are settled, if their sellers describe them, and serves
   * `/discovery/resources` and `/discovery/search`. The facilitator then sends requests to sellers: for each resource,
   * the seller's own 402 must confirm the payment. `{}` for the defaults.
   *
   * @default no catalogue
   */
  discovery?: DiscoveryOptions | undefined
  /**
   * The ids of networks in the response of GET /supported: `both` lists each network under the CAIP-2 id of the standard
   * and under the id with the whole genesis hash, which older sellers look up; `canonical` lists the standard's id alone,
   * which strict checkers require. Payments with either id are settled.
   *
   * @default 'both'
   */
  networkIds?: 'both' | 'canonical' | undefined
  /**
   * The highest fee for each transaction of a group, even if the network is busy. Below this limit, the facilitator
   * pays no more than the network asks for.
   *
   * @default 5_000n
   */
  maxFeeMicroAlgosPerTransaction?: bigint | undefined
  /**
   * The longest validity of a payment.
   *
   * @default 1_000n
   */
  maxValidityRounds?: bigint | undefined
  /**
   * How long `settle` waits for the ledger before its result is `settlement_pending`.
   *
   * @default 30_000
   */
  settleTimeoutMs?: number | undefined
  /**
   * The first wait between two lookups of a settlement, if nodes do not support waiting for the next block.
   *
   * @default 250
   */
  pollMs?: number | undefined
  /**
   * How long settlements are kept after they ended.
   *
   * @default 7 days
   */
  keepMs?: number | undefined
  /**
   * How many settlements of one payer may be unconfirmed at a time. Further ones get `facilitator_busy`.
   *
   * @default 256
   */
  maxPendingPerPayer?: number | undefined
  /**
   * How many settlements for one `payTo` may be unconfirmed at a time. Further ones get `facilitator_busy`.
   *
   * @default 4_096
   */
  maxPendingPerPayTo?: number | undefined
  /**
   * Called with errors that are not the buyer's fault, and the request and payment that they are about.
   *
   * @default errors are ignored
   */
  onError?: ErrorListener | undefined
}

/** The request and the payment that an error is about, if they are known. */
export type ErrorSubject = { readonly requestId?: string | undefined; readonly transactionId?: string | undefined }

/** Receives errors, for a log. */
export type ErrorListener = (error: unknown, subject?: ErrorSubject) => void

const defaults = {
  maxFeeMicroAlgosPerTransaction: 5_000n,
  maxValidityRounds: 1_000n,
  settleTimeoutMs: 30_000,
  pollMs: 250,
  keepMs: 7 * 24 * 60 * 60 * 1000,
  maxPendingPerPayer: 256,
  maxPendingPerPayTo: 4_096,
}

export type FacilitatorLimits = typeof defaults

export function limitsOf(options: FacilitatorOptions): FacilitatorLimits {
  const given = Object.keys(defaults).map((name) => [name, options[name as keyof FacilitatorLimits]])
  return { ...defaults, ...Object.fromEntries(given.filter(([, value]) => value !== undefined)) }
}
