/** Prices by usage, from the 402 to the receipt: charges, streams, and attacks of each party on the others. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, type TestContext, test } from 'node:test'
import { Address, Mnemonic, SignedReceipt } from '@latchkey/algorand'
import { type Buyer, decodeRequired, MemoryPayments, payingFetch, Signer } from '@latchkey/x402/client'
import { openGateway, Upstream } from '@latchkey/x402/gateway'
import { paymentGate, paymentOf } from '@latchkey/x402/node'
import { MemoryClaims, type Payment, ReceiptSigner } from '@latchkey/x402/server'
import { altered, dollar, headerJson, openMarket, repeated, until } from './support/market.test.helper.js'
import {
  charging,
  type Handler,
  newSeller,
  openShop,
  pay as payWith,
  type UptoShop,
  type UptoShopOptions,
} from './support/uptoShop.test.helper.js'

const timeout = 60_000
const market = await openMarket({ after })
const maximum = 500_000n

const shop = (t: TestContext, handler: Handler, options?: UptoShopOptions): Promise<UptoShop> =>
  openShop(market, t, handler, options)
const pay = (url: string, buyer: Buyer = market.newBuyer(), init?: RequestInit) => payWith(buyer, url, init)

test('the offer names the maximum and the facilitator', { timeout }, async (t) => {
  const { url, seller } = await shop(t, charging('$0.01'))
  const unpaid = await fetch(url)
  assert.equal(unpaid.status, 402)
  const [offer] = decodeRequired(unpaid.headers.get('payment-required')!).accepts
  const { scheme, amount, payTo, extra } = offer!
  assert.deepEqual([scheme, amount, payTo], ['upto', '500000', seller])
  assert.equal(extra['feePayer'], market.devnet.accounts[4]!.address)
})

test('the handler charges what was used, and the receipt says it', { timeout }, async (t) => {
  const seen: Payment[] = []
  const { url, received } = await shop(t, (request, response, payment) => {
    seen.push(payment)
    payment.charge!('$0.0132')
    response.end('done')
    response.once('finish', () => seen.push(paymentOf(request)!))
  })
  const buyer = market.newBuyer()
  const { status, text, receipt } = await pay(url, buyer, { method: 'POST', body: 'prompt' })
  assert.deepEqual([status, text], [200, 'done'])
  assert.deepEqual([receipt!.success, receipt!.amount], [true, '13200'])
  assert.equal(await received(), 13_200n)
  const [payment] = buyer.payments.all()
  assert.deepEqual([payment!.state, payment!.amount], ['settled', '500000'])
  assert.deepEqual(payment!.charge, { amount: '13200', microDollars: '13200', transactionId: receipt!.transaction })
  assert.equal(buyer.payments.spent().microDollars, 13_200n, 'the rest counts no longer')
  await until(() => seen.length === 2)
  assert.deepEqual([seen[0]!.amount, seen[0]!.maxAmount, seen[0]!.state], ['500000', '500000', 'verified'])
  const { amount, amountText, settlement, state, transactionId } = seen[1]!
  assert.deepEqual([amount, amountText, settlement, state], ['13200', '0.0132 USDC', receipt!.transaction, 'settled'])
  assert.match(transactionId, /^upto-[A-Z2-7]{52}$/)
})

test('a charge can be in base units, is rounded down, and the last one counts', { timeout }, async (t) => {
  const cases: [Handler, string][] = [
    [charging({ asset: `${dollar}`, amount: '77' }), '77'],
    [charging(0.00000199), '1'],
    [charging('$0.5'), '500000'],
    [charging('$0'), '0'],
    [
      (_, response, payment) => {
        for (const price of ['$0.1', '$0.2', '$0.15']) payment.charge!(price)
        response.end('done')
      },
      '150000',
    ],
  ]
  for (const [handler, expected] of cases) {
    const { url, received } = await shop(t, handler)
    const { status, receipt } = await pay(url)
    assert.deepEqual([status, receipt!.amount], [200, expected])
    assert.equal(await received(), BigInt(expected))
  }
})

test('Settlement-Overrides sets the charge, and does not leave the gate', { timeout }, async (t) => {
  const overriding = (amount: string): Handler => {
    return (_, response, payment) => {
      payment.charge!('$0.4')
      response.setHeader('Settlement-Overrides', JSON.stringify({ amount })).end('done')
    }
  }
  const cases = [
    ['1234', '1234'],
    ['50%', '250000'],
    ['0.01%', '50'],
    ['100%', '500000'],
    ['$0.05', '50000'],
  ]
  for (const [amount, expected] of cases) {
    const { url, received } = await shop(t, overriding(amount!))
    const { status, receipt, response } = await pay(url)
    assert.deepEqual([status, receipt!.amount], [200, expected], amount)
    assert.equal(response.headers.get('settlement-overrides'), null)
    assert.equal(await received(), BigInt(expected!))
  }
})

test('a handler that charges above the maximum, or no amount, charges nothing', { timeout }, async (t) => {
  const errors: unknown[] = []
  const onError = (error: unknown): void => void errors.push(error)
  for (const amount of ['500001', '100.01%', '-1', 'all', '$0.51']) {
    const handler: Handler = (_, response) =>
      response.setHeader('Settlement-Overrides', JSON.stringify({ amount })).end('done')
    const { url, received } = await shop(t, handler, { onError })
    const { status, text } = await pay(url)
    assert.equal(status, 500, amount)
    assert.match(text, /nothing was charged/)
    assert.equal(await received(), 0n)
  }
  assert.deepEqual(new Set(errors.map((error) => (error as { code: string }).code)), new Set(['invalid_charge']))
  const { url, received } = await shop(t, (_, response, payment) => {
    assert.throws(() => payment.charge!('$0.51'), { code: 'invalid_charge' })
    assert.throws(() => payment.charge!('a lot'), { code: 'invalid_charge' })
    assert.throws(() => payment.charge!({ asset: '7', amount: '1' }), { code: 'invalid_charge' })
    response.end('done')
  })
  assert.equal((await pay(url)).status, 200)
  assert.equal(await received(), 0n)
})

test('a handler that sets no charge charges nothing, or the maximum, as the route says', { timeout }, async (t) => {
  const silent: Handler = (_, response) => response.end('done')
  const nothing = await shop(t, silent)
  const { receipt } = await pay(nothing.url)
  assert.deepEqual([receipt!.success, receipt!.amount, receipt!.transaction], [true, '0', ''])
  assert.equal(await nothing.received(), 0n)
  const all = await shop(t, silent, { price: { whenUnset: 'maximum' } })
  assert.equal((await pay(all.url)).receipt!.amount, '500000')
  assert.equal(await all.received(), maximum)
})

test('a handler that fails charges nothing, and the authorization can be used again', { timeout }, async (t) => {
  let isBroken = true
  const { url, received } = await shop(t, (_, response, payment) => {
    payment.charge!('$0.1')
    response.statusCode = isBroken ? 500 : 200
    response.end('done')
  })
  const unpaid = await fetch(url)
  const header = await market.payment(unpaid)
  assert.equal((await repeated(url, header)).status, 500)
  assert.equal(await received(), 0n)
  isBroken = false
  assert.equal((await repeated(url, header)).status, 200)
  assert.equal(await received(), 100_000n)
  assert.equal((await repeated(url, header)).status, 402, 'used up')
  assert.equal(await received(), 100_000n)
})

test('limits of the buyer count the maximum', { timeout }, async (t) => {
  const { url, received } = await shop(t, charging('$0.01'))
  await assert.rejects(pay(url, market.newBuyer({ maxPerPayment: '$0.49' })), { name: 'PaymentRefusedError' })
  const buyer = market.newBuyer({ maxTotal: '$0.51' })
  assert.equal((await pay(url, buyer)).status, 200)
  assert.equal((await pay(url, buyer)).status, 200, 'the rest of the first maximum was given back')
  await assert.rejects(pay(url, buyer), { name: 'PaymentRefusedError' })
  assert.equal(await received(), 20_000n)
})

test('a signer without the operation does not pay', { timeout }, async (t) => {
  const { url } = await shop(t, charging('$0.01'))
  const signer = { ...Signer.fromMnemonic(market.devnet.accounts[0]!.mnemonic), signUpto: undefined }
  await assert.rejects(pay(url, market.newBuyer({ signer })), { name: 'PaymentRefusedError' })
})

test('wrong options are refused when the gate opens', { timeout }, async () => {
  const payTo = market.seller
  const routes = (accepts: object, more: object = {}) => ({ '/model': { accepts: { payTo, ...accepts }, ...more } })
  const cases: [object, object?][] = [
    [{ price: { upTo: '$0.50', whenUnset: 'half' } }],
    [{ price: { upTo: '$0.50', stream: 'yes' } }],
    [{ price: { upTo: '$0.50' }, paymentFlow: 'upfront' }],
    [{ price: { upTo: '$0.50' }, scheme: 'exact' }],
    [{ price: '$0.50', scheme: 'upto' }],
    [{ price: { upTo: { asset: '0', amount: '5' } } }],
    [{ price: { upTo: '$0' } }],
    [{ price: { upTo: '$0.50' } }, { passes: { minutes: 5 } }],
    [{ price: { upTo: '$0.50' } }, { paymentIdentifier: 'optional' }],
  ]
  for (const [accepts, more] of cases) {
    await assert.rejects(market.gate({ routes: routes(accepts, more) as never }), JSON.stringify(accepts))
  }
})

test('an account whose charge fails after the work gets nothing, and no more work', { timeout }, async (t) => {
  let runs = 0
  const account = market.devnet.accounts[1]!
  const signer = Signer.fromMnemonic(account.mnemonic)
  const { url, received } = await shop(t, async (request, response, payment) => {
    runs++
    payment.charge!('$0.1')
    if (request.headers['x-void'] !== undefined) await voidLease(payment.transactionId, payment, signer)
    response.end('the work')
  })
  const buyer = market.newBuyer({}, 1)
  const voided = await pay(url, buyer, { headers: { 'X-Void': '1' } })
  assert.equal(voided.status, 402)
  assert.notEqual(voided.text, 'the work')
  assert.equal(headerJson(voided.response, 'payment-required')['error'], 'payer_left_unpaid')
  const refused = await pay(url, buyer)
  assert.equal(refused.status, 402)
  assert.equal(headerJson(refused.response, 'payment-required')['error'], 'payer_left_unpaid')
  assert.equal(runs, 1)
  assert.equal(await received(), 0n)
  assert.equal((await pay(url, market.newBuyer({}, 2))).status, 200, 'others are served')
})

/** Sends a transaction of the buyer with the lease of its authorization. */
async function voidLease(id: string, { payer }: Payment, signer: Signer.Signer): Promise<void> {
  const lease = base32(id.slice('upto-'.length))
  const { lastRound, genesisHash } = await market.chain.parameters()
  const own = Address.decode(payer)
  const txn = { type: 'pay', snd: own, rcv: own, fee: 1_000n, fv: lastRound, lv: lastRound + 1_000n } as const
  const signed = await Signer.signTransaction(signer, { ...txn, gh: genesisHash, lx: lease })
  assert.equal((await market.chain.algod.submit([signed])).type, 'accepted')
}

