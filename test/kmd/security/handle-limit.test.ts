/**
 * K4: opens the maximum number of handles, each of which has signed. Separate blocks needed more mappings than Linux
 * allows.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { type Json, type Kmd, start } from '../../process/commands.test.helper.js'

const handleLimit = 16_384
/** Fewer than the number that may wait to unlock one wallet. */
const clients = 16

type Client = { post: (path: string, body: object) => Promise<Answer>; close: () => void }

/** Sends one request after the other on one connection, with a fraction of the work of Node's client. */
async function openClient({ port, token }: Kmd): Promise<Client> {
  const socket = connect(port, '127.0.0.1').setNoDelay(true).setEncoding('latin1')
  await once(socket, 'connect')
  let text = ''
  let onAnswer = (_: Answer): void => {}
  let onClose = (_: Error): void => {}
  socket.on('close', () => onClose(new Error('the connection was closed')))
  socket.on('data', (part: string) => {
    text += part
    const end = text.indexOf('\r\n\r\n') + 4
    const length = /^content-length: (\d+)/im.exec(text.slice(0, end))?.[1]
    if (length === undefined || text.length < end + Number(length)) return
    const answer = { status: Number(text.slice(9, 12)), json: JSON.parse(text.slice(end)) }
    text = ''
    onAnswer(answer)
  })
  const post = (path: string, body: object): Promise<Answer> =>
    new Promise((resolve, reject) => {
      onAnswer = resolve
      onClose = reject
      const bytes = JSON.stringify(body)
      const head = [`POST ${path} HTTP/1.1`, 'Host: 127.0.0.1', `X-KMD-API-Token: ${token}`]
      socket.write([...head, `Content-Length: ${Buffer.byteLength(bytes)}`, '', bytes].join('\r\n'))
    })
  return { post, close: () => socket.destroy() }
}

type Answer = { status: number; json: Json }

test('16,384 handles that have each signed can be open, and one more is refused', { timeout: 600_000 }, async (t) => {
  const kmd = await start(t, { settings: { session_lifetime_secs: 3600 } })
  const id = await kmd.create('many', 'pw')
  const address = await kmd.generate(await kmd.unlock(id, 'pw'))
  const open = async (): Promise<Client> => {
    const client = await openClient(kmd)
    t.after(client.close)
    return client
  }
  const credentials = { wallet_id: id, wallet_password: 'pw' }
  let opened = 1
  const openAndSign = async (): Promise<void> => {
    const { post } = await open()
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
  const { post } = await open()
  const oneMore = await post('/v1/wallet/init', credentials)
  assert.equal(oneMore.status, 503)
  assert.match(oneMore.json.message, /too many wallet handles/)
  const health = await kmd.call('GET', '/latchkey/v1/health')
  assert.equal(health.json.open_handles, handleLimit)
})
