import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttp } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import test from 'node:test'
import { stubGate } from '../stubs.test.helper.js'
import { openGateway } from './Gateway.js'
import { listen } from './gateway.test.helper.js'
import { Upstream } from './Upstream.js'

/** Responds to `/bad` with a head, and sends the body that the response cannot have while it reads the next request. */
function serve(socket: Socket, head: string): void {
  let isLate = false
  socket
    .on('error', () => {})
    .on('data', (request) => {
      if (request.includes('/bad')) {
        isLate = true
        socket.write(`${head}\r\nContent-Length: 43\r\n\r\n`)
      } else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n${isLate ? 'late' : 'real'}`)
    })
}

for (const [method, head] of [
  ['HEAD', 'HTTP/1.1 200 OK'],
  ['GET', 'HTTP/1.1 204 No Content'],
  ['GET', 'HTTP/1.1 304 Not Modified'],
] as const) {
  test(`the body of a response ${head} to ${method} is not the response to another request`, async (t) => {
    const service = createServer((socket) => serve(socket, head))
    service.listen(0, '127.0.0.1')
    await once(service, 'listening')
    t.after(() => service.close())
    const { port } = service.address() as AddressInfo
    const { gate } = await stubGate()
    const upstream = new Upstream({ url: `http://127.0.0.1:${port}` })
    t.after(() => upstream.close())
    const { request } = openGateway({ gate, upstream, free: ['/*'] })
    const url = `http://127.0.0.1:${await listen(t, createHttp(request))}`
    await (await fetch(`${url}/bad`, { method })).arrayBuffer()
    assert.equal(await (await fetch(`${url}/good`)).text(), 'real')
  })
}
