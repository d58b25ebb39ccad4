import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Ed25519 } from '@latchkey/algorand'
import { createApp } from '../testing/TestApp.test.helper.js'

const seed = Buffer.alloc(32, 11)
const publicKey = Buffer.from(Ed25519.publicKey(seed))
const zeros = Buffer.alloc(32)

for (const wire of ['reference', 'documented'] as const) {
  test(`a seed followed by 32 zeros counts as the seed, as sent by goal account import (${wire})`, async (t) => {
    const app = createApp(t, { wire })
    const { handle } = await app.unlocked()
    const key = Buffer.concat([seed, zeros])
    for (const [i, private_key] of [key.toString('base64'), [...key]].entries()) {
      const response = await app.post('/v1/key/import', { wallet_handle_token: handle, private_key })
      if (i === 0) assert.equal(response.json.address, Address.encode(publicKey), response.text)
      else assert.equal(response.json.message, 'key already exists in wallet', 'in integers it is the same key')
    }
    const exported = await app.post('/v1/key/export', {
      ...{ wallet_handle_token: handle, address: Address.encode(publicKey), wallet_password: 'secret' },
    })
    assert.deepEqual(Buffer.from(exported.json.private_key, 'base64'), Buffer.concat([seed, publicKey]))
  })
}

test('a public half with one byte that is neither correct nor zero is rejected, at any position', async (t) => {
  const app = createApp(t)
  const { handle } = await app.unlocked()
  for (let at = 0; at < 32; at++) {
    for (const half of [zeros, publicKey]) {
      const wrong = Buffer.from(half)
      wrong[at]! ^= 1
      const private_key = Buffer.concat([seed, wrong]).toString('base64')
      const { status, json } = await app.post('/v1/key/import', { wallet_handle_token: handle, private_key })
      assert.deepEqual(
        [status, json.message],
        [400, 'private_key is damaged: its public half does not belong to its seed'],
        `byte ${at}`,
      )
    }
  }
})
