import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import test from 'node:test'
import { price } from '../stubs.test.helper.js'
import { bodyOf, openShop } from './gateway.test.helper.js'

const routes = { '/a': { accepts: price }, '/b': { accepts: { ...price, paymentFlow: 'upfront' } } } as const

/** A service whose free route responds when it is told, and then closes its connection. */
function slowService() {
  const slow: ServerResponse[] = []
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url === '/slow') slow.push(response)
    else response.end('goods')
  }
  return { slow, listener }
}

function open(port: number): Socket {
  return connect(port, '127.0.0.1').on('error', () => {})
}

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('a connection has at most 100 unanswered requests', { timeout: 30_000 }, async (t) => {
  const { slow, listener } = slowService()
  const { port } = await openShop(t, listener, { free: ['/slow'] })
  const request = 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n'
  const few = open(port)
  few.write(request.repeat(100))
  await until(() => slow.length === 100)
  const many = open(port)
  many.write(request.repeat(2_000))
  await once(many.resume(), 'close')
  // A connection has as many again after its first responses.
  for (const response of slow) response.end('slow')
  few.write('GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  await until(() => slow.length > 100 && slow.some(({ writableEnded }) => !writableEnded))
  for (const response of slow) response.end('slow')
  const text = await bodyOf(few as unknown as IncomingMessage)
  assert.equal(text.split('HTTP/1.1 200 ').length - 1, 101)
})

for (const [target, method] of [
  ['/a', 'GET'],
  ['/a', 'POST'],
  ['/b', 'GET'],
] as const) {
  test(`a payment for a pipelined ${method} ${target} can be sent again if its client leaves`, async (t) => {
    const { slow, listener } = slowService()
    const { port, settled, payment, url } = await openShop(t, listener, { gate: { routes }, free: ['/slow'] })
    const header = await payment(target, { method })
    const socket = open(port)
    const paid = `${method} ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nPAYMENT-SIGNATURE: ${header}\r\n`
    socket.write(`GET /slow HTTP/1.1\r\nHost: x\r\n\r\n${paid}Content-Length: 0\r\n\r\n`)
    await until(() => slow.length === 1 && settled.length === 1)
    await new Promise((resolve) => setTimeout(resolve, 50))
    socket.destroy()
    await until(() => slow[0]!.destroyed)
    const again = await fetch(`${url}${target}`, { method, headers: { 'PAYMENT-SIGNATURE': header } })
    assert.equal(again.status, 200)
    assert.equal(await again.text(), 'goods')
    assert.equal(new Set(settled).size, 1)
  })
}

test('a pipelined request of a client that has left is taken back from the service', { timeout: 30_000 }, async (t) => {
  const { slow, listener } = slowService()
  const { port } = await openShop(t, listener, { free: ['/slow'] })
  const socket = open(port)
  socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3))
  await until(() => slow.length === 3)
  socket.destroy()
  await until(() => slow.every(({ destroyed }) => destroyed))
})