function base32(text: string): Uint8Array {
  const bits = [...text]
    .map((one) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(one).toString(2).padStart(5, '0'))
    .join('')
  return Uint8Array.from({ length: 32 }, (_, index) => Number.parseInt(bits.slice(8 * index, 8 * index + 8), 2))
}

test('a payment is worthless at another gate, route and facilitator', { timeout }, async (t) => {
  const handler = charging('$0.1')
  const [first, second] = [await shop(t, handler), await shop(t, handler)]
  const header = await market.payment(await fetch(first.url))
  assert.equal((await repeated(second.url, header)).status, 402, 'another receiver')
  const changed = await market.payment(await fetch(first.url), (payload) => {
    payload.accepted['payTo'] = second.seller
  })
  assert.equal((await repeated(second.url, changed)).status, 402, 'the program names the receiver')
  assert.equal((await repeated(first.url, header)).status, 200)
  assert.equal((await repeated(first.url, header)).status, 402, 'once')
  assert.deepEqual([await first.received(), await second.received()], [100_000n, 0n])
})

test('an authorization for the maximum of yesterday is not accepted for another maximum', { timeout }, async (t) => {
  const claims = new MemoryClaims()
  const { url, received, seller } = await shop(t, charging('$0.1'), { claims })
  const more = await market.payment(await fetch(url), (payload) => {
    payload.accepted['amount'] = '400000'
  })
  assert.equal((await repeated(url, more)).status, 402)
  assert.equal(await received(), 0n)
  assert.ok(seller)
})

