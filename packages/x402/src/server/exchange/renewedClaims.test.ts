/** Gates that share claims: one is killed, stalls or is cut off from the store, and another takes over. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { PaymentHeaders } from '@latchkey/x402-wire'
import { StoreError } from '../../db/StoreError.js'
import { type ClaimStore, MemoryClaims } from '../store/Claims.js'
import {
  admitted,
  answer,
  ask,
  newLedger,
  paymentFor,
  price,
  requiredIn,
  responseOf,
  stubFacilitator,
  stubGate,
} from '../stubs.test.helper.js'
import type { Decision } from './Admission.js'
import { FacilitatorError } from './FacilitatorClient.js'

const routes = { '/a': { accepts: { ...price, maxTimeoutSeconds: 300 } } }
const goods = (text: string) => ({ ...answer, body: new Uint8Array(Buffer.from(text)) })
const isDown = (): never => {
  throw new StoreError('store_failed', 'the database is away')
}

/** One gate's view of the claims. */
function viewOf(claims: MemoryClaims, changes: Partial<ClaimStore> = {}): ClaimStore {
  const view: ClaimStore = {
    id: claims.id,
    has: (...call) => claims.has(...call),
    claim: (...call) => claims.claim(...call),
    hold: (...call) => claims.hold(...call),
    finish: (...call) => claims.finish(...call),
    renewals: claims.renewals,
    close: () => {},
  }
  return Object.assign(view, changes)
}

/** Two gates, and how often each requested a settlement. */
async function twoGates(method: 'GET' | 'POST', changes: Partial<ClaimStore> = {}) {
  const [claims, ledger] = [new MemoryClaims(), newLedger()]
  const settled = { first: 0, second: 0 }
  const errors: unknown[] = []
  const open = async (name: 'first' | 'second', view: ClaimStore) => {
    const honest = stubFacilitator(ledger)
    const settle: typeof honest.settle = (...call) => {
      settled[name]++
      return honest.settle(...call)
    }
    const onError = (error: unknown): void => void errors.push(error)
    return stubGate({ claims: view, routes, facilitators: { ...honest, settle }, onError }, ledger)
  }
  const own = viewOf(claims, changes)
  const [first, second] = [await open('first', own), await open('second', viewOf(claims))]
  const required = requiredIn(responseOf(await first.gate.decide(ask('/a', undefined, { method }))))
  const { header, transactionId } = paymentFor(required, first.chain)
  const send = ({ gate }: typeof first): Promise<Decision> => gate.decide(ask('/a', header, { method }))
  return {
    ...{ claims, own, ledger, settled, errors, transactionId },
    toFirst: () => send(first),
    toSecond: () => send(second),
  }
}

/** Advances time only for the store: the timers of a killed gate do not run. */
function storeClock(t: TestContext): (ms: number) => void {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  return (ms) => t.mock.timers.tick(ms)
}

/** Advances time for everything, second by second. */
function worldClock(t: TestContext): (ms: number) => Promise<void> {
  t.mock.timers.enable({ apis: ['Date', 'setTimeout'], now: Date.now() })
  const [startMs, startDate] = [performance.now(), Date.now()]
  t.mock.method(performance, 'now', () => startMs + Date.now() - startDate)
  return async (ms) => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      t.mock.timers.tick(1_000)
      await new Promise(setImmediate)
    }
  }
}

async function errorIn(decision: Decision): Promise<[number, string]> {
  const response = responseOf(decision)
  return [response.status, ((await response.json()) as { error: string }).error]
}

test('another gate serves the request of a killed one within half a minute, and charges it once', async (t) => {
  const { toFirst, toSecond, ledger, transactionId } = await twoGates('GET')
  const pass = storeClock(t)
  admitted(await toFirst())
  pass(29_000)
  const busy = responseOf(await toSecond())
  assert.deepEqual([busy.status, busy.headers.get('Retry-After')], [503, '5'])
  assert.equal(PaymentHeaders.decodeReceipt(busy.headers.get('PAYMENT-RESPONSE')!).errorReason, 'settlement_pending')
  pass(2_000)
  assert.ok('headers' in (await admitted(await toSecond()).settle(answer)))
  assert.deepEqual([...ledger.transactions.keys()], [transactionId])
})

test('an order begun by a killed gate never runs again: its buyer gets response_lost, its seller answer_lost', async (t) => {
  const { toFirst, toSecond, ledger, errors, transactionId } = await twoGates('POST')
  const pass = storeClock(t)
  assert.equal(admitted(await toFirst()).settled?.transaction, transactionId)
  pass(29_000)
  assert.deepEqual(await errorIn(await toSecond()), [503, 'settlement_pending'])
  pass(2_000)
  const lost = await toSecond()
  assert.equal(PaymentHeaders.decodeReceipt(responseOf(lost).headers.get('PAYMENT-RESPONSE')!).success, true)
  assert.deepEqual(await errorIn(lost), [500, 'response_lost'])
  assert.deepEqual(
    errors.map((error) => (error as { code: string }).code),
    ['answer_lost'],
  )
  assert.match(String(errors[0]), new RegExp(transactionId))
  // The response did not arrive.
  await (lost as { undelivered: () => Promise<void> }).undelivered()
  pass(3_600_000)
  assert.deepEqual(await errorIn(await toSecond()), [500, 'response_lost'])
  assert.deepEqual([...ledger.transactions.keys()], [transactionId])
})

