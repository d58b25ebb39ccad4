import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, SignedTransaction, Transaction } from '@latchkey/algorand'
import { KmdClientError } from '@latchkey/kmd-client'
import * as Signer from '../../signer/Signer.js'
import { FeeSigner, type FeeSignerOptions } from './FeePayers.js'

const key = Signer.fromSeed(new Uint8Array(32).fill(1))
const self = Address.decode(key.address)
const bytes = Transaction.encode({ type: 'pay', snd: self, rcv: self, fee: 1_000n, lv: 9n, gh: self })
const transaction = { bytes, sender: self }

/** A signer whose check fails with the error that is set, with a clock that moves only on demand. */
function setUp(options: Partial<FeeSignerOptions> = {}) {
  const state = { nowMs: 0, checks: 0, error: undefined as unknown, errors: [] as unknown[] }
  const check = async (): Promise<void> => {
    state.checks++
    if (state.error !== undefined) throw state.error
  }
  const onError = (error: unknown): void => {
    state.errors.push(error)
  }
  return { state, signer: new FeeSigner({ ...key, check }, { onError, nowMs: () => state.nowMs, ...options }) }
}

test('trusts a check for ten seconds, and shares concurrent checks', async () => {
  const { state, signer } = setUp()
  assert.deepEqual(await Promise.all([signer.problem(), signer.problem()]), [undefined, undefined])
  assert.equal(state.checks, 1)
  state.nowMs = 9_999
  await signer.problem()
  assert.equal(state.checks, 1)
  state.nowMs = 10_000
  state.error = new Error('away')
  assert.match((await signer.problem())!, /does not respond/)
  assert.deepEqual([state.checks, state.errors.length], [2, 1])
  state.nowMs = 20_000
  state.error = undefined
  assert.equal(await signer.problem(), undefined)
})

test('a signature counts as a check, and a failed one is reported immediately', async () => {
  const { state, signer } = setUp()
  await signer.sign(transaction)
  assert.equal(await signer.problem(), undefined)
  assert.equal(state.checks, 0)
  const { signer: broken } = setUp()
  const failing = new FeeSigner(
    { ...broken.signer, sign: () => Promise.reject(new Error('no')) },
    { onError: () => {} },
  )
  await assert.rejects(failing.sign(transaction), /no/)
  assert.match((await failing.problem())!, /cannot sign/)
})

test('retries a wrong password after a minute, then less and less often, because the daemon counts attempts', async () => {
  const { state, signer } = setUp()
  state.error = new KmdClientError('wrong_password', 'wrong password', { operation: 'InitWalletHandleToken' })
  assert.match((await signer.problem())!, /rejects the password/)
  state.nowMs = 59_999
  await signer.problem()
  assert.equal(state.checks, 1)
  state.nowMs = 60_000
  await signer.problem()
  assert.equal(state.checks, 2)
  const dayMs = 86_400_000
  for (; state.nowMs < dayMs; state.nowMs += 10_000) assert.match((await signer.problem())!, /rejects the password/)
  assert.ok(state.checks < 32, `${state.checks} wrong passwords in a day`)
  state.nowMs = 2 * dayMs
  state.error = undefined
  assert.equal(await signer.problem(), undefined)
  const { checks } = state
  state.nowMs += 10_000
  state.error = new KmdClientError('wrong_password', 'wrong password', { operation: 'InitWalletHandleToken' })
  await signer.problem()
  state.nowMs += 60_000
  await signer.problem()
  assert.equal(state.checks, checks + 2, 'after a success the pause is short again')
})

test('reports a signer that takes too long, and does not query it twice', async () => {
  let checks = 0
  let finish = (): void => {}
  const check = (): Promise<void> => {
    checks++
    return new Promise((resolve) => {
      finish = resolve
    })
  }
  const signer = new FeeSigner({ ...key, check }, { onError: () => {}, patienceMs: 1 })
  assert.match((await signer.problem())!, /takes too long/)
  assert.match((await signer.problem())!, /takes too long/)
  assert.equal(checks, 1)
  finish()
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(await signer.problem(), undefined)
})

