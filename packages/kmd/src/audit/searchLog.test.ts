import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openState } from '../state/openState.js'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import type { AuditEvent } from './AuditChain.js'
import { type Found, type Query, searchLog } from './searchLog.js'

const agent = { type: 'agent', id: 'A1', name: 'shopper' } as const
const owner = { type: 'owner' } as const

test('filters, paging and order', async (t) => {
  let nowMs = 1_000
  const { audit, close } = openState({ directory: temporaryDirectory(t), now: () => nowMs })
  t.after(close)
  const none = await audit.search({ count: 10 })
  assert.deepEqual(none, { records: [], continueFrom: undefined })
  const events: AuditEvent[] = [
    { event: 'wallet_created', actor: owner, wallet: 'w1' },
    {
      event: 'transaction_signed',
      actor: agent,
      wallet: 'w1',
      transaction: 'T1',
      detail: { claimed_url: 'https://Shop.example' },
    },
    { event: 'agent_changed', actor: owner, agent: 'A1', detail: { text: 'w2 "T1" owner' } },
    { event: 'agent_paused', actor: owner, detail: { agent_id: 'A1' } },
    { event: 'key_exported', actor: { type: 'console' }, wallet: 'w2', address: 'X' },
  ]
  for (const event of events) {
    await audit.record(event)
    nowMs += 1_000
  }
  const found = async (query: Partial<Query>): Promise<number[]> =>
    (await audit.search({ count: 100, ...query })).records.map(({ number }) => number)
  assert.deepEqual(await found({}), [5, 4, 3, 2, 1])
  assert.deepEqual(await found({ afterNumber: 0 }), [1, 2, 3, 4, 5])
  assert.deepEqual(await found({ events: ['key_exported', 'wallet_created'] }), [5, 1])
  assert.deepEqual(await found({ actor: 'owner' }), [4, 3, 1])
  for (const actor of ['agent', 'A1', 'shopper']) assert.deepEqual(await found({ actor }), [2], actor)
  assert.deepEqual(await found({ agent: 'A1' }), [4, 3, 2])
  assert.deepEqual(await found({ wallet: 'w2' }), [5], 'a text that has it elsewhere does not match')
  assert.deepEqual(await found({ transaction: 'T1' }), [2])
  assert.deepEqual(await found({ address: 'X' }), [5])
  assert.deepEqual(await found({ text: 'SHOP.EXAMPLE' }), [2])
  assert.deepEqual(await found({ text: '"T1"' }), [3], 'quotes are those of the text')
  assert.deepEqual(await found({ afterMs: 2_000, beforeMs: 4_000 }), [3, 2])
  assert.deepEqual(await found({ afterMs: 6_000 }), [])
  assert.deepEqual(await found({ beforeNumber: 3 }), [2, 1])
  assert.deepEqual(await found({ agent: "x' OR 1=1 --", text: '%' }), [])
})

test('a long search continues where it stopped, and lets other work run', async (t) => {
  const { audit, database, close } = openState({ directory: temporaryDirectory(t) })
  t.after(close)
  const count = 3_000
  await audit.change(() => {
    for (let index = 1; index <= count; index++) {
      audit.append({ event: index === 8 || index === count - 6 ? 'key_exported' : 'wallet_unlocked', actor: owner })
    }
  })
  const limits = { sliceLength: 100, maxScanned: 2_500, maxBytes: 1_000_000 }
  const search = (query: Partial<Query>) =>
    searchLog(database, { events: ['key_exported'], count: 10, ...query }, limits)
  const numbers = (found: Found): number[] => found.records.map(({ number }) => number)
  let turns = 0
  let isDone = false
  const beside = (): void => {
    turns++
    if (!isDone) setImmediate(beside)
  }
  beside()
  const first = await search({})
  isDone = true
  assert.ok(turns >= 25, `${turns} turns`)
  assert.deepEqual([numbers(first), first.continueFrom], [[count - 6], 501])
  const second = await search({ beforeNumber: first.continueFrom! })
  assert.deepEqual([numbers(second), second.continueFrom], [[8], undefined])
  const forwards = await search({ count: 1, afterNumber: 0 })
  assert.deepEqual([numbers(forwards), forwards.continueFrom], [[8], 8])
  const rest = await search({ afterNumber: 8 })
  assert.deepEqual([numbers(rest), rest.continueFrom], [[], 2_508])
  assert.deepEqual(numbers(await search({ afterNumber: 2_508 })), [count - 6])
})
