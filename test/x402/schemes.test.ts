/** Runs the code of the README, and our scheme in the published packages, on a local network. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Network } from '@latchkey/algorand'
import type { Devnet } from '@latchkey/devnet'
import { newestModules, setSettlementOverrides } from '@latchkey/published'
import { decodeReceipt } from '@latchkey/x402/client'
import {
  AlgorandClientScheme,
  AlgorandFacilitatorScheme,
  AlgorandServerScheme,
  Chain,
  Signer,
} from '@latchkey/x402/schemes'
import type { x402Facilitator } from '@x402/core/facilitator'
import * as algosdk from 'algosdk'
import express, { type RequestHandler } from 'express'
import { clientOf, startDevnet } from '../devnet/start.test.helper.js'
import { publishedPackagesBlocks, readmeBlock, run } from './readme.test.helper.js'
import { asListener, facilitatorApi, keyOf, listen, possessions, type Trade } from './trade.test.helper.js'

const timeout = 60_000
const dollar = 31566704n
const cent = 10_000n
type NetworkId = `${string}:${string}`

type Local = Omit<Trade, 'chain'> & { env: { [name: string]: string }; words: (account: algosdk.Account) => string }

/** Opens a local network with funded accounts. */
async function openLocal(t: TestContext): Promise<Local> {
  const devnet = await startDevnet(t)
  const [buyer, seller, sponsor] = [algosdk.generateAccount(), algosdk.generateAccount(), algosdk.generateAccount()]
  devnet.fund(String(buyer.addr), { assets: [{ assetId: dollar, amount: 1_000_000n }] })
  devnet.optIn(String(seller.addr), dollar)
  devnet.fund(String(sponsor.addr), { microAlgos: 1_000_000n })
  const env = { ALGOD_URL: devnet.url, AVM_ADDRESS: String(seller.addr) }
  const words = ({ sk }: algosdk.Account): string => algosdk.secretKeyToMnemonic(sk)
  return { devnet, algod: clientOf(devnet), buyer, seller, sponsor, env, words }
}

function networkOf({ genesisHash }: Devnet): string {
  return Network.caip2(genesisHash)
}

test('every block has at most ten lines', () => {
  const own = ['Buying', 'Selling', 'Facilitating'].map(readmeBlock)
  const published = publishedPackagesBlocks()
  assert.equal(published.length, 3)
  for (const block of [...own, ...published]) {
    assert.ok(block.split('\n').filter((line) => line !== '').length <= 10, block)
  }
})

