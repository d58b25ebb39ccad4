/** A request that is aborted after its payment was sent names the payment, and the next try sends the same one. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Buyer, decodePayment, LostResponseError, payingFetch } from '@latchkey/x402/client'
import { FilePayments } from '@latchkey/x402/file'
import { paymentGate } from '@latchkey/x402/node'
import { temporaryDirectory, until } from '../../process/commands.test.helper.js'
import { latchkeyCommand } from '../../support/devnet.test.helper.js'
import { missingProgram } from '../../support/programs.test.helper.js'
import { altered, dollar, type Market, openMarket } from '../support/market.test.helper.js'
import { listen } from '../support/shops.test.helper.js'
import { askFor, encoded, openSeller, openShopper, priceOf, type Seller, take } from './support/sellers.test.helper.js'

const timeout = 120_000
const price = 10_000n

function serve(response: ServerResponse, transaction: string, network: string): void {
  const receipt = encoded({ success: true, transaction, network })
  response.writeHead(200, { 'PAYMENT-RESPONSE': receipt }).end('goods')
}

/** Takes the money, and responds only from the third paid request on. */
async function openSlow(t: TestContext, market: Market, silent = 2): Promise<Seller> {
  const seller: Seller = await openSeller(t, async (payment, response) => {
    if (payment === undefined) return askFor(response, [priceOf(market)])
    const transaction = await take(market, payment)
    if (seller.payments.length > silent) serve(response, transaction, market.chain.caip2)
  })
  return seller
}

async function lostOf(promise: Promise<unknown>): Promise<LostResponseError> {
  let caught: unknown
  await promise.catch((error: unknown) => {
    caught = error
  })
  assert.ok(caught instanceof LostResponseError, `${caught}`)
  return caught
}

/** Aborts once the seller has the payment. */
function giveUpWhenPaid(seller: Seller, count: number): AbortSignal {
  const controller = new AbortController()
  void until(`payment ${count}`, () => seller.payments.length === count).then(() => {
    controller.abort(new DOMException('too slow', 'TimeoutError'))
  })
  return controller.signal
}

test('A5 three tries with a time limit are one charge', { timeout }, async (t) => {
  const market = await openMarket(t)
  const seller = await openSlow(t, market)
  const buyer = market.newBuyer()
  const pay = payingFetch(buyer)
  for (const count of [1, 2]) {
    const lost = await lostOf(pay(seller.url, { signal: giveUpWhenPaid(seller, count) }))
    const [payment] = buyer.payments.all()
    assert.equal((lost.cause as Error).name, 'TimeoutError')
    assert.equal(lost.transactionId, payment!.transactionId)
    assert.deepEqual(decodePayment(lost.header).payload, seller.payments[0]!.payload)
    assert.match(lost.message, /no response arrived; the payment [A-Z2-7]{52} was sent and may still be settled/)
  }
  const response = await pay(seller.url)
  assert.equal(await response.text(), 'goods')
  assert.deepEqual([seller.payments.length, seller.ids.size, buyer.payments.all().length], [3, 1, 1])
  assert.equal(await market.dollars(), price)
  // The payment is answered, so the next request is a new purchase.
  assert.equal(await (await pay(seller.url)).text(), 'goods')
  assert.deepEqual([seller.ids.size, await market.dollars()], [2, 2n * price])
})

test('A5 AbortSignal.timeout during the settlement throws an error with the payment', { timeout }, async (t) => {
  const market = await openMarket(t)
  const seller = await openSlow(t, market, Number.POSITIVE_INFINITY)
  const lost = await lostOf(payingFetch(market.newBuyer())(seller.url, { signal: AbortSignal.timeout(3_000) }))
  assert.deepEqual([(lost.cause as Error).name, lost.header.length > 0], ['TimeoutError', true])
})

