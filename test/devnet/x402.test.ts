/**
 * Tests the unmodified published x402 packages for Algorand, with the devnet in place of TestNet. The packages know no
 * other network by name, and request the dollar by its asset id on TestNet.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { Devnet, DevnetOptions } from '@latchkey/devnet'
import { ALGORAND_TESTNET_CAIP2, toClientAvmSigner, toFacilitatorAvmSigner, USDC_TESTNET_ASA_ID } from '@x402/avm'
import { ExactAvmScheme as ClientScheme } from '@x402/avm/exact/client'
import { ExactAvmScheme as FacilitatorScheme } from '@x402/avm/exact/facilitator'
import { ExactAvmScheme as ServerScheme } from '@x402/avm/exact/server'
import { x402Facilitator } from '@x402/core/facilitator'
import {
  type HTTPAdapter,
  HTTPFacilitatorClient,
  type HTTPRequestContext,
  x402HTTPResourceServer,
  x402ResourceServer,
} from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch'
import * as algosdk from 'algosdk'
import { clientOf, startDevnet } from './start.test.helper.js'

const timeout = 300_000
const network = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'
const dollar = 10458941n
const price = '$0.01'
const cent = 10_000n

type Market = {
  devnet: Devnet
  algod: algosdk.Algodv2
  buyer: algosdk.Account
  seller: algosdk.Account
  sponsor: algosdk.Account
  client: ClientScheme
  facilitator: x402Facilitator
}

/**
 * Sets up a buyer with a dollar and no spare Algos, a seller that is opted in, and a facilitator with Algos for fees.
 */
async function openMarket(t: TestContext, options: DevnetOptions = {}): Promise<Market> {
  const devnet = await startDevnet(t, options)
  const [buyer, seller, sponsor] = [algosdk.generateAccount(), algosdk.generateAccount(), algosdk.generateAccount()]
  devnet.fund(String(buyer.addr), { microDollars: 1_000_000n })
  devnet.optIn(String(seller.addr), dollar)
  devnet.fund(String(sponsor.addr), { microAlgos: 1_000_000n })
  const client = clientFor(devnet, buyer)
  const signer = toFacilitatorAvmSigner(secretOf(sponsor), { testnetUrl: devnet.url })
  const facilitator = new x402Facilitator().register(network, new FacilitatorScheme(signer))
  return { devnet, algod: clientOf(devnet), buyer, seller, sponsor, client, facilitator }
}

function clientFor({ url }: Devnet, account: algosdk.Account): ClientScheme {
  return new ClientScheme(toClientAvmSigner(secretOf(account)), { algodUrl: url })
}

function secretOf({ sk }: algosdk.Account): string {
  return Buffer.from(sk).toString('base64')
}

/** Builds requirements as a server does, from a price and the facilitator's supported kinds. */
async function requirementsFor({ seller, facilitator }: Market): Promise<PaymentRequirements> {
  const scheme = new ServerScheme()
  const { asset, amount } = await scheme.parsePrice(price, network)
  const [kind] = facilitator.getSupported().kinds
  const bare = { scheme: 'exact', network, asset, amount, payTo: String(seller.addr), maxTimeoutSeconds: 60, extra: {} }
  return scheme.enhancePaymentRequirements(bare as PaymentRequirements, { ...kind!, network }, [])
}

async function pay(client: ClientScheme, requirements: PaymentRequirements): Promise<PaymentPayload> {
  const { x402Version, payload } = await client.createPaymentPayload(2, requirements)
  return {
    x402Version,
    payload,
    accepted: requirements,
    resource: { url: 'http://127.0.0.1/weather' },
  } as PaymentPayload
}

type Possessions = { algos: bigint; dollars: bigint | undefined }

async function possessions({ algod }: Market, { addr }: algosdk.Account): Promise<Possessions> {
  const { amount, assets } = await algod.accountInformation(addr).do()
  return { algos: amount, dollars: assets?.find(({ assetId }) => assetId === dollar)?.amount }
}

async function everybody(market: Market) {
  const [buyer, seller, sponsor] = await Promise.all(
    [market.buyer, market.seller, market.sponsor].map((account) => possessions(market, account)),
  )
  return { buyer: buyer!, seller: seller!, sponsor: sponsor! }
}

const atFirst = {
  buyer: { algos: 300_000n, dollars: 1_000_000n },
  seller: { algos: 200_000n, dollars: 0n },
  sponsor: { algos: 1_000_000n, dollars: undefined },
}

