/** Makes payments and submits them to facilitators for settlement. */
import { Buyer, Chain, Signer } from '@latchkey/x402/client'
import type { PaymentPayload, PaymentRequirements, SettleResponse } from '@x402/core/types'
import type { Facts } from '../devnet/Process.js'
import { dollar, network, priceMicroDollars } from '../paid/setting.js'

export type Settled = { readonly isSettled: boolean; readonly transaction: string; readonly answeredMs: number }

export class Payer {
  readonly #buyer: Buyer
  readonly #requirements: PaymentRequirements

  private constructor(buyer: Buyer, requirements: PaymentRequirements) {
    this.#buyer = buyer
    this.#requirements = requirements
  }

  static async open({ url: nodes, genesisHash, accounts }: Facts): Promise<Payer> {
    const [sponsor, seller, buyer] = accounts
    const chain = await Chain.open({ network, nodes, genesisHash })
    return new Payer(new Buyer({ signer: Signer.fromSecretKey(buyer!.secretKey), chains: chain }), {
      scheme: 'exact',
      network,
      asset: dollar,
      amount: String(priceMicroDollars),
      payTo: seller!.address,
      maxTimeoutSeconds: 300,
      extra: { feePayer: sponsor!.address },
    })
  }

  async payment(): Promise<PaymentPayload> {
    const resource = { url: 'http://localhost/weather' }
    return (await this.#buyer.pay({ x402Version: 2, resource, accepts: [this.#requirements] })).payload
  }

  /** Asks a facilitator to settle a payment. */
  async settle(url: string, paymentPayload: PaymentPayload): Promise<Settled> {
    const body = JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements: this.#requirements })
    const headers = { 'Content-Type': 'application/json' }
    const response = await fetch(`${url}/settle`, { method: 'POST', headers, body })
    const { success, transaction } = (await response.json()) as SettleResponse
    return { isSettled: success, transaction, answeredMs: performance.now() }
  }
}
