import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type ClaimLease, type ClaimResult, type ClaimStore, MemoryClaims } from './Claims.js'
import { SqliteClaims } from './SqliteClaims.js'

const bound = { binding: 'b', proof: 'none' } as const
const lease: ClaimLease = { owner: 'a', ...bound, nowMs: 0, leaseMs: 100, network: 'n', round: 10n, forgetRound: 20n }

function file(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'claims-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return join(directory, 'claims.sqlite')
}

const stores: { [name: string]: (t: TestContext) => ClaimStore } = {
  MemoryClaims: () => new MemoryClaims(),
  SqliteClaims: (t) => {
    const store = new SqliteClaims(file(t))
    t.after(() => store.close())
    return store
  },
}

/** The type of the result. */
function claim(store: ClaimStore, transactionId: string, on: ClaimLease): string {
  return (store.claim(transactionId, on) as ClaimResult).type
}

for (const [name, open] of Object.entries(stores)) {
  test(`${name}: a payment is claimed once`, (t) => {
    const store = open(t)
    assert.equal(claim(store, 'x', lease), 'new')
    assert.equal(claim(store, 'x', { ...lease, owner: 'b' }), 'busy')
    store.finish('x', 'a', 'served', 0)
    assert.equal(claim(store, 'x', { ...lease, owner: 'b', nowMs: 1_000_000 }), 'taken')
    assert.equal(claim(store, 'y', lease), 'new')
  })

  test(`${name}: what is open is claimed again, and what was forgotten is new`, (t) => {
    const store = open(t)
    store.claim('x', lease)
    store.finish('x', 'a', 'open', 0)
    assert.equal(claim(store, 'x', { ...lease, owner: 'b' }), 'again')
    store.finish('x', 'b', 'forgotten', 0)
    assert.equal(claim(store, 'x', { ...lease, owner: 'c' }), 'new')
  })

  test(`${name}: what a process left is taken over, and that process has no say any more`, (t) => {
    const store = open(t)
    store.claim('x', lease)
    assert.equal(claim(store, 'x', { ...lease, owner: 'b', nowMs: 100 }), 'busy')
    assert.equal(claim(store, 'x', { ...lease, owner: 'b', nowMs: 101 }), 'again')
    for (const end of ['open', 'forgotten', 'served'] as const) store.finish('x', 'a', end, 0)
    assert.equal(claim(store, 'x', { ...lease, owner: 'c', nowMs: 102 }), 'busy')
    store.finish('x', 'b', 'open', 0)
    assert.equal(claim(store, 'x', { ...lease, owner: 'c', nowMs: 103 }), 'again')
  })

  test(`${name}: a claim outlives the clock, not the rounds`, (t) => {
    const store = open(t)
    store.claim('x', lease)
    store.finish('x', 'a', 'served', 0)
    const much = { ...lease, owner: 'b', nowMs: 10 ** 12 }
    assert.equal(claim(store, 'x', { ...much, round: 20n }), 'taken')
    // Cleaning is done now and then; and other networks have other rounds.
    const others = (round: bigint, network: string): void => {
      for (let index = 0; index < 1_000; index++) {
        store.claim(`${network}${round}-${index}`, { ...much, network, round, forgetRound: round + 1_000n })
      }
    }
    others(999n, 'other')
    assert.equal(claim(store, 'x', { ...much, round: 20n }), 'taken')
    others(21n, 'n')
    assert.equal(claim(store, 'x', { ...much, round: 21n }), 'new')
  })
}

test('SqliteClaims: two processes never claim the same payment', async (t) => {
  const path = file(t)
  new SqliteClaims(path).close()
  const script = fileURLToPath(new URL('./claims-process.test.helper.js', import.meta.url))
  const children = [fork(script, [path, 'a']), fork(script, [path, 'b'])]
  await Promise.all(children.map((child) => once(child, 'message')))
  for (const child of children) child.send('go')
  const counts = await Promise.all(children.map(async (child) => (await once(child, 'message'))[0] as number))
  assert.equal(counts[0]! + counts[1]!, 300)
  assert.ok(Math.min(...counts) > 0, 'both took part')
})

test('SqliteClaims: a claim survives the process', (t) => {
  const path = file(t)
  const first = new SqliteClaims(path)
  first.claim('x', lease)
  first.finish('x', 'a', 'served', 0)
  first.close()
  const second = new SqliteClaims(path)
  t.after(() => second.close())
  assert.equal(claim(second, 'x', { ...lease, owner: 'b' }), 'taken')
})