/** One cent moved, and the sponsor paid two fees. */
const afterOnePayment = {
  buyer: { algos: 300_000n, dollars: 1_000_000n - cent },
  seller: { algos: 200_000n, dollars: cent },
  sponsor: { algos: 998_000n, dollars: undefined },
}

test("a price in dollars uses the devnet's asset", { timeout }, async (t) => {
  const market = await openMarket(t)
  assert.deepEqual([ALGORAND_TESTNET_CAIP2, USDC_TESTNET_ASA_ID], [network, String(dollar)])
  const requirements = await requirementsFor(market)
  assert.deepEqual([requirements.asset, requirements.amount], [String(dollar), String(cent)])
  assert.deepEqual(requirements.extra, { feePayer: String(market.sponsor.addr) })
  const { params } = await market.algod.getAssetByID(dollar).do()
  assert.deepEqual([params?.decimals, params?.unitName], [6, 'USDC'])
  assert.deepEqual(await everybody(market), atFirst)
})

test('a sponsored payment is verified and settled', { timeout }, async (t) => {
  const market = await openMarket(t)
  const { algod, buyer, client, facilitator, sponsor } = market
  const requirements = await requirementsFor(market)
  const payment = await pay(client, requirements)
  const verified = await facilitator.verify(payment, requirements)
  assert.deepEqual([verified.isValid, verified.payer], [true, String(buyer.addr)])
  assert.deepEqual(await everybody(market), atFirst, 'verifying costs nothing')

  const settled = await facilitator.settle(payment, requirements)
  assert.deepEqual([settled.success, settled.payer, settled.network], [true, String(buyer.addr), network])
  assert.deepEqual(await everybody(market), afterOnePayment)
  const { confirmedRound, txn } = await algod.pendingTransactionInformation(settled.transaction).do()
  assert.deepEqual([confirmedRound, txn.txn.fee, txn.txn.assetTransfer?.amount], [1n, 0n, cent])
  const { block } = await algod.block(1).do()
  const [fee, transfer] = block.payset.map(({ signedTxn }) => signedTxn.signedTxn.txn)
  assert.deepEqual([String(fee!.sender), fee!.fee, fee!.payment?.amount], [String(sponsor.addr), 2_000n, 0n])
  assert.equal(String(transfer!.sender), String(buyer.addr))
})

test('settles a payment with blocks at an interval', { timeout }, async (t) => {
  const market = await openMarket(t, { blocks: { everyMs: 50 } })
  const requirements = await requirementsFor(market)
  const payment = await pay(market.client, requirements)
  const settled = await market.facilitator.settle(payment, requirements)
  assert.equal(settled.success, true)
  assert.deepEqual(await everybody(market), afterOnePayment)
})

test("a buyer without funds gets the node's message", { timeout }, async (t) => {
  const market = await openMarket(t)
  const { devnet, facilitator } = market
  const requirements = await requirementsFor(market)
  const poor = algosdk.generateAccount()
  devnet.fund(String(poor.addr), { assets: [{ assetId: dollar, amount: cent - 1n }] })
  const verified = await facilitator.verify(await pay(clientFor(devnet, poor), requirements), requirements)
  assert.deepEqual([verified.isValid, verified.invalidReason], [false, 'invalid_exact_avm_simulation_failed'])
  assert.match(verified.invalidMessage!, /underflow on subtracting 10000 from sender amount 9999/)

  const outsider = clientFor(devnet, algosdk.generateAccount())
  const refused = await facilitator.settle(await pay(outsider, requirements), requirements)
  assert.deepEqual([refused.success, refused.errorReason], [false, 'invalid_exact_avm_simulation_failed'])
  assert.match(refused.errorMessage!, /asset 10458941 missing from/)
  assert.equal(devnet.round, 0n)
})

test("a seller that is not opted in gets the node's message", { timeout }, async (t) => {
  const market = await openMarket(t)
  const payTo = String(algosdk.generateAccount().addr)
  const requirements = { ...(await requirementsFor(market)), payTo }
  const verified = await market.facilitator.verify(await pay(market.client, requirements), requirements)
  assert.equal(verified.isValid, false)
  assert.match(verified.invalidMessage!, /receiver error: must optin, asset 10458941 missing from/)
})

test('settling twice pays once', { timeout }, async (t) => {
  const market = await openMarket(t)
  const { client, facilitator } = market
  const requirements = await requirementsFor(market)
  const payment = await pay(client, requirements)
  assert.equal((await facilitator.settle(payment, requirements)).success, true)
  const again = await facilitator.settle(payment, requirements)
  assert.deepEqual([again.success, again.errorReason], [false, 'invalid_exact_avm_simulation_failed'])
  assert.match(again.errorMessage!, /transaction already in ledger/)
  assert.deepEqual(await everybody(market), afterOnePayment)
})

