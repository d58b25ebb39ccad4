import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import test from 'node:test'
import { openShop } from './gateway.test.helper.js'

test('an account is limited in the connections that it switches, and its payment opens one in the next window', async (t) => {
  const { port, service, payment, settled } = await openShop(t, undefined, { perPayer: { requests: 1, seconds: 3 } })
  service.on('upgrade', (_, socket) => {
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  const open = async (header: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    const head = `GET /a HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`
    socket.write(`${head}PAYMENT-SIGNATURE: ${header}\r\n\r\n`)
    let text = ''
    socket.on('data', (chunk) => {
      text += String(chunk)
    })
    await once(socket, 'close')
    return text.slice(0, 12)
  }
  const [first, second] = [await payment('/a'), await payment('/a')]
  assert.equal(await open(first), 'HTTP/1.1 101')
  let answer = await open(second)
  assert.equal(answer, '')
  while (answer === '') {
    await new Promise((resolve) => setTimeout(resolve, 200))
    answer = await open(second)
  }
  assert.deepEqual([answer, new Set(settled).size], ['HTTP/1.1 101', 2])
})
