/** Runs our facilitator on a devnet, behind a proxy that counts and can lie, and builds deliberately wrong payments. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { Address, Ed25519, Group, Submission, Transaction } from '@latchkey/algorand'
import { Devnet, type DevnetOptions } from '@latchkey/devnet'
import { Chain, Facilitator, Signer } from '@latchkey/x402/facilitator'

export type FacilitatorOptions = ConstructorParameters<typeof Facilitator>[0]
export type PaymentPayload = Parameters<Facilitator['verify']>[0]
export type PaymentRequirements = Parameters<Facilitator['verify']>[1]
export type Tx = Transaction.Transaction

export const usdc = 31566704n
export const price = 1_000n

export type Account = { address: string; publicKey: Uint8Array; secretKey: Uint8Array; seed: Uint8Array }

export function newAccount(): Account {
  const seed = new Uint8Array(randomBytes(32))
  const { publicKey, secretKey } = Ed25519.keyPairFromSeed(seed)
  return { address: Address.encode(publicKey), publicKey, secretKey, seed }
}

export type Instead = { status: number; body: string; isForwarded: boolean }

export type Call = { readonly what: string; readonly body: Buffer }

/** Forwards requests to a node and records them. `instead` replaces a response, with or without forwarding the request. */
export class NodeProxy {
  readonly calls: Call[] = []
  readonly url: string
  instead: ((what: string) => Instead | undefined) | undefined
  /** Like `instead`, but also depends on the path and the body. */
  insteadOf: ((what: string, path: string, body: Buffer) => Instead | undefined) | undefined

  private constructor(url: string) {
    this.url = url
  }

  static async start(t: TestContext, target: string): Promise<NodeProxy> {
    const server = createServer((request, response) => void proxy.#handle(target, request, response))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const proxy = new NodeProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    t.after(() => {
      server.close()
      server.closeAllConnections()
    })
    return proxy
  }

  /** Counts requests by kind: params, simulate, submit, pending, account, ... */
  count(what?: string): number {
    return what === undefined ? this.calls.length : this.calls.filter((call) => call.what === what).length
  }

  async #handle(target: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request)
    const what = kindOf(request)
    this.calls.push({ what, body })
    const other = this.instead?.(what) ?? this.insteadOf?.(what, request.url!, body)
    if (other === undefined || other.isForwarded) {
      const result = await forward(target, request, body).catch(() => undefined)
      // A dropped connection is passed on.
      if (result === undefined) return void response.destroy()
      const { status, text } = result
      if (other === undefined) return void response.writeHead(status, { 'Content-Type': 'application/json' }).end(text)
    }
    response.writeHead(other.status).end(other.body)
  }
}

function kindOf({ method, url }: IncomingMessage): string {
  const path = url!.split('?')[0]!
  if (path === '/v2/transactions' && method === 'POST') return 'submit'
  if (path.startsWith('/v2/transactions/pending/')) return 'pending'
  if (path.startsWith('/v2/accounts/')) return 'account'
  return path.split('/').at(-1)!
}

async function forward(target: string, { method, url, headers }: IncomingMessage, body: Buffer) {
  const sent = httpRequest(target + url, { method, headers })
  sent.end(body)
  const [result] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: result.statusCode!, text: await buffer(result) }
}

export type Market = {
  devnet: Devnet
  proxy: NodeProxy
  chain: Chain
  facilitator: Facilitator
  buyer: Account
  seller: Account
  sponsor: Account
  errors: unknown[]
}

export type MarketOptions = {
  devnet?: DevnetOptions
  facilitator?: Partial<FacilitatorOptions>
  sponsorMicroAlgos?: bigint
}

/**
 * Opens a market: a buyer with a dollar and no spare Algos, a seller who can receive dollars, and a sponsor with Algos
 * for fees.
 */
export async function openMarket(t: TestContext, options: MarketOptions = {}): Promise<Market> {
  const devnet = await Devnet.start({ port: 0, accounts: 0, ...options.devnet })
  t.after(() => devnet.stop())
  const proxy = await NodeProxy.start(t, devnet.url)
  const chain = await Chain.open({ network: 'local', nodes: proxy.url, dollarAssetId: usdc })
  const [buyer, seller, sponsor] = [newAccount(), newAccount(), newAccount()]
  devnet.fund(buyer.address, { microDollars: 1_000_000n })
  devnet.optIn(seller.address, usdc)
  devnet.fund(sponsor.address, { microAlgos: options.sponsorMicroAlgos ?? 10_000_000n })
  const errors: unknown[] = []
  const onError = (error: unknown): void => void errors.push(error)
  const feePayer = Signer.fromSeed(sponsor.seed)
  const facilitator = new Facilitator({ chains: [chain], feePayer, pollMs: 10, onError, ...options.facilitator })
  t.after(() => facilitator.stop())
  proxy.calls.length = 0
  return { devnet, proxy, chain, facilitator, buyer, seller, sponsor, errors }
}