test('settling twice at the same time pays once', { timeout }, async (t) => {
  const market = await openMarket(t)
  const { client, facilitator } = market
  const requirements = await requirementsFor(market)
  const payment = await pay(client, requirements)
  const both = await Promise.all([1, 2].map(() => facilitator.settle(payment, requirements)))
  assert.equal(both.filter(({ success }) => success).length, 1)
  assert.deepEqual(await everybody(market), afterOnePayment)
})

test('a settlement without a response took effect, and is reported as failed', { timeout }, async (t) => {
  const market = await openMarket(t)
  const { algod, client, devnet, facilitator } = market
  const requirements = await requirementsFor(market)
  const payment = await pay(client, requirements)
  devnet.addFault({ type: 'drop', count: 1 })
  const settled = await facilitator.settle(payment, requirements)
  assert.deepEqual([settled.success, settled.errorReason], [false, 'invalid_exact_avm_settlement_failed'])
  assert.equal((await algod.pendingTransactionInformation(settled.transaction).do()).confirmedRound, 1n)
  assert.deepEqual(await everybody(market), afterOnePayment)
})

test('a page is requested, paid for and delivered', { timeout }, async (t) => {
  const market = await openMarket(t)
  const { algod, client, facilitator, seller } = market
  const facilitatorUrl = await listen(t, facilitatorApi(facilitator))
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }))
  server.register(network, new ServerScheme())
  const routes = {
    'GET /weather': { accepts: { scheme: 'exact', network, payTo: String(seller.addr), price } },
  } as const
  const http = new x402HTTPResourceServer(server, routes)
  await http.initialize()
  const url = `${await listen(t, shop(http))}/weather`

  const unpaid = await fetch(url)
  assert.equal(unpaid.status, 402)
  assert.ok(unpaid.headers.get('payment-required'))
  assert.deepEqual(await everybody(market), atFirst)

  const payingFetch = wrapFetchWithPayment(fetch, new x402Client().register(network, client))
  const paid = await payingFetch(url)
  assert.deepEqual([paid.status, await paid.json()], [200, { weather: 'fair' }])
  const { success, transaction } = decodePaymentResponseHeader(paid.headers.get('payment-response')!)
  assert.equal(success, true)
  assert.equal((await algod.pendingTransactionInformation(transaction).do()).confirmedRound, 1n)
  assert.deepEqual(await everybody(market), afterOnePayment)
})

/** Serves a facilitator over HTTP. */
function facilitatorApi(facilitator: x402Facilitator): RequestListener {
  type FacilitatorRequest = { paymentPayload: PaymentPayload; paymentRequirements: PaymentRequirements }
  return async (request, response) => {
    const paymentRequest = request.method === 'POST' ? ((await json(request)) as FacilitatorRequest) : undefined
    const result =
      paymentRequest === undefined
        ? facilitator.getSupported()
        : request.url === '/verify'
          ? await facilitator.verify(paymentRequest.paymentPayload, paymentRequest.paymentRequirements)
          : await facilitator.settle(paymentRequest.paymentPayload, paymentRequest.paymentRequirements)
    response.setHeader('content-type', 'application/json').end(JSON.stringify(result))
  }
}

/** Serves a shop that sells the weather. */
function shop(server: x402HTTPResourceServer): RequestListener {
  return async (request, response) => {
    const header = (name: string): string | undefined => request.headers[name.toLowerCase()]?.toString()
    const adapter: HTTPAdapter = {
      getHeader: header,
      getMethod: () => request.method!,
      getPath: () => request.url!,
      getUrl: () => `http://${request.headers.host}${request.url}`,
      getAcceptHeader: () => header('accept') ?? '',
      getUserAgent: () => header('user-agent') ?? '',
    }
    const context: HTTPRequestContext = { adapter, path: request.url!, method: request.method! }
    const paymentRequest = await server.processHTTPRequest(context)
    if (paymentRequest.type === 'payment-error') {
      response
        .writeHead(paymentRequest.response.status, paymentRequest.response.headers)
        .end(JSON.stringify(paymentRequest.response.body))
      return
    }
    assert.equal(paymentRequest.type, 'payment-verified')
    if (paymentRequest.type !== 'payment-verified') return
    const settled = await server.processSettlement(paymentRequest.paymentPayload, paymentRequest.paymentRequirements)
    const body = settled.success ? { weather: 'fair' } : { error: settled.errorMessage }
    response.writeHead(settled.success ? 200 : 402, settled.headers).end(JSON.stringify(body))
  }
}

async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