test('A5 before anything is signed, the abort reason stays unchanged', { timeout }, async (t) => {
  const market = await openMarket(t)
  const controller = new AbortController()
  const seller = await openSeller(t, () => controller.abort(new DOMException('too slow', 'TimeoutError')))
  const buyer = market.newBuyer()
  await assert.rejects(payingFetch(buyer)(seller.url, { signal: controller.signal }), { name: 'TimeoutError' })
  assert.deepEqual(buyer.payments.all(), [])
})

test('A5 a body that stalls or breaks off is requested again with the same payment', { timeout }, async (t) => {
  const market = await openMarket(t)
  for (const how of ['stalls', 'breaks off']) {
    const seller: Seller = await openSeller(t, async (payment, response) => {
      if (payment === undefined) return askFor(response, [priceOf(market)])
      const transaction = await take(market, payment)
      if (seller.payments.length > 1) return serve(response, transaction, market.chain.caip2)
      response.writeHead(200, { 'Content-Length': '1000' }).write('go')
      if (how === 'breaks off') setTimeout(() => response.destroy(), 50)
    })
    const before = await market.dollars()
    const buyer = market.newBuyer()
    const controller = new AbortController()
    const response = await payingFetch(buyer)(seller.url, { signal: controller.signal })
    assert.equal(response.status, 200)
    if (how === 'stalls') controller.abort(new DOMException('too slow', 'TimeoutError'))
    const lost = await lostOf(response.text())
    assert.equal(lost.transactionId, buyer.payments.all()[0]!.transactionId)
    assert.equal(lost.state, 'settled')
    assert.equal(await (await payingFetch(buyer)(seller.url)).text(), 'goods')
    assert.deepEqual([seller.ids.size, (await market.dollars()) - before], [1, price])
  }
})

test('A5 another request, or another account, is another payment', { timeout }, async (t) => {
  const market = await openMarket(t)
  const seller = await openSlow(t, market, Number.POSITIVE_INFINITY)
  const buyer = market.newBuyer()
  const sent: [Buyer, string, RequestInit][] = [
    [buyer, '', {}],
    [buyer, '?a=1', {}],
    [buyer, '', { method: 'PUT', body: 'one' }],
    [buyer, '', { method: 'PUT', body: 'two' }],
    // The answer to one customer of a program is not for another, nor is one part of a file for another part.
    [buyer, '', { headers: { Authorization: 'Bearer alice' } }],
    [buyer, '', { headers: { Authorization: 'Bearer bob' } }],
    [buyer, '', { headers: { Range: 'bytes=0-99' } }],
    [market.newBuyer({ payments: buyer.payments }, 1), '', {}],
  ]
  for (const [index, [payer, query, init]] of sent.entries()) {
    const signal = giveUpWhenPaid(seller, index + 1)
    await lostOf(payingFetch(payer)(seller.url + query, { ...init, signal }))
  }
  assert.equal(seller.ids.size, sent.length)
  // The same requests again, with a fragment that is not sent and a different trace, make no new payments.
  for (const [index, [payer, query, init]] of sent.entries()) {
    const signal = giveUpWhenPaid(seller, sent.length + index + 1)
    const headers = { ...init.headers, traceparent: `00-${index}` }
    await lostOf(payingFetch(payer)(`${seller.url}${query}#part`, { ...init, headers, signal }))
  }
  assert.equal(seller.ids.size, sent.length)
})

test('A5 concurrent requests do not share a payment', { timeout }, async (t) => {
  const market = await openMarket(t)
  const seller = await openSlow(t, market, 0)
  const pay = payingFetch(market.newBuyer())
  const texts = await Promise.all(Array.from({ length: 5 }, async () => (await pay(seller.url)).text()))
  assert.deepEqual([new Set(texts), seller.ids.size], [new Set(['goods']), 5])
  // Processes with one log do not share a payment either.
  const shopper = openShopper(t, market)
  const runs = await Promise.all([1, 2, 3].map(() => shopper.run(seller.url, '--yes')))
  for (const { code, stdout, stderr } of runs) assert.deepEqual([code, stdout], [0, 'goods'], stderr)
  assert.deepEqual([seller.ids.size, await market.dollars()], [8, 8n * price])
})

