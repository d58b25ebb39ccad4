import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Turns } from './settlementStep.js'

test('limits concurrency, and runs urgent work first, each kind in order', async () => {
  const turns = new Turns(2)
  const order: string[] = []
  let running = 0
  let most = 0
  const work = (name: string) => async () => {
    most = Math.max(most, ++running)
    order.push(name)
    await new Promise((resolve) => setImmediate(resolve))
    running--
    if (name === 'b1') throw new Error(name)
    return name
  }
  const background = ['b1', 'b2', 'b3', 'b4'].map((name) => turns.run(false, work(name)))
  const urgent = ['u1', 'u2'].map((name) => turns.run(true, work(name)))
  const results = await Promise.allSettled([...background, ...urgent])
  assert.deepEqual(order, ['b1', 'b2', 'u1', 'u2', 'b3', 'b4'])
  assert.deepEqual([most, results[0]!.status, results[5]!.status], [2, 'rejected', 'fulfilled'])
})
