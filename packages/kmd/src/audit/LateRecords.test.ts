import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { createApp } from '../testing/TestApp.test.helper.js'
import { hold } from '../testing/WalletFixture.test.helper.js'
import type { AuditEvent } from './AuditChain.js'
import { LateRecords } from './LateRecords.js'

const event = (address: string): AuditEvent => ({ event: 'key_generated', actor: { type: 'owner' }, address })

function late() {
  const written: string[][] = []
  const state = { nowMs: 0, finish: (): void => {} }
  const records = new LateRecords({
    write: (events) => {
      written.push(events.map(({ address = '' }) => address))
      return new Promise((resolve) => {
        state.finish = resolve
      })
    },
    now: () => state.nowMs,
  })
  return { records, written, state }
}

test('the first record is awaited, and those that follow at once are written together', async () => {
  const { records, written, state } = late()
  const first = records.add(event('a'))
  assert.deepEqual(written, [['a']])
  let isDone = false
  void first.then(() => {
    isDone = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(isDone, false)
  state.finish()
  await first
  state.nowMs = 50
  await Promise.all(['b', 'c', 'd'].map((address) => records.add(event(address))))
  assert.deepEqual(written, [['a']])
  const flushed = records.flush()
  assert.deepEqual(written, [['a'], ['b', 'c', 'd']])
  state.finish()
  await flushed
  state.nowMs = 300
  const again = records.add(event('e'))
  assert.deepEqual(written.at(-1), ['e'], 'after a while the next one is a first one again')
  state.finish()
  await again
})

test('pending records are bounded, and are written without a call', async () => {
  const { records, written, state } = late()
  const first = records.add(event('a'))
  state.finish()
  await first
  for (let i = 0; i < 999; i++) await records.add(event('b'))
  assert.equal(written.length, 1)
  const full = records.add(event('c'))
  assert.deepEqual([written.length, written[1]!.length], [2, 1000])
  state.finish()
  await full
  await records.add(event('d'))
  while (written.length < 3) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.deepEqual(written[2], ['d'])
})

test('keys generated in bulk are all in the log when it is read, in order, before later events', async (t) => {
  const app = createApp(t)
  const { id, handle } = await app.unlocked()
  const addresses: string[] = []
  for (let i = 0; i < 20; i++) {
    addresses.push((await app.post('/v1/key', { wallet_handle_token: handle })).json.address)
  }
  await app.post('/v1/wallet/init', { wallet_id: id, wallet_password: 'secret' })
  const { records } = await app.context.audit.search({ afterNumber: 0, count: 1_000 })
  const last = records.slice(-21)
  assert.deepEqual(
    last.map(({ event: name, address }) => [name, address]),
    [...addresses.map((address) => ['key_generated', address]), ['wallet_unlocked', undefined]],
  )
  assert.equal((await app.context.audit.verify()).problem, undefined)
})

test('records of generated keys that cannot be written are each counted as lost', async (t) => {
  const app = createApp(t)
  const { handle } = await app.unlocked()
  await app.post('/v1/key', { wallet_handle_token: handle })
  const release = hold(join(app.stateDirectory, 'latchkey_state.db'))
  for (let i = 0; i < 5; i++) {
    assert.equal((await app.post('/v1/key', { wallet_handle_token: handle })).status, 200)
  }
  await app.recorder.flush()
  assert.equal(app.recorder.lost, 5)
  release()
})
