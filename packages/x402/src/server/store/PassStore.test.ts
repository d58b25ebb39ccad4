import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as Sqlite from '../../db/sqlite/Sqlite.js'
import { type ClaimStore, MemoryClaims } from './Claims.js'
import { cleanEvery, type PassStore } from './PassStore.js'
import { SqliteClaims } from './sqlite/SqliteClaims.js'

function file(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-passes-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return join(directory, 'claims.db')
}

const lease = { owner: 'a', binding: 'b', proof: 'none', nowMs: 0, leaseMs: 1, network: 'n', forgetRound: 5n } as const
const stores: { [name: string]: (t: TestContext) => ClaimStore & { passes: PassStore } } = {
  MemoryClaims: () => new MemoryClaims(),
  SqliteClaims: (t) => {
    const store = new SqliteClaims(file(t))
    t.after(() => store.close())
    return store
  },
}

for (const [name, open] of Object.entries(stores)) {
  test(`${name}: a pass is recorded once, and issued again unchanged`, async (t) => {
    const { passes } = open(t)
    assert.deepEqual(await passes.issue('x', { nowMs: 0, untilMs: 100, requests: 3 }), {
      untilMs: 100,
      requestsLeft: 3,
    })
    assert.deepEqual(await passes.take('x', 1), { type: 'taken', requestsLeft: 2 })
    const again = await passes.issue('x', { nowMs: 50, untilMs: 150, requests: 9 })
    assert.deepEqual(again, { untilMs: 100, requestsLeft: 2 })
  })

  test(`${name}: takes exactly the available requests, and returns no more than were taken`, async (t) => {
    const { passes } = open(t)
    await passes.issue('x', { nowMs: 0, untilMs: 100, requests: 2 })
    await passes.giveBack('x')
    assert.deepEqual(await passes.take('x', 1), { type: 'taken', requestsLeft: 1 })
    assert.deepEqual(await passes.take('x', 1), { type: 'taken', requestsLeft: 0 })
    assert.deepEqual(await passes.take('x', 1), { type: 'used_up' })
    await passes.giveBack('x')
    assert.deepEqual(await passes.take('x', 1), { type: 'taken', requestsLeft: 0 })
    for (let times = 0; times < 5; times++) await passes.giveBack('x')
    assert.deepEqual(await passes.take('x', 1), { type: 'taken', requestsLeft: 1 })
  })

  test(`${name}: a pass that has expired, is not counted or was never issued has no requests to take`, async (t) => {
    const { passes } = open(t)
    await passes.issue('ended', { nowMs: 0, untilMs: 100, requests: 2 })
    await passes.issue('any', { nowMs: 0, untilMs: 100, requests: undefined })
    for (const id of ['ended', 'any', 'none']) assert.deepEqual(await passes.take(id, 100), { type: 'unknown' }, id)
    assert.deepEqual(await passes.take('any', 1), { type: 'unknown' })
    await passes.giveBack('any')
    await passes.giveBack('none')
  })

  test(`${name}: keeps the record of an expired pass as long as its payment can be sent again`, async (t) => {
    const store = open(t)
    await store.claim('claimed', { ...lease, round: 1n })
    for (const id of ['claimed', 'forgotten']) await store.passes.issue(id, { nowMs: 0, untilMs: 10, requests: 1 })
    for (let index = 0; index < cleanEvery; index++) {
      await store.passes.issue(`other-${index}`, { nowMs: 20, untilMs: 30, requests: 1 })
    }
    const later = { nowMs: 20, untilMs: 99, requests: 5 }
    assert.deepEqual(await store.passes.issue('claimed', later), { untilMs: 10, requestsLeft: 1 })
    assert.deepEqual(await store.passes.issue('forgotten', later), { untilMs: 99, requestsLeft: 5 })
  })
}

test('SqliteClaims: two processes take exactly the requests of a pass', async (t) => {
  const path = file(t)
  const store = new SqliteClaims(path)
  t.after(() => store.close())
  store.passes.issue('payment', { nowMs: 0, untilMs: Date.now() + 600_000, requests: 200 })
  const script = fileURLToPath(new URL('./passes-process.test.helper.js', import.meta.url))
  const children = [fork(script, [path]), fork(script, [path])]
  for (const word of ['go', 'on']) {
    await Promise.all(children.map((child) => once(child, 'message')))
    for (const child of children) child.send(word)
  }
  const counts = await Promise.all(children.map(async (child) => (await once(child, 'message'))[0] as number))
  assert.ok(counts[0]! + counts[1]! <= 200)
  let left = 0
  while (store.passes.take('payment', Date.now()).type === 'taken') left++
  assert.equal(counts[0]! + counts[1]! + left, 200)
  assert.ok(Math.min(...counts) > 0, 'both took part')
})

test('SqliteClaims: passes survive the process, and are added to a file from before they existed', (t) => {
  const path = file(t)
  const first = new SqliteClaims(path)
  first.claim('x', { ...lease, round: 1n })
  first.close()
  const old = Sqlite.open(path)
  old.exec('DROP TABLE passes')
  old.close()
  const second = new SqliteClaims(path)
  second.passes.issue('x', { nowMs: 0, untilMs: 100, requests: 2 })
  second.passes.take('x', 1)
  second.close()
  const third = new SqliteClaims(path)
  t.after(() => third.close())
  assert.ok(third.has('x'))
  assert.deepEqual(third.passes.take('x', 1), { type: 'taken', requestsLeft: 0 })
})
