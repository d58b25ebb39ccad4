import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Batches } from './Batches.js'

type Sent = { readonly items: readonly string[]; readonly answer: () => void }

function open(maxWaitMs: number) {
  const sent: Sent[] = []
  const batches = new Batches<string, string>({
    run: (items) => new Promise((resolve) => sent.push({ items, answer: () => resolve(items) })),
    key: (item) => item,
    maxItems: 2,
    maxRunning: 1,
    maxWaitMs,
    late: () => new Error('late'),
    isOfItem: () => false,
  })
  return { batches, sent }
}

test('items that wait for a hanging database fail in time, and are not sent later', async () => {
  const { batches, sent } = open(30)
  // The timer of the batches does not keep the process running.
  const alive = setInterval(() => {}, 1_000)
  const first = ['a', 'b'].map((item) => batches.add(item))
  await new Promise((resolve) => setImmediate(resolve))
  const waiting = ['c', 'd', 'a'].map((item) => batches.add(item))
  for (const one of await Promise.allSettled(waiting)) assert.equal(one.status, 'rejected')
  const idle = batches.idle()
  sent[0]!.answer()
  assert.deepEqual(await Promise.all(first), ['a', 'b'])
  await idle
  const later = batches.add('e')
  await new Promise((resolve) => setImmediate(resolve))
  sent[1]!.answer()
  assert.equal(await later, 'e')
  assert.deepEqual(
    sent.map(({ items }) => items),
    [['a', 'b'], ['e']],
  )
  clearInterval(alive)
})

test('items of a batch that is sent one by one fail if they come too late, and are not sent', async () => {
  const sent: string[] = []
  const batches = new Batches<string, string>({
    run: async (items) => {
      sent.push(items.join(' '))
      if (items.length > 1) throw new Error('one of them')
      await new Promise((resolve) => setTimeout(resolve, 1_100))
      return items
    },
    key: (item) => item,
    maxItems: 5,
    maxRunning: 1,
    maxWaitMs: 1_000,
    late: () => new Error('late'),
    isOfItem: () => true,
  })
  const results = await Promise.allSettled(['a', 'b', 'c'].map((item) => batches.add(item)))
  assert.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason))),
    ['a', 'Error: late', 'Error: late'],
  )
  assert.deepEqual(sent, ['a b c', 'a'])
})
