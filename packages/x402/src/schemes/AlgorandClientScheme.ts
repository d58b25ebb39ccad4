/** The scheme for clients of `@x402/core`: `client.register(chain.caip2, new AlgorandClient({ signer, chains: chain }))`. */
import type {
  FindDefaultAsset,
  PaymentPayloadResult,
  PaymentRequirements,
  SchemeClientHooks,
  SchemeNetworkClient,
} from '@x402/core/types'
import type { Chain } from '../chain/Chain.js'
import { Buyer, type BuyerOptions } from '../client/Buyer.js'
import * as PaymentGroup from '../exact/PaymentGroup.js'

export class AlgorandClientScheme implements SchemeNetworkClient {
  readonly scheme = 'exact'
  readonly buyer: Buyer
  readonly #chains: readonly Chain[]

  constructor(options: BuyerOptions) {
    this.buyer = new Buyer(options)
    this.#chains = Array.isArray(options.chains) ? options.chains : [options.chains as Chain]
  }

  async createPaymentPayload(x402Version: number, requirements: PaymentRequirements): Promise<PaymentPayloadResult> {
    if (x402Version !== 2) throw new RangeError('only version 2 of the protocol is paid by')
    // The core tells the scheme what to pay for, not where.
    const resource = { url: 'about:blank' }
    const { payload } = await this.buyer.pay({ x402Version, resource, accepts: [requirements] })
    return { x402Version, payload: payload.payload }
  }

  readonly schemeHooks: SchemeClientHooks = {
    onPaymentResponse: async ({ paymentPayload, settleResponse }) => {
      if (settleResponse?.success !== true) return
      const { transactionId } = PaymentGroup.read(paymentPayload.payload)
      if (settleResponse.transaction === transactionId) this.buyer.payments.update(transactionId, 'settled')
    },
  }

  /** By which the core turns its limit in dollars into base units; the buyer's own limits hold beside it. */
  readonly findDefaultAsset: FindDefaultAsset = (asset, network) => {
    const chain = this.#chains.find((one) => one.matches(network))
    if (chain?.dollarAssetId === undefined || asset !== chain.dollarAssetId.toString()) return undefined
    return { asset, decimals: 6, symbol: 'USDC' }
  }
}
