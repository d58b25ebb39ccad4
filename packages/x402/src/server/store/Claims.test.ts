import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import * as Sqlite from '../../db/sqlite/Sqlite.js'
import {
  type ClaimEnd,
  type ClaimLease,
  type ClaimResult,
  type ClaimStore,
  type HeldAnswer,
  keepServedMs,
  MemoryClaims,
} from './Claims.js'
import { SqliteClaims } from './sqlite/SqliteClaims.js'

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

/** A result without its fence. */
function unnumbered(result: ClaimResult | Promise<ClaimResult>): object {
  const { fence: _, ...found } = result as ClaimResult & { fence?: number }
  return found
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

  test(`${name}: an open claim is claimed again, and a forgotten one is new`, (t) => {
    const store = open(t)
    store.claim('x', lease)
    store.finish('x', 'a', 'open', 0)
    assert.equal(claim(store, 'x', { ...lease, owner: 'b' }), 'again')
    store.finish('x', 'b', 'forgotten', 0)
    assert.equal(claim(store, 'x', { ...lease, owner: 'c' }), 'new')
  })

  test(`${name}: takes over a claim that a process left, which that process can no longer change`, (t) => {
    const store = open(t)
    store.claim('x', lease)
    assert.equal(claim(store, 'x', { ...lease, owner: 'b', nowMs: 100 }), 'busy')
    assert.equal(claim(store, 'x', { ...lease, owner: 'b', nowMs: 101 }), 'again')
    for (const end of ['open', 'forgotten', 'served'] as const) store.finish('x', 'a', end, 0)
    assert.equal(claim(store, 'x', { ...lease, owner: 'c', nowMs: 102 }), 'busy')
    store.finish('x', 'b', 'open', 0)
    assert.equal(claim(store, 'x', { ...lease, owner: 'c', nowMs: 103 }), 'again')
  })

  test(`${name}: a claim expires by rounds, not by the clock`, (t) => {
    const store = open(t)
    store.claim('x', lease)
    store.finish('x', 'a', 'served', 0)
    const much = { ...lease, owner: 'b', nowMs: 10 ** 12 }
    assert.equal(claim(store, 'x', { ...much, round: 20n }), 'taken')
    // Old claims are deleted only occasionally, and other networks have other rounds.
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

const answer: HeldAnswer = {
  status: 201,
  headers: [
    ['set-cookie', 'a=1'],
    ['set-cookie', 'b=2'],
  ],
  body: new Uint8Array([0, 255, 10]),
}
const secret = { ...lease, proof: 'secret' } as const

for (const [name, open] of Object.entries(stores)) {
  test(`${name}: another binding, or a hash without its secret, changes nothing`, (t) => {
    const store = open(t)
    store.claim('x', { ...lease, proof: 'hash' })
    const strangers: ClaimLease[] = [
      { ...lease, owner: 'c', binding: 'other', proof: 'none' },
      { ...lease, owner: 'c', binding: 'other', proof: 'secret' },
      { ...lease, owner: 'c', proof: 'hash' },
    ]
    const areTaken = (): void => {
      for (const stranger of strangers) assert.equal(claim(store, 'x', { ...stranger, nowMs: 1_000 }), 'taken')
    }
    areTaken()
    assert.equal(claim(store, 'x', { ...secret, owner: 'b' }), 'busy')
    store.hold('x', 'c', answer)
    store.finish('x', 'c', 'forgotten', 0)
    store.hold('x', 'a', answer)
    store.finish('x', 'a', 'open', 0)
    areTaken()
    assert.deepEqual(unnumbered(store.claim('x', { ...secret, owner: 'b' })), { type: 'held', answer })
    store.finish('x', 'b', 'served', 0)
    areTaken()
  })

  test(`${name}: a ready answer goes to its proven buyer, even while its seller, which may have ended, has the claim`, (t) => {
    const store = open(t)
    store.claim('x', { ...lease, proof: 'hash' })
    store.hold('x', 'a', answer)
    assert.deepEqual(unnumbered(store.claim('x', { ...secret, owner: 'b' })), { type: 'held', answer })
    // The first request can no longer end the claim.
    store.finish('x', 'a', 'forgotten', 0)
    assert.equal(claim(store, 'x', { ...lease, owner: 'c', proof: 'hash' }), 'taken')
    store.finish('x', 'b', 'served', 0)
    assert.deepEqual(unnumbered(store.claim('x', { ...secret, owner: 'd' })), { type: 'held', answer })
  })

  test(`${name}: holds an answer until it was served, and then only for its proven buyer`, (t) => {
    const store = open(t)
    assert.equal(store.has('x'), false)
    store.claim('x', lease)
    assert.equal(store.has('x'), true)
    store.hold('x', 'a', answer)
    // The process ended before the settlement.
    assert.deepEqual(unnumbered(store.claim('x', { ...lease, owner: 'b', nowMs: 101 })), { type: 'held', answer })
    store.finish('x', 'b', 'served', 1_000)
    assert.equal(claim(store, 'x', { ...lease, owner: 'c', nowMs: 1_001 }), 'taken')
    // The answer did not arrive.
    store.finish('x', 'b', 'open', 1_000)
    assert.deepEqual(unnumbered(store.claim('x', { ...lease, owner: 'd', nowMs: 1_002 })), { type: 'held', answer })
    store.finish('x', 'd', 'served', 1_000)
    assert.deepEqual(unnumbered(store.claim('x', { ...secret, owner: 'e', nowMs: 1_003 })), { type: 'held', answer })
    store.finish('x', 'e', 'served', 1_000)
    const late = 1_000 + keepServedMs
    assert.equal(claim(store, 'x', { ...secret, owner: 'f', nowMs: late }), 'taken')
  })

  test(`${name}: a forgotten claim leaves no answer`, (t) => {
    const store = open(t)
    store.claim('x', lease)
    store.hold('x', 'a', answer)
    store.finish('x', 'a', 'forgotten', 0)
    assert.equal(store.has('x'), false)
    assert.equal(claim(store, 'x', { ...lease, owner: 'b' }), 'new')
    store.finish('x', 'b', 'open', 0)
    assert.equal(claim(store, 'x', { ...lease, owner: 'c' }), 'again')
  })
}

const bounded: { [name: string]: (t: TestContext) => ClaimStore } = {
  MemoryClaims: () => new MemoryClaims({ maxHeldBytes: 100 }),
  SqliteClaims: (t) => {
    const store = new SqliteClaims(file(t), { maxHeldBytes: 100 })
    t.after(() => store.close())
    return store
  },
}

for (const [name, open] of Object.entries(bounded)) {
  test(`${name}: limits the total size of answers, evicts served ones first, and marks claims without room as done`, (t) => {
    const store = open(t)
    const of40 = { status: 200, headers: [], body: new Uint8Array(40) }
    const serve = (id: string, end: ClaimEnd, held: HeldAnswer = of40): void => {
      store.claim(id, { ...secret, owner: id })
      store.hold(id, id, held)
      store.finish(id, id, end, 0)
    }
    const isHeld = (id: string): boolean => {
      const found = store.claim(id, { ...secret, owner: id }) as ClaimResult
      store.finish(id, id, 'open', 0)
      return found.type === 'held' && found.answer !== undefined
    }
    serve('served', 'served')
    serve('first', 'open')
    serve('second', 'open')
    assert.equal(claim(store, 'served', { ...secret, owner: 'x' }), 'taken')
    serve('third', 'open')
    assert.deepEqual(['first', 'second', 'third'].map(isHeld), [true, true, false])
    assert.deepEqual(unnumbered(store.claim('third', { ...secret, owner: 'x' })), { type: 'held', answer: undefined })
    serve('large', 'open', { ...of40, body: new Uint8Array(101) })
    assert.equal(isHeld('large'), false)
    store.finish('first', 'first', 'forgotten', 0)
    serve('fourth', 'open')
    assert.equal(isHeld('fourth'), true)
  })
}

test('SqliteClaims: served answers are deleted without further requests', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const path = file(t)
  const store = new SqliteClaims(path)
  t.after(() => store.close())
  store.claim('x', lease)
  store.hold('x', 'a', answer)
  store.finish('x', 'a', 'served', 0)
  const reader = Sqlite.open(path)
  t.after(() => reader.close())
  const count = (): number => Number((reader.prepare('SELECT COUNT(*) AS n FROM answers').get() as { n: number }).n)
  assert.equal(count(), 1)
  t.mock.timers.tick(keepServedMs + 1_000)
  assert.equal(count(), 0)
})

test('stores that share claims have the same id, others never', (t) => {
  const path = file(t)
  const [first, second] = [new SqliteClaims(path), new SqliteClaims(path)]
  t.after(() => [first, second].map((one) => one.close()))
  assert.equal(first.id, second.id)
  assert.equal(new Set([first.id, new MemoryClaims().id, new MemoryClaims().id]).size, 3)
  first.claim('x', lease)
  first.hold('x', 'a', answer)
  first.finish('x', 'a', 'open', 0)
  assert.deepEqual(unnumbered(second.claim('x', { ...lease, owner: 'b' })), { type: 'held', answer })
})

test('SqliteClaims: reads a file of the first version, and binds its open claims with the next claim', (t) => {
  const path = file(t)
  const old = Sqlite.open(path)
  old.exec(`
    CREATE TABLE claims (
      transaction_id TEXT PRIMARY KEY, owner TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('serving', 'open', 'served')),
      until_ms INTEGER NOT NULL, network TEXT NOT NULL, forget_round INTEGER NOT NULL, times INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX claims_by_round ON claims (network, forget_round);
    INSERT INTO claims VALUES ('served', 'o', 'served', 0, 'n', 20, 1), ('open', 'o', 'open', 0, 'n', 20, 1);`)
  old.close()
  const store = new SqliteClaims(path)
  t.after(() => store.close())
  assert.equal(claim(store, 'served', secret), 'taken')
  assert.equal(claim(store, 'open', lease), 'again')
  store.finish('open', 'a', 'open', 0)
  assert.equal(claim(store, 'open', { ...lease, binding: 'other' }), 'taken')
  assert.equal(claim(store, 'open', lease), 'again')
})

test('SqliteClaims: errors name a file of a later version, and a file that is not a database', (t) => {
  const path = file(t)
  const later = Sqlite.open(path)
  later.exec('PRAGMA user_version = 99')
  later.close()
  assert.throws(() => new SqliteClaims(path), { code: 'store_too_new', message: new RegExp(path) })
  const other = `${path}.txt`
  writeFileSync(other, 'no database'.repeat(1_000))
  assert.throws(() => new SqliteClaims(other), { code: 'store_failed', message: new RegExp(other) })
})

test('SqliteClaims: two processes never claim the same payment', async (t) => {
  const path = file(t)
  new SqliteClaims(path).close()
  const script = fileURLToPath(new URL('./claims-process.test.helper.js', import.meta.url))
  const children = [fork(script, [path, 'a']), fork(script, [path, 'b'])]
  for (const word of ['go', 'on']) {
    await Promise.all(children.map((child) => once(child, 'message')))
    for (const child of children) child.send(word)
  }
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
