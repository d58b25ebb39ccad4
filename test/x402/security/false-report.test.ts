/** A buyer reports what the ledger says about its money, not what a seller says. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Submission, Transaction } from '@latchkey/algorand'
import {
  LostResponseError,
  type PaymentPayload,
  type PaymentState,
  payingFetch,
  paymentOf,
} from '@latchkey/x402/client'
import { type Market, openMarket } from '../support/market.test.helper.js'
import { askFor, encoded, openSeller, openShopper, priceOf, type Seller, take } from './support/sellers.test.helper.js'

const timeout = 120_000
const otherId = 'A'.repeat(52)

type Answer = { status: number; receipt?: (transaction: string) => object }

const reported = (transaction: string): object => ({ success: true, transaction, network: 'algorand:x' })

/** Everything a seller can respond after it has a payment, whether it took the money or not. */
const answers: { [name: string]: Answer } = {
  '402 without a receipt': { status: 402 },
  '403 without a receipt': { status: 403 },
  '500 without a receipt': { status: 500 },
  '200 without a receipt': { status: 200 },
  '200 with the receipt of another payment': { status: 200, receipt: () => reported(otherId) },
  '200 with a receipt that says settled': { status: 200, receipt: reported },
  '402 with a receipt that says settled': { status: 402, receipt: reported },
  '200 with a receipt that says failed': {
    status: 200,
    receipt: (transaction) => ({ ...reported(transaction), success: false, errorReason: 'insufficient_funds' }),
  },
}

/** `isTaken`: whether the seller settles the payment. */
function openLiar(t: TestContext, market: Market, { status, receipt }: Answer, isTaken: boolean) {
  return openSeller(t, async (payment, response) => {
    if (payment === undefined) return askFor(response, [priceOf(market)])
    const transaction = isTaken ? await take(market, payment) : idOf(payment)
    const headers = receipt === undefined ? {} : { 'PAYMENT-RESPONSE': encoded(receipt(transaction)) }
    response.writeHead(status, headers).end(status === 200 ? 'goods' : 'no')
  })
}

function idOf({ payload }: PaymentPayload): string {
  const { paymentGroup, paymentIndex } = payload as { paymentGroup: string[]; paymentIndex: number }
  const { signed } = Submission.decodeFirst(Buffer.from(paymentGroup[paymentIndex]!, 'base64'))
  return Transaction.id(Submission.transactionBytes(signed.txn))
}

test('A6 the ledger decides, whatever the seller responds', { timeout: 3 * timeout, concurrency: 4 }, async (t) => {
  const cases = [true, false].flatMap((isTaken) =>
    Object.entries(answers).map(([name, answer]) => {
      const how = isTaken ? 'the money is taken' : 'nothing is taken'
      return t.test(`A6 ${how}, and the seller responds with ${name}`, { timeout }, (t) => check(t, answer, isTaken))
    }),
  )
  await Promise.all(cases)
})

async function check(t: TestContext, answer: Answer, isTaken: boolean): Promise<void> {
  const market = await openMarket(t)
  const seller = await openLiar(t, market, answer, isTaken)
  const { buyer } = market
  const expected: PaymentState = isTaken ? 'settled' : 'open'
  let state: PaymentState | undefined
  try {
    const response = await payingFetch(buyer)(seller.url)
    assert.equal(response.status, answer.status)
    state = paymentOf(response)?.state
  } catch (error) {
    assert.ok(error instanceof LostResponseError, String(error))
    assert.ok(answer.status >= 400, 'what was served is returned')
    state = error.state
    assert.match(
      error.message,
      new RegExp(`the seller responded with status ${answer.status}, but the payment [A-Z2-7]{52} is settled`),
    )
  }
  const [payment] = buyer.payments.all()
  assert.deepEqual([state, payment!.state], [expected, expected])
  assert.equal(await buyer.lookUp(payment!.transactionId), expected)

  const { code, stderr } = await openShopper(t, market).runHosted(seller.url, '--yes')
  assert.equal(code, answer.status < 400 ? 0 : 3, stderr)
  const isSaid = /\nPaid \$0\.01 |the seller responded with status \d+, but the payment [A-Z2-7]{52} is settled/.test(
    stderr,
  )
  assert.equal(isSaid, isTaken, stderr)
  assert.ok(!/Nothing was paid|Not paid|No payment/.test(stderr), stderr)
  assert.equal(/Payment pending: \$0\.01 /.test(stderr), !isTaken, stderr)
}

