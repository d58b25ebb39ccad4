/**
 * K-b: `goal` checks whether a wallet is unencrypted by unlocking it with a blank password, before nearly every
 * command.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHosted } from '../../process/commands.test.helper.js'

test('serves forty commands, each with a blank probe before the right password', async (t) => {
  const kmd = await startHosted(t)
  const id = await kmd.create('everyday', 'pw')
  const refused: string[] = []
  for (let command = 1; command <= 40; command++) {
    const probe = await kmd.tryUnlock(id, '')
    if (probe.status !== 401) refused.push(`probe ${command}: ${probe.status} ${probe.text}`)
    const unlocked = await kmd.tryUnlock(id, 'pw')
    if (unlocked.status !== 200) refused.push(`command ${command}: ${unlocked.status} ${unlocked.text}`)
  }
  assert.deepEqual(refused, [])
})

test('wrong passwords delay neither a blank probe nor a wallet without a password', async (t) => {
  const kmd = await startHosted(t)
  const [locked, open] = [await kmd.create('locked', 'pw'), await kmd.create('open', '')]
  const handle = await kmd.unlock(open, '')
  const guess = async (id: string): Promise<void> => {
    const guesses = await Promise.all(Array.from({ length: 60 }, (_, i) => kmd.tryUnlock(id, `guess ${i}`)))
    assert.ok(guesses.some(({ status }) => status === 429))
  }
  await Promise.all([open, locked].map(guess))
  // The probe must not become a way around the wait.
  assert.equal((await kmd.tryUnlock(locked, 'pw')).status, 429)
  assert.equal((await kmd.tryUnlock(locked, '')).status, 401)
  assert.equal((await kmd.tryUnlock(locked, 'pw')).status, 429)
  assert.equal((await kmd.tryUnlock(open, '')).status, 200)
  const exported = await kmd.call('POST', '/v1/master-key/export', { wallet_handle_token: handle, wallet_password: '' })
  assert.equal(exported.status, 200)
})
