/**
 * K4: opens the maximum number of handles, each of which has signed. Separate blocks needed more mappings than Linux
 * allows.
 */
import assert from 'node:assert/strict'
import * as http from 'node:http'
import { test } from 'node:test'
import { type Json, type Kmd, start } from '../../process/commands.test.helper.js'

const handleLimit = 16_384
/** Fewer than the number that may wait to unlock one wallet. */
const clients = 16

/** Uses few connections, because one per request would use up the ports. */
function keepAliveClient(kmd: Kmd): { post: (path: string, body: object) => Promise<Answer>; close: () => void } {
  const agent = new http.Agent({ keepAlive: true, maxSockets: clients })
  const post = (path: string, body: object): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const bytes = Buffer.from(JSON.stringify(body))
      const headers = { 'X-KMD-API-Token': kmd.token, 'Content-Length': bytes.length }
      const request = http.request({ port: kmd.port, host: '127.0.0.1', method: 'POST', path, headers, agent })
      request.on('response', async (response) => {
        let text = ''
        for await (const part of response) text += part
        resolve({ status: response.statusCode!, json: JSON.parse(text) })
      })
      request.on('error', reject)
      request.end(bytes)
    })
  return { post, close: () => agent.destroy() }
}

type Answer = { status: number; json: Json }

test('16,384 handles that have each signed can be open, and one more is refused', { timeout: 600_000 }, async (t) => {
  const kmd = await start(t, { settings: { session_lifetime_secs: 3600 } })
  const id = await kmd.create('many', 'pw')
  const address = await kmd.generate(await kmd.unlock(id, 'pw'))
  const { post, close } = keepAliveClient(kmd)
  t.after(close)
  const credentials = { wallet_id: id, wallet_password: 'pw' }
  let opened = 1
  const openAndSign = async (): Promise<void> => {
    while (opened < handleLimit) {
      opened++
      const unlocked = await post('/v1/wallet/init', credentials)
      assert.equal(unlocked.status, 200, unlocked.json.message)
      const key = { wallet_handle_token: unlocked.json.wallet_handle_token, wallet_password: 'pw', address }
      const signed = await post('/v1/program/sign', { ...key, data: 'AQ==' })
      assert.equal(signed.status, 200, signed.json.message)
    }
  }
  await Promise.all(Array.from({ length: clients }, openAndSign))
  const oneMore = await post('/v1/wallet/init', credentials)
  assert.equal(oneMore.status, 503)
  assert.match(oneMore.json.message, /too many wallet handles/)
  const health = await kmd.call('GET', '/latchkey/v1/health')
  assert.equal(health.json.open_handles, handleLimit)
})