test("A6 --json has the state in the ledger and, separately, the seller's claim", { timeout }, async (t) => {
  const market = await openMarket(t)
  for (const isTaken of [true, false]) {
    const claim = await openLiar(t, market, answers['200 with a receipt that says settled']!, isTaken)
    const { code, stdout, stderr } = await openShopper(t, market).runHosted(claim.url, '--yes', '--json')
    assert.deepEqual([code, stdout], [0, 'goods'], stderr)
    const { status, state, payment, receipt } = JSON.parse(stderr.trim().split('\n').at(-1)!)
    assert.deepEqual([status, state, receipt.success], [200, isTaken ? 'settled' : 'not_known_yet', true])
    assert.deepEqual([payment.payTo, payment.amount, payment.asset], [market.seller, '10000', '31566704'])
  }
  const free = await openSeller(t, (_, response) => void response.end('free'))
  const { stderr } = await openShopper(t, market).runHosted(free.url, '--json')
  assert.deepEqual(JSON.parse(stderr), { status: 200, state: null, payment: null, receipt: null, pass: null })
})

test('A6 a payment that can no longer be settled is reported as not settled', { timeout }, async (t) => {
  const market = await openMarket(t)
  const seller = await openSeller(t, (payment, response) => {
    if (payment === undefined) return askFor(response, [priceOf(market)])
    market.devnet.mine(1_010)
    response.writeHead(403).end('no')
  })
  const { code, stderr } = await openShopper(t, market).runHosted(seller.url, '--yes')
  assert.equal(code, 3)
  assert.match(stderr, /\nNot paid: \$0\.01 .* can no longer be settled\. The response has status 403\.\n/)
  const { stderr: json } = await openShopper(t, market).runHosted(seller.url, '--yes', '--json')
  assert.equal(JSON.parse(json.trim().split('\n').at(-1)!).state, 'not_settled')
  const [payment] = market.buyer.payments.all()
  assert.equal(payment, undefined)
})

test('A6 without a node the state is reported as unknown', { timeout }, async (t) => {
  const market = await openMarket(t)
  const seller: Seller = await openSeller(t, async (payment, response) => {
    if (payment === undefined) return askFor(response, [priceOf(market)])
    const transaction = await take(market, payment)
    await market.devnet.stop()
    response.writeHead(200, { 'PAYMENT-RESPONSE': encoded(reported(transaction)) }).end('goods')
  })
  const { code, stdout, stderr } = await openShopper(t, market).runHosted(seller.url, '--yes')
  assert.deepEqual([code, stdout], [0, 'goods'], stderr)
  assert.match(stderr, /\nPayment pending: /)
  assert.ok(!stderr.includes('\nPaid'))
})

test('A6 a late settlement is reported when the body has arrived', { timeout }, async (t) => {
  const market = await openMarket(t)
  const seller: Seller = await openSeller(t, async (payment, response) => {
    if (payment === undefined) return askFor(response, [priceOf(market)])
    response.writeHead(200).write('go')
    await new Promise((resolve) => setTimeout(resolve, 500))
    await take(market, payment)
    response.end('ods')
  })
  const { code, stdout, stderr } = await openShopper(t, market).run(seller.url, '--yes')
  assert.deepEqual([code, stdout], [0, 'goods'], stderr)
  assert.match(stderr, /\nPayment pending: \$0\.01 [^\n]*\nPaid \$0\.01 [^\n]*\n$/)
})

