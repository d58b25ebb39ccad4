import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as TimeLimit from './TimeLimit.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Waits, for at most a minute, until a signal that only its listener refers to aborts. Returns the reason. */
function aborted(make: () => AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const keepAlive = globalThis.setTimeout(() => reject(new Error('the signal never aborted')), 60_000)
    // The event's own target, so that the listener does not keep the signal.
    make().addEventListener('abort', ({ target }) => {
      clearTimeout(keepAlive)
      resolve((target as AbortSignal).reason)
    })
  })
}

async function collect(): Promise<void> {
  for (let count = 0; count < 2; count++) {
    await setTimeout(5)
    collectGarbage()
  }
}

test('a limit aborts after a garbage collection', async () => {
  const other = new AbortController()
  for (const others of [[], [other.signal]]) {
    const reason = aborted(() => TimeLimit.signal(100, ...others))
    await collect()
    assert.equal(((await reason) as DOMException).name, 'TimeoutError')
  }
})

test('the first of the other signals aborts with its own reason', async () => {
  const [first, second] = [new AbortController(), new AbortController()]
  const reason = aborted(() => TimeLimit.signal(60_000, first.signal, second.signal))
  await collect()
  second.abort('stopped')
  assert.equal(await reason, 'stopped')
  assert.equal(TimeLimit.signal(60_000, second.signal).reason, 'stopped')
})
