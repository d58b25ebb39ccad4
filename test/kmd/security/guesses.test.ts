/** K2: guessing passwords with only the API token must not keep programs from signing. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type Kmd, slowDrivers, start, type TestResponse } from '../../process/commands.test.helper.js'

const statuses = (responses: readonly TestResponse[]): number[] => responses.map(({ status }) => status)

/** Guesses until the wallet is locked. */
async function lock(kmd: Kmd, id: string): Promise<void> {
  const guesses = await Promise.all(Array.from({ length: 60 }, (_, i) => kmd.tryUnlock(id, `guess ${i}`)))
  assert.ok(statuses(guesses).includes(429))
  assert.equal((await kmd.tryUnlock(id, 'pw')).status, 429, 'the wallet is locked for unlocking')
}

// Concurrent, because the tests mostly wait, each for its own daemon.
suite('guesses', { concurrency: true }, () => {
  test('a program with an open handle and the right password keeps working while a wallet is guessed at', async (t) => {
    const kmd = await start(t)
    const id = await kmd.create('signing', 'pw')
    const handle = await kmd.unlock(id, 'pw')
    const address = await kmd.generate(handle)
    await lock(kmd, id)
    const used: TestResponse[] = []
    for (let i = 0; i < 20; i++) {
      const key = { wallet_handle_token: handle, wallet_password: 'pw', address }
      used.push(await kmd.call('POST', '/v1/program/sign', { ...key, data: 'AQ==' }))
      used.push(await kmd.call('POST', '/v1/key/export', key))
      used.push(await kmd.call('POST', '/v1/wallet/renew', { wallet_handle_token: handle }))
    }
    assert.deepEqual(statuses(used), new Array(60).fill(200))
  })

  test('guesses on one handle slow down only that handle, not other handles or unlocking', async (t) => {
    const kmd = await start(t)
    const id = await kmd.create('shared', 'pw')
    const [stolen, own] = [await kmd.unlock(id, 'pw'), await kmd.unlock(id, 'pw')]
    const exporting = (handle: string, password: string): Promise<TestResponse> =>
      kmd.call('POST', '/v1/master-key/export', { wallet_handle_token: handle, wallet_password: password })
    const guesses = await Promise.all(Array.from({ length: 60 }, (_, i) => exporting(stolen, `guess ${i}`)))
    assert.ok(statuses(guesses).includes(429))
    assert.equal((await exporting(stolen, 'pw')).status, 429)
    assert.equal((await exporting(own, 'pw')).status, 200)
    assert.equal((await kmd.tryUnlock(id, 'pw')).status, 200)
  })

  test('concurrent guesses wait as long as sequential guesses', async (t) => {
    // The default derivation takes long enough for all of them to overlap.
    const kmd = await start(t, { settings: slowDrivers })
    const id = await kmd.create('stormed', 'pw')
    const guess = { wallet_id: id, wallet_password: 'guess' }
    // Each derivation takes several seconds on a busy machine.
    const patient = { timeoutMs: 600_000 }
    const guesses = await Promise.all(
      Array.from({ length: 17 }, () => kmd.call('POST', '/v1/wallet/init', guess, patient)),
    )
    // Three are free, six wait for up to 8 seconds each, and the wait of the tenth is too long.
    const looked = statuses(guesses).filter((status) => status === 401).length
    assert.ok(looked <= 12, `${looked} of 17 guesses were looked at`)
  })
})
