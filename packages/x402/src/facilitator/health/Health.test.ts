import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sponsor } from '../../../../x402-wire/dist/payments.test.helper.js'
import { createFacilitatorHandler } from '../handler.js'
import { setUp } from '../setup.test.helper.js'
import { MemorySettlements } from '../store/Settlements.js'
import { StoreCheck } from './HealthChecks.js'

type Ready = { status: string; warnings: string[]; feeAccounts: Row[]; checks: Row[] }
type Row = { name: string; status: string; since: string; reason?: string; network?: string; balance?: string }

/** A stand-in for a database, which can be unavailable or hang. Keeps settlements in memory. */
class UnreliableStore extends MemorySettlements {
  ping = (): Promise<void> => Promise.resolve()
}

async function open(t: TestContext) {
  const store = new UnreliableStore()
  const { facilitator, node, errors } = await setUp(t, { store })
  const handler = createFacilitatorHandler({ facilitator })
  const get = async (path: string) => {
    const response = await handler(new Request(`http://facilitator.example${path}`))
    return { status: response.status, body: (await response.json()) as Ready }
  }
  return { store, facilitator, node, errors, get }
}

/** Waits until a check is no longer reused, after a second. */
const nextCheck = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1_100))

test('readiness lists every check with its state and since when', async (t) => {
  const { get, store, errors } = await open(t)
  const before = new Date().toISOString()
  const { status, body } = await get('/readyz')
  assert.deepEqual([status, body.status, body.warnings], [200, 'ready', []])
  assert.deepEqual(
    body.checks.map(({ name, status: state }) => [name, state]),
    [
      ['accepting', 'ok'],
      ['store', 'ok'],
      ['key', 'ok'],
      ['node', 'ok'],
      ['fee_balance', 'ok'],
    ],
  )
  assert.match(body.checks[3]!.network!, /^algorand:/)
  assert.deepEqual([body.feeAccounts[0]!.status, body.feeAccounts[0]!.balance], ['ok', '9.9 ALGO'])
  assert.match(JSON.stringify(body.feeAccounts), new RegExp(sponsor.address))

  store.ping = () => Promise.reject(new Error('connect ECONNREFUSED postgres://user:hunter2@10.0.0.1'))
  await nextCheck()
  const red = await get('/readyz')
  assert.deepEqual([red.status, red.body.status], [503, 'not ready'])
  const failed = red.body.checks.find(({ name }) => name === 'store')!
  assert.deepEqual(
    [failed.status, failed.reason],
    ['failed', 'the settlements database does not respond, or cannot be written'],
  )
  assert.ok(failed.since > before, 'since it failed')
  assert.ok(red.body.checks.find(({ name }) => name === 'node')!.since <= failed.since)
  assert.doesNotMatch(JSON.stringify(red.body), /hunter2|10\.0\.0\.1/)
  assert.match(String(errors[0]), /ECONNREFUSED/)

  await nextCheck()
  const still = await get('/readyz')
  assert.equal(still.body.checks.find(({ name }) => name === 'store')!.since, failed.since)
  assert.equal(errors.length, 1, 'the operator is told once')

  store.ping = () => Promise.resolve()
  await nextCheck()
  assert.equal((await get('/readyz')).status, 200, 'back by itself')
})

test('liveness depends on nothing outside the process', async (t) => {
  const { get, store, node } = await open(t)
  let pings = 0
  store.ping = () => {
    pings++
    return Promise.reject(new Error('away'))
  }
  node.on('GET params', () => 'hang')
  const { status, body } = await get('/livez')
  assert.deepEqual([status, body.status, pings, node.requests.length], [200, 'ok', 0, 0])
})

test('a draining facilitator is immediately not ready, and continues to settle', async (t) => {
  const { get, facilitator } = await open(t)
  assert.equal((await get('/readyz')).status, 200)
  facilitator.drain()
  const { status, body } = await get('/readyz')
  assert.equal(status, 503)
  assert.deepEqual([body.checks[0]!.name, body.checks[0]!.status], ['accepting', 'failed'])
  assert.equal((await get('/health')).status, 503, 'health says what readiness says')
  assert.equal((await get('/livez')).status, 200)
  assert.equal((await get('/supported')).status, 200)
  const text = facilitator.metrics.text()
  assert.match(text, /^latchkey_facilitator_draining 1$/m)
  assert.match(text, /^latchkey_facilitator_ready 0$/m)
})

test('the metrics report readiness and the database', async (t) => {
  const { store, facilitator } = await open(t)
  await facilitator.status()
  assert.match(facilitator.metrics.text(), /^latchkey_facilitator_ready 1$/m)
  assert.match(facilitator.metrics.text(), /^latchkey_facilitator_store_up 1$/m)
  assert.match(facilitator.metrics.text(), /^latchkey_facilitator_draining 0$/m)
  store.ping = () => Promise.reject(new Error('away'))
  await nextCheck()
  await facilitator.status()
  assert.match(facilitator.metrics.text(), /^latchkey_facilitator_ready 0$/m)
  assert.match(facilitator.metrics.text(), /^latchkey_facilitator_store_up 0$/m)
})

test('a hanging database is a problem after a while, is queried once, and recovers when it answers', async () => {
  let pings = 0
  let answer = (): void => {}
  const ping = (): Promise<void> => {
    pings++
    return new Promise((resolve) => {
      answer = resolve
    })
  }
  const check = new StoreCheck({ ping }, () => {}, 1)
  assert.match((await check.problem())!, /takes too long/)
  assert.match((await check.problem())!, /takes too long/)
  assert.equal(pings, 1)
  answer()
  await new Promise((resolve) => setImmediate(resolve))
  const again = check.problem()
  answer()
  assert.equal(await again, undefined)
})

test('a probe does not wait for a hanging node: it gets the previous status first, then the current one', async (t) => {
  const { facilitator, node } = await open(t)
  assert.equal((await facilitator.status()).isReady, true)
  let answer = (): void => {}
  node.on('GET account', async () => {
    await new Promise<void>((resolve) => {
      answer = resolve
    })
    return { status: 200, body: { amount: 100_000, 'min-balance': 100_000 } }
  })
  await nextCheck()
  assert.equal((await facilitator.status(1)).isReady, true, 'as before')
  facilitator.drain()
  assert.equal((await facilitator.status(1)).isReady, false, 'a signal to stop shows at once')
  const checked = facilitator.status()
  answer()
  await checked
  const { problem, checks } = await facilitator.status(1)
  assert.ok(problem !== undefined)
  assert.equal(checks.find(({ name }) => name === 'fee_balance')!.isOk, false)
})