test('a gate that restarts asks for the charge that it stored', { timeout }, async (t) => {
  const claims = new MemoryClaims()
  let runs = 0
  const asked: string[] = []
  const failing = altered(market.local, {
    settle: async (payload, requirements, options) => {
      asked.push(requirements.amount)
      if (asked.length === 1) throw new Error('the gate was killed here')
      return market.local.settle(payload, requirements, options)
    },
  })
  const { url, received } = await shop(
    t,
    (_, response, payment) => {
      runs++
      payment.charge!(`$0.1${runs}`)
      response.setHeader('X-Own', '1').end(`answer ${runs}`)
    },
    { claims, facilitators: failing },
  )
  const header = await market.payment(await fetch(url))
  const response = await repeated(url, header)
  assert.deepEqual([response.status, await response.text(), runs], [200, 'answer 1', 1])
  assert.equal(response.headers.get('settlement-overrides'), null)
  assert.equal(response.headers.get('x-own'), '1')
  assert.deepEqual(new Set(asked), new Set(['110000']))
  assert.equal(await received(), 110_000n)
})

test('a facilitator that is not trusted must show the transfer on the ledger', { timeout }, async (t) => {
  // The transfer of another payment, of the same amount.
  const { transaction } = (await pay((await shop(t, charging('$0.1'))).url)).receipt!
  const fake = { success: true, transaction, network: market.chain.caip2, amount: '100000' } as const
  const lying = altered(market.local, { isTrusted: false, settle: async () => fake as never })
  const { url, received } = await shop(t, charging('$0.1'), { facilitators: lying })
  const header = await market.payment(await fetch(url))
  const response = await fetch(url, { headers: { 'PAYMENT-SIGNATURE': header } })
  assert.equal(response.status, 502)
  assert.ok(!(await response.text()).includes('done'))
  assert.equal(await received(), 0n)
  const honest = await shop(t, charging('$0.1'), { facilitators: altered(market.local, { isTrusted: false }) })
  assert.equal((await pay(honest.url)).receipt!.amount, '100000')
  assert.equal(await honest.received(), 100_000n)
})

