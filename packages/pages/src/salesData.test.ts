import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Network } from '@latchkey/algorand'
import { latencyElement } from './salesChart.js'
import { latencies } from './salesData.js'

test('counts settled payments by rounds until their confirmation, and ignores unknown and impossible ones', () => {
  const settled = [
    { firstValid: 100, round: 101 },
    { firstValid: 100, round: 103 },
    { firstValid: 100, round: 103 },
    { firstValid: 100, round: undefined },
    { firstValid: 100, round: 99 },
  ]
  assert.deepEqual(latencies(settled), [
    { rounds: 1, count: 1 },
    { rounds: 2, count: 0 },
    { rounds: 3, count: 2 },
  ])
  assert.deepEqual(latencies([{ firstValid: 1, round: 900 }]).at(-1), { rounds: 10, count: 1 })
  assert.deepEqual(latencies([]), [])
})

test('shows nothing without settled payments, and otherwise a row for each number of rounds', () => {
  const network = 'algorand:local'
  assert.equal(latencyElement([{ firstValid: 1, round: undefined, network }]), '')
  const html = latencyElement([
    { firstValid: 1, round: 2, network },
    { firstValid: 1, round: 90, network },
  ])
  assert.doesNotMatch(html, /Time|seconds/)
  assert.match(html, /the latest 2 settled payments/)
  assert.match(html, /<td>10 or more<svg[^>]*><rect width="100" height="1"\/><\/svg><\/td><td class="number">1<\/td>/)
})

test('shows rounds of the public networks as seconds', () => {
  const { caip2: network } = Network.mainnet
  const html = latencyElement([0, 1, 4, 90].map((rounds) => ({ firstValid: 1, round: 1 + rounds, network })))
  assert.match(html, /<th scope="col" class="number">Time<\/th>/)
  const times = [...html.matchAll(/<\/svg><\/td><td class="number">([^<]+)<\/td>/g)].map(([, time]) => time)
  assert.deepEqual(times.slice(0, 5), ['under 3 s', 'about 3 s', 'about 6 s', 'about 8 s', 'about 11 s'])
  assert.equal(times.at(-1), '28 s or more')
})
