/** A devnet with a funded buyer, a seller that is opted in, and a fee payer. */
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { Address, Ed25519 } from '@latchkey/algorand'
import { Devnet, type DevnetOptions } from '@latchkey/devnet'
import type { PaymentRequired, PaymentRequirements } from '@latchkey/x402-wire'
import { Chain } from '../../chain/Chain.js'
import * as Signer from '../../signer/Signer.js'

export const dollar = 31566704n
export const url = 'http://shop.example/weather'

export type Market = {
  devnet: Devnet
  chain: Chain
  /** Has five dollars, and no spare ALGO. */
  signer: Signer.Signer
  /** Can be paid in dollars. */
  payTo: string
  sponsor: Signer.Signer
  /** An offer of one cent with sponsored fees. */
  requirement: PaymentRequirements
  required: PaymentRequired
}

export async function openMarket(t: TestContext, options: DevnetOptions = {}): Promise<Market> {
  const devnet = await Devnet.start({ port: 0, accounts: 1, ...options })
  t.after(() => devnet.stop())
  const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId: dollar })
  const [signer, sponsor, payTo] = [newSigner(), newSigner(), newAddress()]
  devnet.fund(signer.address, { assets: [{ assetId: dollar, amount: 5_000_000n }] })
  devnet.fund(sponsor.address, { microAlgos: 10_000_000n })
  devnet.optIn(payTo, dollar)
  const requirement: PaymentRequirements = {
    scheme: 'exact',
    network: chain.caip2 as PaymentRequirements['network'],
    amount: '10000',
    asset: dollar.toString(),
    payTo,
    maxTimeoutSeconds: 60,
    extra: { feePayer: sponsor.address },
  }
  return { devnet, chain, signer, sponsor, payTo, requirement, required: requiring(requirement) }
}

export function requiring(...accepts: PaymentRequirements[]): PaymentRequired {
  return { x402Version: 2, resource: { url }, accepts }
}

export function newSigner(): Signer.Signer {
  return Signer.fromSeed(new Uint8Array(randomBytes(32)))
}

export function newAddress(): string {
  return Address.encode(Ed25519.publicKey(new Uint8Array(randomBytes(32))))
}
