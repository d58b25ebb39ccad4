/** The scheme for servers of `@x402/core`: `server.register(chain.caip2, new AlgorandServer({ chains: chain }))`. */
import type {
  AssetAmount,
  Network,
  PaymentFlowConfig,
  PaymentRequirements,
  Price,
  SchemeNetworkServer,
  SupportedKind,
} from '@x402/core/types'
import { type Chain, ChainError, parseAssetId } from '../chain/Chain.js'
import { PriceError } from '../Price.js'

export type AlgorandServerSchemeOptions = { chains: Chain | readonly Chain[] }

export class AlgorandServerScheme implements SchemeNetworkServer {
  readonly scheme = 'exact'
  readonly defaultAssetTransferMethod = 'default'
  readonly paymentFlows: Readonly<Record<string, PaymentFlowConfig>> = {
    default: { supported: ['authorization', 'upfront'], default: 'authorization' },
  }
  readonly #chains: readonly Chain[]

  constructor({ chains }: AlgorandServerSchemeOptions) {
    this.#chains = Array.isArray(chains) ? chains : [chains as Chain]
  }

  async parsePrice(price: Price, network: Network): Promise<AssetAmount> {
    if (typeof price === 'object') return checkAmount(price)
    const chain = this.#chains.find((one) => one.matches(network))
    if (chain === undefined) throw new ChainError(`there is no chain for ${network}`)
    const { assetId, amount } = await chain.resolvePrice(price)
    return { asset: assetId.toString(), amount: amount.toString() }
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

/** Nothing is served for nothing because of a slip. */
function checkAmount(price: AssetAmount): AssetAmount {
  if (parseAssetId(price.asset) === undefined) throw new PriceError(`${price.asset} is not the number of an asset`)
  if (!/^[1-9][0-9]{0,19}$/.test(price.amount)) {
    throw new PriceError(`${price.amount} is not a positive number of base units`)
  }
  return price
}
