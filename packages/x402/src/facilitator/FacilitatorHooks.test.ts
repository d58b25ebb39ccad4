/** The hooks of a facilitator: refusals, hooks that fail, and settlements that are already recorded. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { PaymentPayload, PaymentRequirements, SettleResponse } from '@latchkey/x402-wire'
import { FacilitatorHookCalls, type FacilitatorHooks } from './FacilitatorHooks.js'

const payload = { x402Version: 2, payload: {} } as unknown as PaymentPayload
const requirements = { network: 'n', amount: '1', payTo: 'p' } as unknown as PaymentRequirements
const settled = { success: true, transaction: 'T', network: 'n' } as unknown as SettleResponse

function hooked(hooks: FacilitatorHooks) {
  const errors: unknown[] = []
  const calls = FacilitatorHookCalls.of({ hookTimeoutMs: 30, ...hooks }, (error) => errors.push(error))!
  let settlements = 0
  const settlement = {
    transactionId: 'T',
    isRecorded: async () => settlements > 0,
    settle: async () => {
      settlements++
      return settled
    },
  }
  const settle = (terms = requirements) => calls.settle(payload, terms, settlement)
  return { calls, errors, settle, settlements: () => settlements }
}

const failing: (() => unknown)[] = [
  () => {
    throw new Error('away')
  },
  () => new Promise(() => {}),
  () => true,
  () => ({ skip: true, result: settled }),
  () => ({ abort: true }),
]

test('a hook that throws, hangs or returns junk refuses, and nothing is verified or settled', async () => {
  for (const hook of failing) {
    const { calls, errors, settle, settlements } = hooked({
      onBeforeVerify: hook as never,
      onBeforeSettle: hook as never,
    })
    let verified = 0
    const result = await calls.verify(payload, requirements, async () => {
      verified++
      return { isValid: true }
    })
    assert.deepEqual([result.isValid, result.invalidReason, verified], [false, 'unexpected_verify_error', 0])
    const { success, errorReason } = await settle()
    assert.deepEqual([success, errorReason, settlements()], [false, 'unexpected_settle_error', 0])
    assert.equal(errors.length, 2)
  }
})

test('a settlement that is recorded cannot be refused, and its hooks are called once', async () => {
  const called: string[] = []
  const { settle, settlements } = hooked({
    onBeforeSettle: () => {
      called.push('before')
      return called.length > 1 && { abort: true, reason: 'late' }
    },
    onAfterSettle: () => called.push('after'),
  })
  assert.equal((await settle()).success, true)
  assert.equal((await settle()).success, true)
  assert.deepEqual([called, settlements()], [['before', 'after'], 2])
})

test('concurrent calls share a decision, and a call with other requirements has its own', async () => {
  let decisions = 0
  const { settle } = hooked({
    onBeforeSettle: async ({ requirements: { payTo } }) => {
      decisions++
      await new Promise((resolve) => setTimeout(resolve, 5))
      return payTo === 'blocked' && { abort: true, reason: 'blocked' }
    },
  })
  const other = { ...requirements, payTo: 'blocked' } as PaymentRequirements
  const results = await Promise.all([settle(other), settle(), settle()])
  assert.deepEqual(
    results.map(({ success }) => success),
    [false, true, true],
  )
  assert.equal(decisions, 2)
})

test('hooks get copies, and a failure stays a failure', async () => {
  const recovered = () => ({ recovered: true, result: { isValid: true } })
  const { calls, errors } = hooked({
    onBeforeVerify: ({ requirements: copy }) => {
      assert.throws(() => Object.assign(copy, { amount: '0' }))
      return undefined
    },
    onVerifyFailure: recovered,
  })
  const result = await calls.verify(payload, requirements, async () => ({ isValid: false, invalidReason: 'bad' }))
  assert.deepEqual([result.isValid, requirements.amount, errors.length], [false, '1', 1])
})

test('without hooks there is nothing to call', () => {
  assert.equal(
    FacilitatorHookCalls.of({}, () => {}),
    undefined,
  )
})