test('our scheme in the published packages, with one import and one line', async (t) => {
  const [fetchBlock, expressBlock, facilitatorBlock] = publishedPackagesBlocks() as [string, string, string]

  await t.test('each block has exactly one import and one registration', () => {
    for (const block of [fetchBlock, expressBlock, facilitatorBlock]) {
      assert.equal(block.match(/^import .*@latchkey/gm)?.length, 1)
      assert.equal(block.match(/^\w+\.register\(/gm)?.length, 1)
    }
  })

  await t.test('a payment goes through on a local network', { timeout }, async (t) => {
    const local = await openLocal(t)
    const { algod, devnet, buyer, sponsor, env, words } = local
    const asSponsor = { ...env, AVM_MNEMONIC: words(sponsor) }
    const { facilitator } = await run(t, facilitatorBlock, asSponsor, 'facilitator')
    const FACILITATOR_URL = await listen(t, facilitatorApi(facilitator as x402Facilitator))

    const { middleware } = await run(t, expressBlock, { ...env, FACILITATOR_URL }, 'middleware')
    const app = express()
    app.use(middleware as RequestHandler)
    app.get('/weather', (_, response) => void response.json({ weather: 'sunny' }))
    const url = `${await listen(t, app)}/weather`

    const before = await possessions(local, dollar)
    const { pay } = await run(t, fetchBlock, { ...env, AVM_MNEMONIC: words(buyer) }, 'pay')
    const paid = await (pay as typeof fetch)(url)
    assert.deepEqual([paid.status, await paid.json()], [200, { weather: 'sunny' }])
    const receipt = JSON.parse(Buffer.from(paid.headers.get('payment-response')!, 'base64').toString())
    assert.deepEqual([receipt.success, receipt.network], [true, networkOf(devnet)])
    assert.ok((await algod.pendingTransactionInformation(receipt.transaction).do()).confirmedRound! > 0n)
    const after = await possessions(local, dollar)
    assert.deepEqual(after.buyer, [before.buyer[0], before.buyer[1]! - cent])
    assert.deepEqual(after.seller, [before.seller[0], cent])
    assert.equal(after.sponsor[0], before.sponsor[0] - 2_000n)
  })

  await t.test('the payment is recorded as settled', { timeout }, async (t) => {
    const local = await openLocal(t)
    const { buyer, sponsor, env, words } = local
    const { facilitator } = await run(t, facilitatorBlock, { ...env, AVM_MNEMONIC: words(sponsor) }, 'facilitator')
    const FACILITATOR_URL = await listen(t, facilitatorApi(facilitator as x402Facilitator))
    const { middleware } = await run(t, expressBlock, { ...env, FACILITATOR_URL }, 'middleware')
    const url = await listen(
      t,
      express().use(middleware as RequestHandler, (_, response) => void response.json({})),
    )
    const named = fetchBlock.replace('new AlgorandClientScheme(', 'globalThis.scheme = new AlgorandClientScheme(')
    const { pay } = await run(t, named, { ...env, AVM_MNEMONIC: words(buyer) }, 'pay')
    assert.equal((await (pay as typeof fetch)(`${url}/weather`)).status, 200)
    const { payments } = (globalThis as unknown as { scheme: AlgorandClientScheme }).scheme.buyer
    assert.deepEqual(
      payments.all().map(({ state, microDollars }) => [state, microDollars]),
      [['settled', '10000']],
    )
  })
})

test('A15 our schemes in the newest published packages, with both ids of the network', { timeout }, async (t) => {
  const local = await openLocal(t)
  const { devnet, buyer, seller, sponsor } = local
  const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId: dollar })
  const { x402Facilitator, x402ResourceServer, HTTPFacilitatorClient, expressMiddleware, x402Client, pay } =
    newestModules
  const scheme = new AlgorandFacilitatorScheme({ chains: [chain], feePayer: Signer.fromSecretKey(keyOf(sponsor)) })
  const facilitator = new x402Facilitator().register([...chain.ids] as NetworkId[], scheme)
  const url = await listen(t, facilitatorApi(facilitator))
  for (const network of chain.ids as readonly NetworkId[]) {
    const server = new x402ResourceServer(new HTTPFacilitatorClient({ url }))
    server.register('algorand:*', new AlgorandServerScheme({ chains: chain }))
    const accepts = { scheme: 'exact', network, price: '$0.01', payTo: String(seller.addr) }
    const app = express().use(expressMiddleware({ 'GET /weather': { accepts } }, server))
    app.get('/weather', (_, response) => void response.json({ weather: 'sunny' }))
    const signer = Signer.fromSecretKey(keyOf(buyer))
    const client = new x402Client().register('algorand:*', new AlgorandClientScheme({ signer, chains: chain }))
    const before = await possessions(local, dollar)
    const paid = await pay(client)(`${await listen(t, app)}/weather`)
    assert.deepEqual([paid.status, await paid.json()], [200, { weather: 'sunny' }])
    assert.equal(decodeReceipt(paid.headers.get('payment-response')!).network, network)
    assert.equal((await possessions(local, dollar)).buyer[1], before.buyer[1]! - cent)
  }
})

