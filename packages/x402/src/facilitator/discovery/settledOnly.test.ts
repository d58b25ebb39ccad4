/** Which payments reach the catalogue. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { refused } from '../../../../algod/dist/FakeNode.test.helper.js'
import { sponsored } from '../../../../x402-wire/dist/payments.test.helper.js'
import { setUp } from '../setup.test.helper.js'
import { required } from './catalogue.test.helper.js'

async function open(t: TestContext, options: object = {}) {
  const setup = await setUp(t, { discovery: {}, ...options })
  const noted: string[] = []
  t.mock.method(setup.facilitator.catalogue!, 'add', (_: unknown, { transactionId }: { transactionId: string }) => {
    noted.push(transactionId)
  })
  const pay = () => {
    const { payload, requirements, id } = sponsored()
    const { resource, extensions } = required('/weather')
    return { payload: { ...payload, resource, extensions: extensions! }, requirements, id }
  }
  return { ...setup, noted, pay }
}

test('a settled payment is noted once, however often its settlement is requested', async (t) => {
  const { facilitator, noted, pay } = await open(t)
  const { payload, requirements, id } = pay()
  assert.equal((await facilitator.verify(payload, requirements)).isValid, true)
  assert.deepEqual(noted, [], 'a verified payment is not settled')
  for (let time = 0; time < 3; time++) {
    assert.equal((await facilitator.settle(payload, requirements)).success, true)
  }
  assert.deepEqual(noted, [id])
})

test('refused, invalid and pending payments are not noted', async (t) => {
  const { facilitator, node, noted, pay } = await open(t, { settleTimeoutMs: 50 })
  node.on('POST submit', () => refused('overspend'))
  const failing = pay()
  assert.equal((await facilitator.settle(failing.payload, failing.requirements)).success, false)
  const wrong = pay()
  const other = { ...wrong.requirements, amount: '999999' }
  assert.equal((await facilitator.settle(wrong.payload, other)).success, false)
  assert.deepEqual(noted, [])

  const late = await open(t, { settleTimeoutMs: 50 })
  late.node.confirmedRound = undefined
  const pending = late.pay()
  assert.equal((await late.facilitator.settle(pending.payload, pending.requirements)).errorReason, 'settlement_pending')
  assert.deepEqual(late.noted, [])
})