test('without its own check, a signer signs a transaction that no ledger accepts', async () => {
  const signed: Uint8Array[] = []
  const sign = async (bytes: Uint8Array): Promise<Uint8Array> => {
    signed.push(await key.sign(bytes))
    return signed.at(-1)!
  }
  await new FeeSigner({ address: key.address, sign }, { onError: () => {} }).check()
  const { txn: trial } = SignedTransaction.decode(signed[0]!)
  assert.deepEqual([trial.lv, trial.amt ?? 0n, Address.encode(trial.rcv!)], [1n, 0n, key.address])
  const lying = { address: key.address, sign: (bytes: Uint8Array) => bytes }
  await assert.rejects(new FeeSigner(lying, { onError: () => {} }).check(), { code: 'invalid_signature' })
  assert.ok(Transaction.encode(trial).length > 0)
})

test('does not retry a wrong password more often if the signer wraps the error', async () => {
  const { state, signer } = setUp()
  const cause = new KmdClientError('wrong_password', 'wrong password', { operation: 'InitWalletHandleToken' })
  state.error = new Error('wrong password; nothing was done', { cause })
  assert.match((await signer.problem())!, /rejects the password/)
  state.nowMs = 59_999
  await signer.problem()
  assert.equal(state.checks, 1)
  const circle = new Error('of itself')
  circle.cause = circle
  state.nowMs = 60_000
  state.error = circle
  assert.match((await signer.problem())!, /does not respond/)
})

test('payments do not retry a refused password, because each attempt could lock the owner out', async () => {
  let attempts = 0
  const clock = { nowMs: 0 }
  const error = new KmdClientError('wrong_password', 'wrong password', { operation: 'InitWalletHandleToken' })
  const sign = (): Promise<never> => {
    attempts++
    return Promise.reject(error)
  }
  const signer = new FeeSigner({ ...key, sign }, { onError: () => {}, nowMs: () => clock.nowMs })
  for (let payment = 0; payment < 20; payment++) await assert.rejects(signer.sign(transaction), error)
  assert.equal(attempts, 1)
  clock.nowMs = 60_000
  await assert.rejects(signer.sign(transaction), error)
  assert.equal(attempts, 2)
})

test('abandons a signature that takes too long, and reports a problem until the signer answers again', async () => {
  let finish = (_: Uint8Array): void => {}
  const state = { isStuck: true }
  const sign = (bytes: Uint8Array): Promise<Uint8Array> | Uint8Array =>
    state.isStuck
      ? new Promise<Uint8Array>((resolve) => {
          finish = resolve
        })
      : key.sign(bytes)
  const signer = new FeeSigner({ ...key, sign }, { onError: () => {}, signMs: 1 })
  assert.equal(signer.lastProblem(), undefined, 'nothing is known yet')
  await assert.rejects(signer.sign(transaction), { code: 'signer_timeout' })
  assert.match(signer.lastProblem()!, /takes too long/)
  finish(new Uint8Array())
  state.isStuck = false
  const patient = new FeeSigner({ ...key, sign }, { onError: () => {} })
  await patient.sign(transaction)
  assert.equal(patient.lastProblem(), undefined)
})

test('checks an old problem again in the background', async () => {
  const { state, signer } = setUp()
  state.error = new Error('away')
  await assert.rejects(signer.check())
  assert.equal(state.checks, 1)
  assert.match(signer.lastProblem()!, /does not respond/)
  assert.equal(state.checks, 1)
  state.nowMs = 10_000
  state.error = undefined
  assert.match(signer.lastProblem()!, /does not respond/, 'until the check is done')
  await signer.problem()
  assert.deepEqual([state.checks, signer.lastProblem()], [2, undefined])
})
