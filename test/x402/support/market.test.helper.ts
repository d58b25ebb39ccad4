/** Sets up a ledger, a facilitator, a seller's account and a buyer in this process. */
import { randomBytes } from 'node:crypto'
import { Address, Ed25519 } from '@latchkey/algorand'
import { Devnet, type DevnetOptions } from '@latchkey/devnet'
import { Buyer, type BuyerOptions, Chain, decodeRequired, payingFetch, Signer } from '@latchkey/x402/client'
import { Facilitator } from '@latchkey/x402/facilitator'
import { type FacilitatorClient, Gate, type GateOptions, localFacilitator } from '@latchkey/x402/server'

export const dollar = 31566704n

export type Market = Awaited<ReturnType<typeof openMarket>>

type Scope = { after: (work: () => unknown) => void }

export async function openMarket(scope: Scope, options: DevnetOptions = {}) {
  const devnet = await Devnet.start({ port: 0, ...options })
  const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId: dollar })
  const feePayer = Signer.fromMnemonic(devnet.accounts[4]!.mnemonic)
  const facilitator = new Facilitator({ chains: [chain], feePayer, pollMs: 20, settleTimeoutMs: 2_000 })
  scope.after(async () => {
    await facilitator.stop()
    await devnet.stop()
  })
  const seller = newAddress()
  devnet.fund(seller, { microAlgos: 1_000_000n })
  devnet.optIn(seller, dollar)
  const local = localFacilitator(facilitator)
  const newBuyer = (more: Partial<BuyerOptions> = {}, account = 0): Buyer =>
    new Buyer({ signer: Signer.fromMnemonic(devnet.accounts[account]!.mnemonic), chains: chain, ...more })
  const buyer = newBuyer()
  return {
    devnet,
    chain,
    facilitator,
    seller,
    local,
    buyer,
    newBuyer,
    payingFetch: payingFetch(buyer),
    gate: (more: Partial<GateOptions>) =>
      Gate.open({ routes: {}, facilitators: local, chains: chain, onError: () => {}, ...more }),
    /** Returns the balance of an account, in millionths of a dollar. */
    dollars: async (address = seller): Promise<bigint> => (await chain.algod.holding(address, dollar))?.amount ?? 0n,
    /**
     * Returns a header with a payment for a 402 response, of a buyer without a secret; `edit` changes it before it is
     * encoded.
     */
    payment: async (unpaid: Response, edit: (payload: Payload) => void = () => {}): Promise<string> => {
      const { payload } = await buyer.pay(decodeRequired(unpaid.headers.get('payment-required')!))
      const plain = { ...payload, extensions: withoutSecret(payload.extensions) }
      edit(plain as unknown as Payload)
      return Buffer.from(JSON.stringify(plain)).toString('base64')
    },
  }
}

export type Payload = { [name: string]: unknown } & {
  resource?: { url: string }
  accepted: { [name: string]: unknown } & { extra: { [name: string]: unknown } }
  payload: { paymentGroup: string[]; paymentIndex: number }
}

/** Echoes the extension as an older buyer does, so that the same header can be sent again. */
function withoutSecret(extensions: { [name: string]: unknown } = {}): { [name: string]: unknown } {
  const { info, ...rest } = (extensions['payment-secret'] ?? {}) as { info?: { hash?: string } }
  const { hash: _, ...declared } = info ?? {}
  return { ...extensions, 'payment-secret': { info: declared, ...rest } }
}

export function newAddress(): string {
  return Address.encode(Ed25519.keyPairFromSeed(randomBytes(32)).publicKey)
}

/** Returns a facilitator with some methods replaced. */
export function altered(client: FacilitatorClient, changes: Partial<FacilitatorClient>): FacilitatorClient {
  return { ...client, ...changes }
}

export function headerJson(response: Response, name: string): { [name: string]: unknown } {
  return JSON.parse(Buffer.from(response.headers.get(name) ?? 'e30=', 'base64').toString('utf8'))
}

export async function requiredOf(unpaid: Response): Promise<{ accepts: { [name: string]: unknown }[]; error: string }> {
  return headerJson(unpaid, 'payment-required') as never
}

const waitMs = 20
const limitMs = 60_000

/** Waits for a condition. */
export async function until(isMet: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + limitMs
  while (!(await isMet())) {
    if (performance.now() > endMs) throw new Error('the condition was not met in time')
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}

/** Resends the same payment as long as the seller asks to wait. */
export async function repeated(url: string, header: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...(init.headers as { [name: string]: string }), 'PAYMENT-SIGNATURE': header }
  const endMs = performance.now() + limitMs
  for (;;) {
    const response = await fetch(url, { ...init, headers })
    if (response.status !== 503 || performance.now() > endMs) return response
    await response.arrayBuffer()
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}
