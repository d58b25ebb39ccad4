import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import test from 'node:test'
import { bodyOf, openShop } from './gateway.test.helper.js'

test('so many free requests wait for a connection to the service, and others are refused', async (t) => {
  const slow: ServerResponse[] = []
  const { port, pay, settled } = await openShop(
    t,
    ({ url }, response) => void (url === '/free' ? slow.push(response) : response.end('goods')),
    { free: ['/free'], maxConnections: 1 },
  )
  const request = 'GET /free HTTP/1.1\r\nHost: x\r\n\r\n'
  const open = () => connect(port, '127.0.0.1').on('error', () => {})
  const waiting = open()
  waiting.write(request.repeat(41))
  while (slow.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const refused = open()
  refused.write(request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
  assert.match(await bodyOf(refused as never), /^HTTP\/1\.1 503 [\s\S]*Retry-After: 2\r\n[\s\S]*upstream_busy/)
  assert.equal((await pay()).status, 200)
  assert.equal(settled.length, 1)
  waiting.destroy()
})