test('a buyer does not believe a receipt of less than the ledger shows', { timeout }, async (t) => {
  const { url, received } = await shop(t, charging('$0.3'))
  const lying: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    const receipt = response.headers.get('payment-response')
    if (receipt === null) return response
    const headers = new Headers(response.headers)
    const changed = { ...JSON.parse(Buffer.from(receipt, 'base64').toString()), amount: '1' }
    headers.set('payment-response', Buffer.from(JSON.stringify(changed)).toString('base64'))
    return new Response(response.body, { status: response.status, headers })
  }
  const buyer = market.newBuyer({ payments: new MemoryPayments() })
  await payingFetch(buyer, { fetch: lying })(url)
  assert.equal(buyer.payments.all()[0]!.charge?.amount, '300000')
  assert.equal(await received(), 300_000n)
})

test('a signed receipt names the transaction of the charge, and the buyer keeps it', { timeout }, async (t) => {
  const receipts = ReceiptSigner.fromMnemonic(Mnemonic.encode(new Uint8Array(32).fill(5)))
  for (const [price, hasTransaction] of [['$0.1', true] as const, ['$0', false] as const]) {
    const errors: unknown[] = []
    const onError = (error: unknown): void => void errors.push(error)
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const accepts = { price: { upTo: '$0.50' }, payTo: newSeller(market) }
    const gate = await market.gate({ routes: { '/model': { accepts } }, receipts, origin, onError })
    server.on(
      'request',
      paymentGate(gate, (request, response) => charging(price)(request, response, paymentOf(request)!)),
    )
    const buyer = market.newBuyer()
    const { receipt } = await pay(`${origin}/model`, buyer)
    assert.deepEqual(errors, [])
    const signed = SignedReceipt.verify(receipt!.signedReceipt!)
    assert.equal(signed.receipt.transaction, hasTransaction ? receipt!.transaction : undefined)
    assert.equal(buyer.payments.all()[0]!.signedReceipt, receipt!.signedReceipt)
  }
})

test('a service behind a gateway sets the charge with its header', { timeout }, async (t) => {
  for (const stream of [false, true]) {
    const seller = newSeller(market)
    const start = async (listener: RequestListener): Promise<string> => {
      const server = createServer(listener).listen(0, '127.0.0.1')
      t.after(() => {
        server.closeAllConnections()
        server.close()
      })
      await once(server, 'listening')
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    }
    const service = await start((_, response) => {
      response.setHeader('Settlement-Overrides', '{"amount":"$0.07"}').end('from the service')
    })
    const gate = await market.gate({
      routes: {
        'GET /model': { accepts: { price: { upTo: '$0.50', stream }, payTo: seller } },
        'GET /fixed': { accepts: { price: '$0.01', payTo: seller } },
      },
    })
    const upstream = new Upstream({ url: service })
    t.after(() => upstream.close())
    const url = await start(openGateway({ gate, upstream }).request as RequestListener)
    const { status, text, response } = await pay(`${url}/model`)
    assert.deepEqual([status, text], [200, 'from the service'])
    assert.equal(response.headers.get('settlement-overrides'), null)
    await until(async () => (await market.dollars(seller)) === 70_000n)
    assert.equal((await pay(`${url}/fixed`)).response.headers.get('settlement-overrides'), null)
    assert.equal(await market.dollars(seller), 80_000n, 'a fixed price is not changed')
  }
})

test('an authorization that was never settled expires, and counts no longer', { timeout }, async (t) => {
  const { url } = await shop(t, (_, response) => response.writeHead(500).end())
  const buyer = market.newBuyer()
  await pay(url, buyer)
  const { transactionId } = buyer.payments.all()[0]!
  assert.equal(await buyer.lookUp(transactionId), 'open')
  for (let blocks = 0; blocks < 1_004; blocks++) market.devnet.mine()
  assert.equal(await buyer.lookUp(transactionId), 'expired')
  assert.equal(buyer.payments.spent().microDollars, 0n)
})
