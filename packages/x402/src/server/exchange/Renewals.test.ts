import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import test from 'node:test'
import { type ClaimLease, type HeldClaim, MemoryClaims } from '../store/Claims.js'
import { Renewals } from './Renewals.js'

const longestMs = 600_000

/** Leases of a minute at a store that records its renewals. */
function setUp(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.now() })
  const [startMs, startDate] = [performance.now(), Date.now()]
  t.mock.method(performance, 'now', () => startMs + Date.now() - startDate)
  const claims = new MemoryClaims()
  const batches: string[][] = []
  const state = { isDown: false }
  const { begin } = claims.renewals
  const renew = async (held: readonly HeldClaim[], leaseMs: number, nowMs: number): Promise<readonly string[]> => {
    batches.push(held.map(({ owner }) => owner))
    if (state.isDown) throw new Error('the store is away')
    return claims.renewals.renew(held, leaseMs, nowMs)
  }
  const view = Object.create(claims, { renewals: { value: { renew, begin } } }) as MemoryClaims
  for (const name of ['claim', 'hold', 'finish'] as const) {
    Object.defineProperty(view, name, { value: claims[name].bind(claims) })
  }
  const errors: unknown[] = []
  const renewals = new Renewals({ claims: view, leaseMs: 60_000, onError: (error) => errors.push(error) })
  const claim = (transactionId: string, owner = transactionId) => {
    const bound = { binding: 'b', proof: 'none', network: 'n', round: 1n, forgetRound: 9n } as const
    const lease: ClaimLease = { ...bound, owner, nowMs: Date.now(), leaseMs: longestMs }
    return renewals.claim(transactionId, lease)
  }
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      t.mock.timers.tick(1_000)
      await new Promise(setImmediate)
    }
  }
  return { claims, renewals, claim, batches, errors, state, pass }
}

test('renews all claims of a gate in one batch, three times per lease', async (t) => {
  const { claim, renewals, batches, pass } = setUp(t)
  const leases = await Promise.all(['x', 'y', 'z'].map(async (id) => (await claim(id)).lease))
  await pass(19)
  assert.deepEqual(batches, [])
  await pass(42)
  assert.deepEqual(batches, Array(3).fill(['x', 'y', 'z']))
  assert.ok(leases.every((lease) => renewals.isHeld(lease)))
})

test('does not renew ended claims, and sets no timer for them', async (t) => {
  const { claim, renewals, batches, pass } = setUp(t)
  const { lease } = await claim('x')
  renewals.release(lease)
  await pass(120)
  assert.deepEqual(batches, [])
})

test('does not renew a claim that another request has', async (t) => {
  const { claim, batches, pass } = setUp(t)
  await claim('x', 'a')
  assert.equal((await claim('x', 'b')).result.type, 'busy')
  await pass(21)
  assert.deepEqual(batches, [['a']])
})

test('retries soon after a failed renewal, and reports the failure once', async (t) => {
  const { claim, renewals, batches, errors, state, pass } = setUp(t)
  const { lease } = await claim('x')
  state.isDown = true
  await pass(32)
  assert.ok(batches.length >= 3, `${batches.length}`)
  assert.equal(errors.length, 1)
  assert.ok(renewals.isHeld(lease), 'as long as it lasts')
  state.isDown = false
  await pass(5)
  state.isDown = true
  await pass(50)
  assert.equal(errors.length, 2)
  assert.ok(renewals.isHeld(lease))
  await pass(12)
  assert.equal(renewals.isHeld(lease), false)
})

test('a lease counts from before the renewal was sent', async (t) => {
  const { claim, renewals, claims, pass } = setUp(t)
  let respond = (_: readonly string[]): void => {}
  Object.assign(claims.renewals, { renew: () => new Promise<readonly string[]>((resolve) => (respond = resolve)) })
  const { lease } = await claim('x')
  await pass(50)
  respond(['x'])
  await pass(29)
  assert.ok(renewals.isHeld(lease))
  await pass(2)
  assert.equal(renewals.isHeld(lease), false, 'a minute after second 20')
})

test('a claim that the store does not renew is lost immediately', async (t) => {
  const { claim, claims, renewals, batches, pass } = setUp(t)
  const { lease } = await claim('x')
  claims.finish('x', 'x', 'forgotten', Date.now())
  await pass(21)
  assert.equal(renewals.isHeld(lease), false)
  await pass(60)
  assert.equal(batches.length, 1, 'it is not renewed any more')
})

test('renews a claim no longer than a request can take', async (t) => {
  const { claim, claims, renewals, pass } = setUp(t)
  const { lease } = await claim('x')
  await pass(599)
  assert.ok(renewals.isHeld(lease))
  await pass(62)
  assert.equal(renewals.isHeld(lease), false)
  assert.equal((await claim('x', 'other')).result.type, 'again')
  assert.equal(claims.size, 1)
})

test('sends many claims in several batches', async (t) => {
  const { claim, batches, pass } = setUp(t)
  await Promise.all(Array.from({ length: 1_200 }, (_, index) => claim(String(index))))
  await pass(21)
  assert.deepEqual(
    batches.map(({ length }) => length),
    [500, 500, 200],
  )
})

test('reports whether a handler may begin', async (t) => {
  const { claim, claims, renewals } = setUp(t)
  const { lease } = await claim('x')
  assert.equal(await renewals.begin(lease), true)
  assert.equal(await renewals.begin({ ...lease, fence: lease.fence! + 1 }), false)
  claims.finish('x', 'x', 'open', Date.now())
  assert.equal(await renewals.begin(lease), false)
})
