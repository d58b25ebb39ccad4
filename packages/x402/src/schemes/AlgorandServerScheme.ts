import { Network as AlgorandNetwork } from '@latchkey/algorand'
import { PriceError } from '@latchkey/x402-wire'
import type {
  AssetAmount,
  Network,
  PaymentFlowConfig,
  PaymentRequirements,
  Price,
  SchemeNetworkServer,
  SupportedKind,
} from '@x402/core/types'
import { type Chain, ChainError, chainList, parseAssetId } from '../chain/Chain.js'

/** Options of an {@link AlgorandServerScheme}. */
export type AlgorandServerSchemeOptions = {
  /** The networks to accept payments on. */
  chains: Chain | readonly Chain[]
  /**
   * The scheme of the prices: fixed, or by usage with `setSettlementOverrides`.
   *
   * @default 'exact'
   */
  scheme?: 'exact' | 'upto' | undefined
}

/**
 * The scheme for servers of `@x402/core`.
 *
 * @example
 * server.register('algorand:*', new AlgorandServerScheme({ chains: chain }))
 */
export class AlgorandServerScheme implements SchemeNetworkServer {
  readonly scheme: 'exact' | 'upto'
  readonly defaultAssetTransferMethod = 'default'
  readonly paymentFlows: Readonly<Record<string, PaymentFlowConfig>>
  readonly #chains: readonly Chain[]

  /** @throws OptionsError if no chain is passed */
  constructor({ chains, scheme = 'exact' }: AlgorandServerSchemeOptions) {
    this.scheme = scheme
    const supported: PaymentFlowConfig['supported'] =
      scheme === 'upto' ? ['authorization'] : ['authorization', 'upfront']
    this.paymentFlows = { default: { supported, default: 'authorization' } }
    this.#chains = chainList(chains)
  }

  /**
   * Converts a price to base units.
   *
   * @throws PriceError for a price that cannot be paid
   * @throws ChainError for a network or an asset that is not known
   */
  async parsePrice(price: Price, network: Network): Promise<AssetAmount> {
    if (typeof price === 'object') return checkAmount(price)
    const chain = this.#chains.find((one) => one.matches(network))
    if (chain === undefined)
      throw new ChainError('unsupported_network', `no chain was passed for ${AlgorandNetwork.describe(network)}`)
    const { assetId, amount } = await chain.resolvePrice(price)
    return { asset: assetId.toString(), amount: amount.toString() }
  }

  /** The decimals of the dollar of a network, for a settlement override in dollars. */
  getAssetDecimals(asset: string, network: Network): number | undefined {
    const chain = this.#chains.find((one) => one.matches(network))
    return chain?.dollarAssetId?.toString() === asset ? 6 : undefined
  }

  async enhancePaymentRequirements(
    requirements: PaymentRequirements,
    { extra }: SupportedKind,
  ): Promise<PaymentRequirements> {
    const feePayer = extra?.['feePayer']
    if (typeof feePayer !== 'string') return requirements
    return { ...requirements, extra: { ...requirements.extra, feePayer } }
  }
}

/** Rejects amounts that would make the route free. */
function checkAmount(price: AssetAmount): AssetAmount {
  if (parseAssetId(price.asset) === undefined) {
    throw new PriceError('invalid_price', `${price.asset} is not an asset id`)
  }
  if (!/^[1-9][0-9]{0,19}$/.test(price.amount)) {
    throw new PriceError('invalid_price', `${price.amount} is not a positive number of base units`)
  }
  return price
}
