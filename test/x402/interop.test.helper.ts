/**
 * Makes payments between a buyer, a seller and a facilitator, each ours or from published packages, in all
 * combinations.
 */
import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import type { TestContext } from 'node:test'
import { Network } from '@latchkey/algorand'
import { Server } from '@latchkey/http'
import { type Family, report, type Setting } from '@latchkey/published'
import { Buyer, decodeReceipt, payingFetch, Signer } from '@latchkey/x402/client'
import { paymentGate } from '@latchkey/x402/express'
import { createFacilitatorHandler, Facilitator } from '@latchkey/x402/facilitator'
import { Gate } from '@latchkey/x402/server'
import express from 'express'
import { asListener, cent, facilitatorApi, keyOf, listen, possessions, price, type Trade } from './trade.test.helper.js'

const timeout = 120_000

/** Returns the address of a facilitator, and of a seller. */
export type Facilitates = (t: TestContext, trade: Trade) => Promise<string>
export type Sells = (t: TestContext, trade: Trade, facilitatorUrl: string) => Promise<string>
/** Pays for a request to the URL and returns the response. */
export type Buys = (trade: Trade, url: string) => Promise<PaidResponse>

/** The parts of a `Response` that are checked. */
export type PaidResponse = { status: number; body: string; receipt: string | null | undefined }

export type Parties = {
  buyers: { [whose: string]: Buys }
  sellers: { [whose: string]: Sells }
  facilitators: { [whose: string]: Facilitates }
}

export const ours: Parties = {
  buyers: {
    ours: ({ chain, buyer }, url) =>
      paidBy(payingFetch(new Buyer({ signer: Signer.fromSecretKey(keyOf(buyer)), chains: chain })), url),
  },
  sellers: {
    ours: async (t, { chain, seller }, facilitatorUrl) => {
      const accepts = { network: chain.caip2, price, payTo: String(seller.addr) }
      const routes = { 'GET /weather': { accepts } }
      const gate = await Gate.open({ routes, facilitators: facilitatorUrl, chains: chain })
      const app = express()
      app.use(paymentGate(gate))
      app.get('/weather', (_, response) => void response.json(report))
      return listen(t, app)
    },
  },
  facilitators: {
    ours: async (t, { chain, sponsor }) => {
      const facilitator = new Facilitator({ chains: [chain], feePayer: Signer.fromSecretKey(keyOf(sponsor)) })
      const server = new Server({ fetch: createFacilitatorHandler({ facilitator }) })
      const { port } = await server.listen('127.0.0.1', 0)
      t.after(async () => {
        await server.stop()
        await facilitator.stop()
      })
      return `http://127.0.0.1:${port}`
    },
  },
}

async function paidBy(pay: typeof fetch, url: string): Promise<PaidResponse> {
  const response = await pay(url)
  return { status: response.status, body: await response.text(), receipt: response.headers.get('payment-response') }
}

export function settingOf({ devnet, seller, buyer, sponsor }: Trade, network: string): Setting {
  const keys = { buyerKey: keyOf(buyer), sponsorKey: keyOf(sponsor) }
  return { network, algodUrl: devnet.url, price, sellerAddress: String(seller.addr), ...keys }
}

/** Returns published packages configured with one of the network's ids. */
export function partiesOf({ buyers, sellers, facilitator }: Family, network: string): Parties {
  const listenerOf = (app: ReturnType<(typeof sellers)[string]>): RequestListener =>
    'fetch' in app ? asListener(app) : app
  return {
    buyers: Object.fromEntries(
      Object.entries(buyers).map(([name, buys]) => [
        name,
        (trade, url) => paidBy(buys(settingOf(trade, network)), url),
      ]),
    ),
    sellers: Object.fromEntries(
      Object.entries(sellers).map(([name, sells]) => [
        name,
        (t, trade, url) => listen(t, listenerOf(sells(settingOf(trade, network), url))),
      ]),
    ),
    facilitators: { theirs: (t, trade) => listen(t, facilitatorApi(facilitator(settingOf(trade, network)))) },
  }
}

export type TradeOptions = {
  /** Opens the devnet of all payments. */
  open: (t: TestContext) => Promise<Trade>
  /** Whether their seller's receipt names the first transaction of the group, as their facilitator does. */
  namesFirst?: boolean
}

/**
 * Makes one payment in each combination. Each facilitator is started once, and each seller once for each facilitator,
 * because a Python program takes longer to start than to trade.
 */
export async function tradeInAllCombinations(
  t: TestContext,
  theirs: Parties,
  { open, namesFirst = false }: TradeOptions,
): Promise<void> {
  const market = await open(t)
  for (const [settled, facilitates] of Object.entries({ ...ours.facilitators, ...theirs.facilitators })) {
    const facilitatorUrl = await facilitates(t, market)
    for (const [sold, sells] of Object.entries({ ...ours.sellers, ...theirs.sellers })) {
      const url = `${await sells(t, market, facilitatorUrl)}/weather`
      const isFirst = namesFirst && sold !== 'ours' && settled !== 'ours'
      for (const [bought, buys] of Object.entries({ ...ours.buyers, ...theirs.buyers })) {
        await t.test(`${bought}, ${sold}, ${settled}`, { timeout }, () => tradeOnce(market, { buys, url, isFirst }))
      }
    }
  }
}

type Offer = { buys: Buys; url: string; isFirst: boolean }

async function tradeOnce(market: Trade, { buys, url, isFirst }: Offer): Promise<void> {
  const { algod, buyer, sponsor, chain } = market
  const before = await possessions(market)

  const unpaid = await fetch(url)
  assert.equal(unpaid.status, 402)
  await unpaid.text()
  assert.deepEqual(await possessions(market), before)

  const paid = await buys(market, url)
  assert.equal(paid.status, 200, paid.body)
  assert.deepEqual(JSON.parse(paid.body), report)
  const receipt = decodeReceipt(paid.receipt!)
  assert.deepEqual([receipt.success, receipt.payer], [true, String(buyer.addr)])
  assert.ok(Network.matches(receipt.network!, chain.caip2), receipt.network)
  const { confirmedRound, txn } = await algod.pendingTransactionInformation(receipt.transaction).do()
  assert.ok(confirmedRound! > 0n)
  if (isFirst) assert.deepEqual([String(txn.txn.sender), txn.txn.fee], [String(sponsor.addr), 2_000n])
  else assert.deepEqual([txn.txn.assetTransfer?.amount, txn.txn.fee], [cent, 0n])
  const after = await possessions(market)
  assert.deepEqual(after.buyer, [before.buyer[0], before.buyer[1]! - cent], 'a cent, and no fee')
  assert.deepEqual(after.seller, [before.seller[0], before.seller[1]! + cent])
  assert.deepEqual(after.sponsor[0], before.sponsor[0] - 2_000n, `${sponsor.addr} pays both fees`)
}