test('an order whose gate was killed before its handler began runs at another gate', async (t) => {
  const never = new Promise<boolean>(() => {})
  const { toFirst, toSecond, own, ledger, transactionId } = await twoGates('POST')
  const begun = new Promise<void>((resolve) => {
    Object.assign(own, {
      renewals: {
        ...own.renewals!,
        begin: () => {
          resolve()
          return never
        },
      },
    })
  })
  const pass = storeClock(t)
  void toFirst()
  await begun
  assert.equal(ledger.transactions.has(transactionId), true, 'it is settled')
  pass(31_000)
  assert.ok('headers' in (await admitted(await toSecond()).settle(answer)))
})

test('a live gate renews its leases, so that a handler of minutes is neither run again nor lost', async (t) => {
  for (const method of ['GET', 'POST'] as const) {
    await t.test(method, async (t) => {
      const { toFirst, toSecond, ledger, transactionId } = await twoGates(method)
      const pass = worldClock(t)
      const slow = admitted(await toFirst())
      for (let minutes = 0; minutes < 5; minutes++) {
        await pass(55_000)
        assert.deepEqual(await errorIn(await toSecond()), [503, 'settlement_pending'])
      }
      assert.ok('headers' in (await slow.settle(answer)))
      assert.deepEqual([...ledger.transactions.keys()], [transactionId])
    })
  }
})

test('a gate that was cut off neither settles nor answers a request that another took over', async (t) => {
  const { toFirst, toSecond, settled } = await twoGates('GET', {
    renewals: { renew: isDown, begin: isDown },
  })
  const pass = worldClock(t)
  const slow = admitted(await toFirst())
  await pass(31_000)
  const second = admitted(await toSecond())
  const late = await slow.settle(goods('of the first'))
  assert.ok('response' in late && late.response.status === 503)
  assert.deepEqual(settled, { first: 0, second: 0 })
  assert.ok('headers' in (await second.settle(goods('of the second'))))
  assert.deepEqual(settled, { first: 0, second: 1 })
})

test('a gate that was cut off does not answer an order that another reported as lost', async (t) => {
  const { toFirst, toSecond, own } = await twoGates('POST')
  const pass = worldClock(t)
  const slow = admitted(await toFirst())
  Object.assign(own, { renewals: { renew: isDown, begin: isDown } })
  await pass(31_000)
  assert.deepEqual(await errorIn(await toSecond()), [500, 'response_lost'])
  const late = await slow.settle(goods('of the first'))
  assert.ok('response' in late && late.response.status === 503)
})

test('a gate that cannot reach the store answers a settled order only while it has the lease', async (t) => {
  for (const [seconds, isAnswered] of [
    [10, true],
    [40, false],
  ] as const) {
    await t.test(`after ${seconds} seconds`, async (t) => {
      const { toFirst, toSecond, own } = await twoGates('POST')
      const pass = worldClock(t)
      const slow = admitted(await toFirst())
      const { hold, finish, renewals } = own
      Object.assign(own, { hold: isDown, finish: isDown, renewals: { renew: isDown, begin: isDown } })
      await pass(seconds * 1_000)
      const result = await slow.settle(answer)
      assert.equal('headers' in result, isAnswered)
      // The answer is stored when the store can be reached again, if no other gate has taken over.
      Object.assign(own, { hold, finish, renewals })
      await slow.undelivered()
      await pass(40_000)
      const found = responseOf(await toSecond())
      assert.deepEqual([found.status, await found.text()], [200, 'goods'])
    })
  }
})

test('an order does not run if its start cannot be recorded, and can be sent again', async () => {
  const { toFirst, toSecond, own, transactionId, ledger } = await twoGates('POST')
  Object.assign(own, { renewals: { ...own.renewals!, begin: isDown } })
  assert.equal(responseOf(await toFirst()).status, 503)
  const { settled, settle } = admitted(await toSecond())
  assert.equal(settled?.transaction, transactionId)
  assert.ok('headers' in (await settle(answer)))
  assert.equal(ledger.transactions.size, 1)
})

test('an order whose handler failed may be sent again, and runs again', async () => {
  const { toFirst, toSecond } = await twoGates('POST')
  await admitted(await toFirst()).cancel()
  assert.ok('headers' in (await admitted(await toSecond()).settle(answer)))
})

test('a payment repeated while the facilitator is down is released immediately', async () => {
  const ledger = newLedger()
  const honest = stubFacilitator(ledger)
  let isAway = false
  const away = (): void => {
    if (isAway) throw new FacilitatorError('facilitator_unavailable', 'away')
  }
  const verify: typeof honest.verify = (...call) => {
    away()
    return honest.verify(...call)
  }
  const settle: typeof honest.settle = (...call) => {
    away()
    return honest.settle(...call)
  }
  const { gate, chain } = await stubGate({ routes, facilitators: { ...honest, verify, settle } }, ledger)
  const { header } = paymentFor(requiredIn(responseOf(await gate.decide(ask('/a')))), chain)
  const admission = admitted(await gate.decide(ask('/a', header)))
  isAway = true
  // The claim of the payment is open.
  assert.ok('response' in (await admission.settle(undefined)))
  assert.equal(responseOf(await gate.decide(ask('/a', header))).status, 503)
  isAway = false
  assert.ok('headers' in (await admitted(await gate.decide(ask('/a', header))).settle(answer)))
})

test('leases of a store without renewals last as long as a request can take', async (t) => {
  const claims = new MemoryClaims()
  const { gate, chain } = await stubGate({ claims: viewOf(claims, { renewals: undefined }), routes })
  const { header } = paymentFor(requiredIn(responseOf(await gate.decide(ask('/a')))), chain)
  const pass = storeClock(t)
  admitted(await gate.decide(ask('/a', header)))
  pass(599_000)
  assert.equal(responseOf(await gate.decide(ask('/a', header))).status, 503)
  pass(2_000)
  admitted(await gate.decide(ask('/a', header)))
})
