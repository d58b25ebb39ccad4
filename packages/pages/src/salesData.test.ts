import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  assert.equal(latencyElement([{ firstValid: 1, round: undefined }]), '')
  const html = latencyElement([
    { firstValid: 1, round: 2 },
    { firstValid: 1, round: 90 },
  ])
  assert.match(html, /the latest 2 settled payments/)
  assert.match(html, /<td>10 or more<svg[^>]*><rect width="100" height="1"\/><\/svg><\/td><td class="number">1<\/td>/)
})