test('A6 a refusal of an open payment explains how to make a new one', { timeout }, async (t) => {
  const market = await openMarket(t)
  const seller = await openLiar(t, market, answers['402 without a receipt']!, false)
  const shopper = openShopper(t, market)
  for (let index = 0; index < 2; index++) {
    const { code, stderr } = await shopper.run(seller.url, '--yes')
    assert.equal(code, 3)
    assert.match(
      stderr,
      /The response has status 402\. Run the command again to send the same payment; .*--new-payment\.\n$/,
    )
  }
  assert.equal(seller.ids.size, 1)
})

test('A6 a redirect of a payment is reported, and not followed', { timeout }, async (t) => {
  const market = await openMarket(t)
  const followed: unknown[] = []
  const other = await openSeller(t, (payment, response) => {
    followed.push(payment)
    response.end('other')
  })
  const seller = await openSeller(t, async (payment, response) => {
    if (payment === undefined) return askFor(response, [priceOf(market)])
    await take(market, payment)
    return response.writeHead(302, { Location: `${other.url}?\u009b2J` }).end('moved')
  })
  const { code, stdout, stderr } = await openShopper(t, market).runHosted(seller.url, '--yes')
  assert.deepEqual([code, stdout, followed], [3, 'moved', []], stderr)
  const place = `${other.url}?`.replace(/[.?]/g, '\\$&')
  assert.match(
    stderr,
    new RegExp(`\\nPaid .*The response has status 302 and redirects to "${place}\\?2J", which was not followed\\.\\n$`),
  )
})

test('A6 a payment provided by the caller is not reported as nothing paid', { timeout }, async (t) => {
  const market = await openMarket(t)
  let requests = 0
  const seller = await openSeller(t, (_, response) => {
    requests++
    response.end('goods')
  })
  const header = `Payment-Signature: ${encoded({})}`
  const { code, stderr } = await openShopper(t, market).runHosted(seller.url, '--yes', '--header', header)
  assert.deepEqual([code, requests], [2, 0], stderr)
  assert.match(stderr, /PAYMENT-SIGNATURE/)
})

test('A6 --json prints one object, also when the command fails', { timeout }, async (t) => {
  const market = await openMarket(t)
  const unpayable = await openSeller(t, (_, response) => askFor(response, [priceOf(market, { amount: '9000000' })]))
  const gone = await openSeller(t, (payment, response) => {
    if (payment === undefined) return askFor(response, [priceOf(market)])
    return response.socket!.destroy()
  })
  for (const [seller, state] of [
    [unpayable, null],
    [gone, 'not_known_yet'],
  ] as const) {
    const { code, stderr } = await openShopper(t, market).run(seller.url, '--yes', '--json')
    assert.equal(code, 3)
    const lines = stderr.trim().split('\n')
    const objects = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
    assert.equal(objects.length, 1, stderr)
    assert.deepEqual(Object.keys(objects[0]), ['status', 'state', 'payment', 'receipt', 'pass'])
    assert.deepEqual([objects[0].status, objects[0].state, objects[0].receipt], [null, state, null])
    // The reason of the failure, for people.
    assert.match(lines.at(-1)!, /^latchkey pay: /)
  }
})

test('M an unusable log is an error that says what to do, before anything is paid', {
  timeout,
}, async (t) => {
  const market = await openMarket(t)
  const seller = await openSeller(t, (_, response) => askFor(response, [priceOf(market)]))
  const shopper = openShopper(t, market)
  const directory = dirname(shopper.log)
  writeFileSync(join(directory, 'file'), '')
  const hint = / cannot be (read|written): .*(--log|HOME)/
  for (const log of [join(directory, 'missing', 'log'), directory, join(directory, 'file', 'log')]) {
    const { code, stderr } = await shopper.runHosted(seller.url, '--yes', '--log', log)
    assert.equal(code, 3)
    assert.match(stderr, hint)
  }
  // The file is endless.
  const endless = await shopper.run(seller.url, '--yes', '--max', '$0.001', '--log', '/dev/zero')
  assert.match(endless.stderr, /above the limit|cannot be/)
  assert.equal(seller.payments.length, 0)
})