export function requirementsOf({ chain, seller, sponsor }: Market, change: object = {}): PaymentRequirements {
  const plain = { scheme: 'exact', network: chain.caip2, amount: `${price}`, asset: `${usdc}`, payTo: seller.address }
  return { ...plain, maxTimeoutSeconds: 60, extra: { feePayer: sponsor.address }, ...change } as PaymentRequirements
}

export function transferOf(market: Market, change: Partial<Tx> = {}): Tx {
  const { buyer, seller } = market
  const plain = { type: 'axfer', snd: buyer.publicKey, arcv: seller.publicKey, aamt: price, xaid: usdc }
  return { ...commonOf(market), ...plain, note: randomBytes(8), ...change } as Tx
}

export function feePaymentOf(market: Market, change: Partial<Tx> = {}): Tx {
  const { publicKey } = market.sponsor
  return {
    ...commonOf(market),
    type: 'pay',
    snd: publicKey,
    rcv: publicKey,
    fee: 2_000n,
    note: randomBytes(8),
    ...change,
  } as Tx
}

function commonOf({ devnet, chain }: Market): Partial<Tx> {
  const fv = devnet.round === 0n ? undefined : devnet.round
  return { fv, lv: devnet.round + 200n, gh: chain.genesisHash, gen: devnet.genesisId }
}

export function sign(txn: Tx, { publicKey, secretKey }: Account): Uint8Array {
  const sig = Ed25519.sign(Transaction.bytesToSign(Submission.transactionBytes(txn)), secretKey)
  const isOwn = Buffer.from(txn.snd).equals(Buffer.from(publicKey))
  return Submission.encode(isOwn ? { txn, sig } : { txn, sig, sgnr: publicKey })
}

export type Made = { payload: PaymentPayload; requirements: PaymentRequirements; id: string }

export type Member = { txn: Tx; by?: Account }

/** Builds a group of these transactions, each signed if it has a signer; `paymentIndex` is the payment. */
export function groupOf(market: Market, members: readonly Member[], paymentIndex: number): Made {
  const txns = members.length === 1 ? members.map(({ txn }) => txn) : Group.assign(members.map(({ txn }) => txn))
  const bytes = txns.map((txn, index) => {
    const { by } = members[index]!
    return by === undefined ? Submission.transactionBytes(txn) : sign(txn, by)
  })
  return made(market, bytes, paymentIndex, txns[paymentIndex]!)
}

export function made(
  market: Market,
  members: readonly (Uint8Array | string)[],
  paymentIndex: number,
  payment: Tx,
): Made {
  const requirements = requirementsOf(market)
  const texts = members.map((one) => (typeof one === 'string' ? one : Buffer.from(one).toString('base64')))
  const payload = { x402Version: 2, accepted: requirements, payload: { paymentGroup: texts, paymentIndex } }
  const id = Transaction.id(Submission.transactionBytes(payment))
  return { payload: payload as unknown as PaymentPayload, requirements, id }
}

/** Returns the usual payment with some changes. */
export function sponsored(market: Market, change: Partial<Tx> = {}, feeChange: Partial<Tx> = {}): Made {
  const members = [{ txn: feePaymentOf(market, feeChange) }, { txn: transferOf(market, change), by: market.buyer }]
  return groupOf(market, members, 1)
}

export async function verify({ facilitator }: Market, { payload, requirements }: Made): Promise<string> {
  const { isValid, invalidReason } = await facilitator.verify(payload, requirements)
  return isValid ? 'valid' : invalidReason!
}

export async function settle({ facilitator }: Market, { payload, requirements }: Made): Promise<string> {
  const { success, errorReason } = await facilitator.settle(payload, requirements)
  return success ? 'settled' : errorReason!
}

/** Returns the balances that an attack would change. */
export async function possessions({ devnet, sponsor, seller }: Market): Promise<{ sponsor: bigint; seller: bigint }> {
  const account = async (address: string) =>
    (await (await fetch(`${devnet.url}/v2/accounts/${address}`)).json()) as { amount: number; assets: Holding[] }
  const [first, second] = await Promise.all([account(sponsor.address), account(seller.address)])
  const dollars = second.assets.find((holding) => BigInt(holding['asset-id']) === usdc)
  return { sponsor: BigInt(first.amount), seller: BigInt(dollars!.amount) }
}

type Holding = { 'asset-id': number; amount: number }

export async function submit({ devnet }: Market, ...members: Uint8Array[]): Promise<{ status: number; text: string }> {
  const result = await fetch(`${devnet.url}/v2/transactions`, { method: 'POST', body: Buffer.concat(members) })
  return { status: result.status, text: await result.text() }
}
