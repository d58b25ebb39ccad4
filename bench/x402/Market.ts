/** Sets up a chain, a buyer, a seller, and two facilitators that can settle the same payments. */
import { Buyer, Chain, Signer } from '@latchkey/x402/client'
import { Facilitator } from '@latchkey/x402/facilitator'
import { SqliteSettlements } from '@latchkey/x402/sqlite'
import { toFacilitatorAvmSigner } from '@x402/avm'
import { ExactAvmScheme } from '@x402/avm/exact/facilitator'
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '@x402/core/types'
import type { Facts } from '../devnet/Process.js'

export type Judge = {
  readonly name: string
  readonly verify: (payload: PaymentPayload, requirements: PaymentRequirements) => Promise<VerifyResponse>
  readonly settle: (payload: PaymentPayload, requirements: PaymentRequirements) => Promise<SettleResponse>
}

/** The published packages support only public networks, so the devnet uses the id of TestNet. */
const network = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'
const dollar = '10458941'
export const priceMicroDollars = 1_000

export class Market {
  readonly chain: Chain
  readonly requirements: PaymentRequirements
  /** The same price as the maximum of a price by usage. */
  readonly upto: PaymentRequirements
  readonly ours: Judge
  readonly theirs: Judge
  readonly facilitator: Facilitator
  readonly #buyer: Buyer
  readonly sellerAddress: string
  readonly buyerKey: string

  private constructor(chain: Chain, { url, accounts }: Facts, storeFile: string) {
    const [sponsor, seller, buyer] = accounts
    this.chain = chain
    this.sellerAddress = seller!.address
    this.buyerKey = buyer!.secretKey
    this.requirements = {
      scheme: 'exact',
      network,
      asset: dollar,
      amount: String(priceMicroDollars),
      payTo: seller!.address,
      maxTimeoutSeconds: 300,
      extra: { feePayer: sponsor!.address },
    }
    this.upto = { ...this.requirements, scheme: 'upto' }
    // On disk, as in the command.
    const store = new SqliteSettlements(storeFile)
    this.facilitator = new Facilitator({ chains: [chain], feePayer: Signer.fromSecretKey(sponsor!.secretKey), store })
    this.ours = {
      name: 'latchkey',
      verify: this.facilitator.verify.bind(this.facilitator),
      settle: this.facilitator.settle.bind(this.facilitator),
    }
    const scheme = new ExactAvmScheme(toFacilitatorAvmSigner(sponsor!.secretKey, { testnetUrl: url }))
    this.theirs = { name: '@x402/avm', verify: scheme.verify.bind(scheme), settle: scheme.settle.bind(scheme) }
    this.#buyer = new Buyer({ signer: Signer.fromSecretKey(buyer!.secretKey), chains: chain })
  }

  static async open(facts: Facts, storeFile: string): Promise<Market> {
    const { url: nodes, genesisHash } = facts
    return new Market(await Chain.open({ network, nodes, genesisHash }), facts, storeFile)
  }

  async payments(count: number, requirements = this.requirements): Promise<PaymentPayload[]> {
    const resource = { url: 'http://localhost/weather' }
    const payments: PaymentPayload[] = []
    for (let index = 0; index < count; index++) {
      const { payload } = await this.#buyer.pay({ x402Version: 2, resource, accepts: [requirements] })
      payments.push(payload)
    }
    return payments
  }
}
