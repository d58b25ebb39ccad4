import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Turns } from './Turns.js'

/** Works until it has paused this many times. */
async function work(turns: Turns, pauses: number, onPause: () => void): Promise<void> {
  await turns.run(async (slice) => {
    for (let left = pauses; left > 0; ) {
      const pause = slice.pause()
      if (pause === undefined) continue
      left--
      onPause()
      await pause
    }
  })
}

test('other work runs between any two slices of searches', async () => {
  const turns = new Turns()
  const events: string[] = []
  let isOver = false
  const other = (): void => {
    events.push('other')
    if (!isOver) setImmediate(other)
  }
  setImmediate(other)
  await Promise.all([1, 2, 3].map((number) => work(turns, 3, () => events.push(`slice ${number}`))))
  isOver = true
  const later = events.slice(events.indexOf('other'))
  assert.ok(later.filter((event) => event !== 'other').length >= 6)
  for (let index = 1; index < later.length; index++) {
    assert.ok(later[index] === 'other' || later[index - 1] === 'other', later.join(', '))
  }
})

test('two short searches never follow each other without other work, however many wait', async () => {
  const turns = new Turns()
  let [loops, isOver] = [0, false]
  const other = (): void => {
    loops++
    if (!isOver) setImmediate(other)
  }
  setImmediate(other)
  const startedIn: number[] = []
  const searches = Array.from({ length: 30 }, () =>
    turns.run(() => {
      startedIn.push(loops)
      return Promise.resolve()
    }),
  )
  await Promise.all(searches)
  isOver = true
  assert.equal(new Set(startedIn).size, 30, startedIn.join(', '))
})

test('few searches run at once, and all end', async () => {
  const turns = new Turns()
  let running = 0
  let most = 0
  await Promise.all(
    Array.from({ length: 30 }, () =>
      turns.run(async (slice) => {
        running++
        most = Math.max(most, running)
        while (slice.pause() === undefined);
        await slice.pause()
        running--
      }),
    ),
  )
  assert.equal(running, 0)
  assert.equal(most, 4)
})

test('a search that fails makes room for the next one', async () => {
  const turns = new Turns()
  const failing = Array.from({ length: 10 }, () =>
    turns.run(() => Promise.reject(new Error('no'))).catch(() => 'failed'),
  )
  assert.deepEqual(new Set(await Promise.all(failing)), new Set(['failed']))
  assert.equal(await turns.run(() => Promise.resolve('done')), 'done')
})

test('a search whose client is gone ends, and a waiting one does not begin', async () => {
  const turns = new Turns()
  const listeners: (() => void)[] = []
  let begun = 0
  const endless = () =>
    turns.run(
      async (slice) => {
        begun++
        for (;;) await slice.pause()
      },
      (listener) => listeners.push(listener),
    )
  const gone = Array.from({ length: 50 }, () => assert.rejects(endless(), /the client closed the connection/))
  while (begun < 4) await new Promise((resolve) => setImmediate(resolve))
  for (const listener of listeners) listener()
  await Promise.all(gone)
  assert.equal(begun, 4)
  assert.equal(await turns.run(() => Promise.resolve('done')), 'done')
})
