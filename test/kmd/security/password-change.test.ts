/** K3: anything that the old password was opening during a password change must not stay open. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep, start } from '../../process/commands.test.helper.js'

/** Long enough for requests to overlap, short enough for many rounds. */
const settings = {
  drivers: { sqlite: { allow_unsafe_scrypt: true, scrypt: { scrypt_n: 8192 } }, ledger: { disable: true } },
}

test('a handle from an unlock in progress exports no keys with the old password', async (t) => {
  const kmd = await start(t, { settings })
  const id = await kmd.create('changing', 'password 0')
  const survived: string[] = []
  for (let round = 0; round < 12; round++) {
    const [old, next] = [`password ${round}`, `password ${round + 1}`]
    const body = { wallet_id: id, wallet_password: old, new_wallet_password: next }
    const changing = kmd.call('POST', '/latchkey/v1/wallet/password', body)
    const unlocking = Array.from({ length: 3 }, async (_, i) => {
      await sleep(20 * i)
      return kmd.tryUnlock(id, old)
    })
    assert.equal((await changing).status, 200)
    for (const { status, json } of await Promise.all(unlocking)) {
      if (status !== 200) continue
      const export_ = { wallet_handle_token: json.wallet_handle_token, wallet_password: old }
      const exported = await kmd.call('POST', '/v1/master-key/export', export_)
      if (exported.status === 200) survived.push(`round ${round}`)
    }
    await kmd.unlock(id, next)
  }
  assert.deepEqual(survived, [])
})

test('a handle does not outlive session_max_lifetime_secs, however often it is renewed', async (t) => {
  const kmd = await start(t, { settings: { session_lifetime_secs: 60, session_max_lifetime_secs: 3 } })
  const handle = await kmd.unlock(await kmd.create('short', 'pw'), 'pw')
  const renew = () => kmd.call('POST', '/v1/wallet/renew', { wallet_handle_token: handle })
  const openedAt = performance.now()
  for (;;) {
    const { status, json } = await renew()
    const livedMs = performance.now() - openedAt
    if (status !== 200) {
      assert.equal(status, 401)
      break
    }
    assert.ok(json.wallet_handle.expires_seconds <= 3)
    // Leaves room for a slow response.
    assert.ok(livedMs < 30_000, `renewed after ${livedMs} ms`)
    await sleep(100)
  }
})
