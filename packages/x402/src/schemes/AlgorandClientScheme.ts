import { HeaderError, PaymentGroup, UptoPayment } from '@latchkey/x402-wire'
import type {
  FindDefaultAsset,
  PaymentPayloadResult,
  PaymentRequirements,
  SchemeClientHooks,
  SchemeNetworkClient,
} from '@x402/core/types'
import { type Chain, chainList } from '../chain/Chain.js'
import { Buyer, type BuyerOptions } from '../client/buyer/Buyer.js'

/** Options of an {@link AlgorandClientScheme}. */
export type AlgorandClientSchemeOptions = BuyerOptions & {
  /**
   * The scheme to pay: fixed prices, or prices by usage.
   *
   * @default 'exact'
   */
  scheme?: 'exact' | 'upto' | undefined
}

/**
 * The scheme for clients of `@x402/core`.
 *
 * @example
 * client.register('algorand:*', new AlgorandClientScheme({ signer, chains: chain }))
 */
export class AlgorandClientScheme implements SchemeNetworkClient {
  readonly scheme: 'exact' | 'upto'
  /** Makes the payments, within its limits. */
  readonly buyer: Buyer
  readonly #chains: readonly Chain[]

  constructor({ scheme = 'exact', ...options }: AlgorandClientSchemeOptions) {
    this.scheme = scheme
    this.buyer = new Buyer(options)
    this.#chains = chainList(options.chains)
  }

  /**
   * Pays one requirement.
   *
   * @throws PaymentRefusedError if the requirement must not or cannot be paid; nothing is signed then
   * @throws HeaderError for another version of the protocol
   */
  async createPaymentPayload(x402Version: number, requirements: PaymentRequirements): Promise<PaymentPayloadResult> {
    if (x402Version !== 2) {
      throw new HeaderError('unsupported_version', 'only protocol version 2 is supported')
    }
    // `@x402/core` passes the requirements to the scheme without the resource.
    const resource = { url: 'about:blank' }
    const { payload } = await this.buyer.pay({ x402Version, resource, accepts: [requirements] })
    return { x402Version, payload: payload.payload }
  }

  readonly schemeHooks: SchemeClientHooks = {
    onPaymentResponse: async ({ paymentPayload, settleResponse }) => {
      if (this.scheme === 'upto') {
        const { id } = UptoPayment.read(paymentPayload.payload)
        await this.buyer.lookUp(id, settleResponse?.transaction).catch(() => undefined)
        return
      }
      const { transactionId } = PaymentGroup.readPayment(paymentPayload.payload)
      // The ledger decides, not the seller's receipt. If no node responds, the payment is looked up when a limit is
      // reached.
      await this.buyer.lookUp(transactionId).catch(() => undefined)
    },
  }

  /** Lets `@x402/core` convert its limit in dollars. The buyer's own limits apply as well. */
  readonly findDefaultAsset: FindDefaultAsset = (asset, network) => {
    const chain = this.#chains.find((one) => one.matches(network))
    if (chain?.dollarAssetId === undefined || asset !== chain.dollarAssetId.toString()) return undefined
    return { asset, decimals: 6, symbol: 'USDC' }
  }
}