test('a price by usage in the newest published packages, charged with setSettlementOverrides', {
  timeout,
}, async (t) => {
  const local = await openLocal(t)
  const { devnet, buyer, seller, sponsor } = local
  const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId: dollar })
  const { x402Facilitator, x402ResourceServer, HTTPFacilitatorClient, expressMiddleware, x402Client, pay } =
    newestModules
  const feePayer = Signer.fromSecretKey(keyOf(sponsor))
  const scheme = new AlgorandFacilitatorScheme({ chains: [chain], feePayer, scheme: 'upto' })
  const facilitator = new x402Facilitator().register([...chain.ids] as NetworkId[], scheme)
  const url = await listen(t, facilitatorApi(facilitator))
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url }))
  server.register('algorand:*', new AlgorandServerScheme({ chains: chain, scheme: 'upto' }))
  const network = chain.caip2 as NetworkId
  const accepts = { scheme: 'upto', network, price: '$0.50', payTo: String(seller.addr) }
  for (const [amount, charged] of [
    ['13200', 13_200n],
    ['10%', 50_000n],
    ['$0.05', 50_000n],
  ] as const) {
    const app = express().use(expressMiddleware({ 'GET /model': { accepts } }, server))
    app.get('/model', (_, response) => {
      setSettlementOverrides(response, { amount })
      response.json({ answer: 42 })
    })
    const signer = Signer.fromSecretKey(keyOf(buyer))
    const own = new AlgorandClientScheme({ signer, chains: chain, scheme: 'upto' })
    const client = new x402Client().register('algorand:*', own)
    const before = await possessions(local, dollar)
    const paid = await pay(client)(`${await listen(t, app)}/model`)
    assert.deepEqual([paid.status, await paid.json()], [200, { answer: 42 }])
    assert.equal(paid.headers.get('settlement-overrides'), null)
    const receipt = decodeReceipt(paid.headers.get('payment-response')!)
    assert.deepEqual([receipt.success, receipt.amount], [true, `${charged}`])
    const after = await possessions(local, dollar)
    assert.equal(after.buyer[1], before.buyer[1]! - charged)
    assert.equal(after.seller[1], before.seller[1]! + charged)
    assert.equal(own.buyer.payments.all()[0]!.charge?.amount, `${charged}`)
  }
})

test('our packages alone: buying, selling and facilitating', { timeout }, async (t) => {
  const local = await openLocal(t)
  const { algod, buyer, sponsor, env, words } = local
  const [buying, selling, facilitating] = ['Buying', 'Selling', 'Facilitating'].map(readmeBlock)

  const STORE = join(tmpdir(), `latchkey-readme-${process.pid}.db`)
  const asSponsor = { ...env, AVM_MNEMONIC: words(sponsor), STORE, PORT: '0' }
  const facilitated = await run(t, facilitating!, asSponsor, 'server', 'facilitator')
  const server = facilitated.server as Server
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await (facilitated.facilitator as { stop: () => Promise<void> }).stop()
    for (const end of ['', '-wal', '-shm']) rmSync(STORE + end, { force: true })
  })
  if (!server.listening) await once(server, 'listening')
  const FACILITATOR_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const { shop } = await run(t, selling!, { ...env, FACILITATOR_URL }, 'shop')
  const SHOP_URL = `${await listen(t, asListener(shop as { fetch: (request: Request) => Promise<Response> }))}/weather`

  const lines: unknown[][] = []
  t.mock.method(console, 'log', (...line: unknown[]) => lines.push(line))
  const asBuyer = { ...env, AVM_MNEMONIC: words(buyer), SHOP_URL }
  const { response } = await run(t, buying!, asBuyer, 'response')
  assert.equal((response as Response).status, 200)
  const [[status, report, receipt]] = lines as [[number, object, { success: boolean; transaction: string }]]
  assert.deepEqual([status, report, receipt.success], [200, { weather: 'sunny' }, true])
  const { txn } = await algod.pendingTransactionInformation(receipt.transaction).do()
  assert.equal(txn.txn.assetTransfer?.amount, cent)
})
