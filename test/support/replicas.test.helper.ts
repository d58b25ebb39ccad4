/**
 * Conformance tests for two replicas of a shop on one claim store, with a ledger and a facilitator, in separate
 * processes.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import test from 'node:test'
import { Server } from '@latchkey/http'
import { decodeReceipt, decodeRequired, payingFetch } from '@latchkey/x402/client'
import { createFacilitatorHandler } from '@latchkey/x402/facilitator'
import { dollar, type Market, openMarket } from '../x402/support/market.test.helper.js'
import type { ShopSettings } from './shop-process.test.helper.js'

type Scope = { after: (work: () => unknown) => void }
type Shop = { readonly url: string; readonly child: ChildProcess; readonly handled: () => number }

const cent = 10_000n

async function openShops(
  t: Scope,
  market: Market,
  claims: string,
  killed: readonly ShopSettings['isKilled'][],
): Promise<Shop[]> {
  const server = new Server({ fetch: createFacilitatorHandler({ facilitator: market.facilitator }) })
  t.after(() => server.stop())
  const { port } = await server.listen('127.0.0.1', 0)
  const facilitator = `http://127.0.0.1:${port}`
  const common = { claims, node: market.devnet.url, dollar: String(dollar), facilitator, seller: market.seller }
  return Promise.all(killed.map((isKilled) => openShop(t, { ...common, isKilled })))
}

async function openShop(t: Scope, settings: ShopSettings): Promise<Shop> {
  const child = fork(new URL('./shop-process.test.helper.js', import.meta.url), [JSON.stringify(settings)])
  t.after(() => child.kill('SIGKILL'))
  let handled = 0
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the shop ended')))
    child.on('message', (message: { type: string; url?: string }) => {
      if (message.type === 'handled') handled++
      else resolve(message.url!)
    })
  })
  return { url, child, handled: () => handled }
}

/** Registers the tests of a store, given its address. */
export function replicasConformance(name: string, addressOf: () => Promise<string>): void {
  test(`${name}: a buyer whose replica is killed between handler and answer gets that answer from another`, async (t) => {
    const market = await openMarket(t)
    const shops = await openShops(t, market, await addressOf(), [true, false])
    const exited = once(shops[0]!.child, 'exit')
    /** Sends requests to the first replica while it runs, as a balancer would. */
    const balanced: typeof fetch = async (input, init) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      const isThere = shops[0]!.child.exitCode === null && shops[0]!.child.signalCode === null
      const response = await fetch(`${shops[isThere ? 0 : 1]!.url}${pathname}`, input instanceof Request ? input : init)
      // Without the address of the replica.
      return new Response(response.body, response)
    }
    const paying = payingFetch(market.buyer, { fetch: balanced })
    const response = await paying('http://shop.test/report')
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('x-pid'), String(shops[0]!.child.pid), 'the answer of the first')
    assert.match(await response.text(), /^[0-9a-f-]{36}$/)
    assert.deepEqual(await exited, [null, 'SIGKILL'])
    assert.deepEqual([shops[0]!.handled(), shops[1]!.handled()], [1, 0])
    assert.equal(await market.dollars(), cent)
  })

  test(`${name}: 64 parallel sends of one payment to two replicas open one answer`, async (t) => {
    const market = await openMarket(t)
    const shops = await openShops(t, market, await addressOf(), [false, false])
    const header = await market.payment(await fetch(`${shops[0]!.url}/report`))
    const send = async (_: unknown, index: number): Promise<number> => {
      const response = await fetch(`${shops[index % 2]!.url}/report`, { headers: { 'payment-signature': header } })
      await response.arrayBuffer()
      return response.status
    }
    const statuses = await Promise.all(Array.from({ length: 64 }, send))
    assert.equal(statuses.filter((status) => status === 200).length, 1, String(statuses))
    assert.deepEqual(
      [...new Set(statuses)].filter((status) => ![200, 402, 503].includes(status)),
      [],
    )
    assert.equal(shops[0]!.handled() + shops[1]!.handled(), 1)
    assert.equal(await market.dollars(), cent)
  })

  test(`${name}: eight fresh payments under one name, to two replicas, are charged once and served alike`, async (t) => {
    const market = await openMarket(t)
    const shops = await openShops(t, market, await addressOf(), [false, false])
    const paymentIdentifier = 'order-2026-11-17-0001'
    const headers = await freshPayments(market, shops, paymentIdentifier, 8)
    const answers = await Promise.all(headers.map((header, index) => send(shops[index % 2]!, header)))
    assert.deepEqual(
      answers.map(({ status }) => status),
      Array(8).fill(200),
    )
    assert.equal(new Set(answers.map(({ body }) => body)).size, 1, 'all get the first answer')
    assert.equal(new Set(answers.map(({ transaction }) => transaction)).size, 1, 'all get the first receipt')
    assert.equal(shops[0]!.handled() + shops[1]!.handled(), 1)
    assert.equal(await market.dollars(), cent)
  })

  test(`${name}: a fresh payment gets the answer of a replica that was killed between settlement and answer`, async (t) => {
    const market = await openMarket(t)
    const shops = await openShops(t, market, await addressOf(), ['settled', false])
    const exited = once(shops[0]!.child, 'exit')
    const [first, second] = await freshPayments(market, shops.slice(1), 'order-2026-11-17-0002', 2)
    await assert.rejects(send(shops[0]!, first!))
    assert.deepEqual(await exited, [null, 'SIGKILL'])
    assert.equal(await market.dollars(), cent, 'it is settled')
    const answer = await send(shops[1]!, second!)
    assert.equal(answer.status, 200)
    assert.match(answer.body, /^[0-9a-f-]{36}$/)
    assert.deepEqual([shops[0]!.handled(), shops[1]!.handled()], [1, 0])
    assert.equal(await market.dollars(), cent)
  })
}

async function freshPayments(
  { buyer }: Market,
  [shop]: readonly Shop[],
  paymentIdentifier: string,
  count: number,
): Promise<string[]> {
  const unpaid = await fetch(`${shop!.url}/report`)
  const required = decodeRequired(unpaid.headers.get('payment-required')!)
  const headers: string[] = []
  for (let index = 0; index < count; index++) headers.push((await buyer.pay(required, { paymentIdentifier })).header)
  assert.equal(new Set(headers).size, count)
  return headers
}

async function send({ url }: Shop, header: string): Promise<{ status: number; body: string; transaction: string }> {
  const response = await fetch(`${url}/report`, { headers: { 'payment-signature': header } })
  const receipt = response.headers.get('payment-response')
  const transaction = receipt === null ? '' : decodeReceipt(receipt).transaction
  return { status: response.status, body: await response.text(), transaction }
}