test('A5 a new payment is made when the ledger can no longer accept the old one, or on demand', {
  timeout,
}, async (t) => {
  const market = await openMarket(t)
  const prices = [priceOf(market)]
  const seller: Seller = await openSeller(t, (payment, response) => {
    if (payment === undefined) askFor(response, prices)
  })
  const buyer = market.newBuyer()
  const tryOnce = (options = {}): Promise<LostResponseError> =>
    lostOf(payingFetch(buyer, options)(seller.url, { signal: giveUpWhenPaid(seller, seller.payments.length + 1) }))
  await tryOnce()
  // A price change does not invalidate the payment that the seller has.
  prices[0] = priceOf(market, { amount: '20000' })
  await tryOnce()
  assert.equal(seller.ids.size, 1)
  await tryOnce({ resume: false })
  assert.equal(seller.ids.size, 2)
  market.devnet.mine(1_100)
  await tryOnce()
  assert.equal(seller.ids.size, 3)
  const states = buyer.payments.all().map(({ state, amount }) => [state, amount])
  assert.deepEqual(states.at(-1), ['open', '20000'])
  assert.ok(states.slice(0, 2).some(([state]) => state === 'expired'))
})

test('A5 an open payment above a limit lowered since then is not resent', { timeout }, async (t) => {
  const market = await openMarket(t)
  const seller: Seller = await openSeller(t, (payment, response) => {
    if (payment === undefined) askFor(response, [priceOf(market)])
  })
  const buyer = market.newBuyer()
  await lostOf(payingFetch(buyer)(seller.url, { signal: giveUpWhenPaid(seller, 1) }))
  const lower = market.newBuyer({ payments: buyer.payments, maxPerPayment: '$0.005' })
  await assert.rejects(
    payingFetch(lower)(seller.url),
    /may still be settled, but \$0\.01 is above the limit of \$0\.005/,
  )
  assert.deepEqual([seller.payments.length, buyer.payments.all().length], [1, 1])
  await lostOf(payingFetch(buyer)(seller.url, { signal: giveUpWhenPaid(seller, 2) }))
  assert.equal(seller.ids.size, 1)
})

test('A5 a refused settled payment is not followed by another', { timeout }, async (t) => {
  const market = await openMarket(t)
  const seller: Seller = await openSeller(t, async (payment, response) => {
    if (payment === undefined) return askFor(response, [priceOf(market)])
    await take(market, payment)
    if (seller.payments.length > 1) askFor(response, [priceOf(market)], { error: 'payment_already_used' })
  })
  const buyer = market.newBuyer()
  await lostOf(payingFetch(buyer)(seller.url, { signal: giveUpWhenPaid(seller, 1) }))
  for (let tries = 0; tries < 3; tries++) {
    const lost = await lostOf(payingFetch(buyer)(seller.url))
    assert.deepEqual([lost.state, lost.status], ['settled', 402])
  }
  assert.deepEqual([seller.ids.size, await market.dollars()], [1, price])
})

/** Opens a gate whose facilitator settles nothing until it may continue. */
async function openSlowGate(t: TestContext, market: Market, method: string) {
  const counts = { orders: 0, settlements: 0 }
  let goOn = (): void => {}
  const isSlow = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const settle: typeof market.local.settle = async (...args) => {
    counts.settlements++
    await isSlow
    return market.local.settle(...args)
  }
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
  const routes = { [`${method} /order`]: { accepts } }
  const gate = await market.gate({ routes, facilitators: altered(market.local, { settle }) })
  const shop = await listen(paymentGate(gate, (_, response) => void response.end(`order ${++counts.orders}`)))
  t.after(() => shop.close())
  return { url: `${shop.url}/order`, counts, goOn }
}

for (const method of ['GET', 'POST']) {
  test(`A5 A8 ${method}: a gate serves the answer to the same buyer, made once and charged once`, {
    timeout,
  }, async (t) => {
    const market = await openMarket(t)
    const { url, counts, goOn } = await openSlowGate(t, market, method)
    const buyer = market.newBuyer()
    const pay = payingFetch(buyer, { repeatMs: 50 })
    const controller = new AbortController()
    void until('settlement', () => counts.settlements > 0).then(() => controller.abort(new Error('enough')))
    const lost = await lostOf(pay(url, { method, signal: controller.signal }))
    goOn()
    await until('settled', async () => (await market.dollars()) === price)
    // Someone who read the payment from the ledger does not have the secret.
    const declared = { 'payment-secret': { info: { algorithm: 'sha-256' } } }
    const thief = { ...decodePayment(lost.header), extensions: declared }
    const stolen = await fetch(url, { method, headers: { 'PAYMENT-SIGNATURE': encoded(thief) } })
    assert.equal(stolen.status, 402, await stolen.text())
    const response = await pay(url, { method })
    assert.deepEqual([response.status, await response.text()], [200, 'order 1'])
    assert.deepEqual([counts.orders, buyer.payments.all().length, await market.dollars()], [1, 1, price])
    assert.equal(await (await pay(url, { method })).text(), 'order 2')
  })
}

test('A5 A8 latchkey pay gets the answer of its order with the next call, made once and charged once', {
  timeout,
}, async (t) => {
  const market = await openMarket(t)
  const { url, counts, goOn } = await openSlowGate(t, market, 'POST')
  const shopper = openShopper(t, market)
  const order = ['--yes', '--data', 'two of them', '--json']
  const first = await shopper.run(url, ...order, '--timeout', '3')
  const { state } = JSON.parse(first.stderr.trim().split('\n').at(-2)!)
  assert.deepEqual([first.code, first.stdout, state], [3, '', 'not_known_yet'], first.stderr)
  goOn()
  await until('settled', async () => (await market.dollars()) === price)
  const second = await shopper.run(url, ...order)
  assert.deepEqual([second.code, second.stdout], [0, 'order 1'], second.stderr)
  assert.equal(JSON.parse(second.stderr.trim().split('\n').at(-1)!).state, 'settled')
  assert.deepEqual([counts.orders, await market.dollars()], [1, price])
  const third = await shopper.run(url, ...order)
  assert.deepEqual([third.stdout, await market.dollars()], ['order 2', 2n * price], third.stderr)
})

test('A5 latchkey pay resends an open payment', { timeout }, async (t) => {
  const market = await openMarket(t)
  const seller = await openSlow(t, market)
  const shopper = openShopper(t, market)
  for (let tries = 0; tries < 2; tries++) {
    const { code, stdout, stderr } = await shopper.run(seller.url, '--yes', '--timeout', '2', '--json')
    assert.deepEqual([code, stdout], [3, ''], stderr)
    const [json, message] = stderr.trim().split('\n').slice(-2)
    const { state, payment } = JSON.parse(json!)
    assert.equal(state, 'settled')
    assert.match(message!, new RegExp(`no response arrived, but the payment ${payment.transaction} is settled`))
    assert.match(message!, /sent no data for 2 s.*run the command again to send the same payment/)
  }
  const last = await shopper.run(seller.url, '--yes')
  assert.deepEqual([last.code, last.stdout], [0, 'goods'], last.stderr)
  assert.match(
    last.stderr,
    /An earlier payment for the same request \(\$0\.01 to \S+ at 20[0-9-]+ [0-9:]+ UTC\) got no response and is settled: sending transaction \S+ again/,
  )
  assert.ok(!last.stderr.includes('The request costs'))
  assert.deepEqual([seller.ids.size, await market.dollars()], [1, price])
  const forced = await shopper.run(seller.url, '--yes', '--new-payment')
  assert.deepEqual([forced.code, seller.ids.size], [0, 2])
})

test('A5 the payment of a killed process is resent by the next one', { timeout }, async (t) => {
  const market = await openMarket(t)
  const seller = await openSlow(t, market, 1)
  const log = join(temporaryDirectory(t), 'payments.jsonl')
  const network = ['--network', 'local', '--node', market.devnet.url, '--dollar', `${dollar}`, '--log', log]
  const env = { PATH: process.env['PATH'], AVM_MNEMONIC: market.devnet.accounts[0]!.mnemonic }
  const child = spawn(process.execPath, [latchkeyCommand, 'pay', seller.url, '--yes', ...network], { env })
  t.after(() => child.kill('SIGKILL'))
  await until('payment', () => seller.payments.length === 1)
  child.kill('SIGKILL')
  await once(child, 'close')
  const buyer = market.newBuyer({ payments: new FilePayments(log) })
  assert.equal(await (await payingFetch(buyer)(seller.url)).text(), 'goods')
  assert.deepEqual([seller.ids.size, await market.dollars()], [1, price])
})

test('A5 a command that is killed while the body arrives gets it from the same payment', {
  skip: missingProgram('python3'),
  timeout,
}, async (t) => {
  const market = await openMarket(t)
  const seller: Seller = await openSeller(t, async (payment, response) => {
    if (payment === undefined) return askFor(response, [priceOf(market)])
    const transaction = await take(market, payment)
    if (seller.payments.length > 1) serve(response, transaction, market.chain.caip2)
    else response.writeHead(200).write('go')
  })
  const shopper = openShopper(t, market)
  const terminal = shopper.atTerminal(seller.url, '--yes')
  await terminal.sees('Paid $0.01 ')
  process.kill(await terminal.pid(), 'SIGKILL')
  await terminal.ended
  const { code, stdout, stderr } = await shopper.run(seller.url, '--yes')
  assert.deepEqual([code, stdout], [0, 'goods'], stderr)
  assert.deepEqual([seller.ids.size, await market.dollars()], [1, price])
  assert.deepEqual([(await shopper.run(seller.url, '--yes')).code, seller.ids.size], [0, 2])
})

test('A5 Ctrl-C names the payment', { skip: missingProgram('python3'), timeout }, async (t) => {
  const market = await openMarket(t)
  const seller = await openSlow(t, market, 1)
  const terminal = openShopper(t, market).atTerminal(seller.url, '--yes')
  await until('payment', () => seller.payments.length === 1)
  terminal.type('\x03')
  const { code } = await terminal.ended
  assert.equal(code, 130, terminal.screen())
  assert.match(terminal.screen(), /no response arrived, but the payment [A-Z2-7]{52} is settled/)
})

test('M one signal for many concurrent requests gives no warning', { timeout }, async (t) => {
  const market = await openMarket(t)
  const seller = await openSlow(t, market, 40)
  const warnings: string[] = []
  const onWarning = ({ name, message }: Error): void => void warnings.push(`${name} ${message}`)
  process.on('warning', onWarning)
  t.after(() => process.off('warning', onWarning))
  const { signal } = new AbortController()
  const pay = payingFetch(market.newBuyer(), {
    repeatMs: 10,
    // Loses the response of every first attempt, so that all of them wait at the same time.
    fetch: async (input, init) => {
      const request = new Request(input, init)
      if (request.headers.has('PAYMENT-SIGNATURE') && !lost.has(request.headers.get('PAYMENT-SIGNATURE')!)) {
        lost.add(request.headers.get('PAYMENT-SIGNATURE')!)
        throw new TypeError('fetch failed')
      }
      return fetch(request)
    },
  })
  const lost = new Set<string>()
  const requests = Array.from({ length: 40 }, () => pay(seller.url, { signal }).catch(() => {}))
  await until('payments', () => seller.payments.length >= 30)
  assert.deepEqual(warnings, [])
  void requests
})
