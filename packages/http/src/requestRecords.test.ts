import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { dropConnection } from './Message.js'
import * as RequestId from './RequestId.js'
import { type RequestRecord, recordRequests } from './RequestRecord.js'
import { Server, type ServerOptions } from './Server.js'

type Recorded = { port: number; records: RequestRecord[]; next: () => Promise<RequestRecord> }

async function serve(t: TestContext, options: ServerOptions): Promise<Recorded> {
  const records: RequestRecord[] = []
  const server = new Server({ onError: () => {}, ...options, onRequest: (record) => void records.push(record) })
  const { port } = await server.listen('127.0.0.1', 0)
  t.after(() => server.stop())
  return { port, records, next: () => nextOf(records) }
}

/** Removes and returns the first record. */
async function nextOf(records: RequestRecord[]): Promise<RequestRecord> {
  for (let turn = 0; turn < 2_000; turn++) {
    const record = records.shift()
    if (record !== undefined) return record
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error('no request was recorded')
}

function assertHas(record: RequestRecord, expected: Partial<RequestRecord>): void {
  assert.deepEqual({ ...record, ...expected }, record)
}

/** Sends text unchanged and returns everything received. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  socket.end(text)
  await once(socket, 'close')
  return received
}

test('new ids have 16 digits and differ', () => {
  const ids = Array.from({ length: 3_000 }, () => RequestId.create())
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, /^[0-9a-f]{16}$/)
})

test('a request is recorded with its route, status, length and time, and the response has its id', async (t) => {
  const { port, next } = await serve(t, {
    handle: (request) => {
      request.matched?.('/things/{id}')
      request.concerns?.('PAYMENT')
      return { status: 201, headers: ['X-Request-Id', 'of-another', 'X-Own', request.id ?? ''], body: 'grün' }
    },
  })
  const response = await fetch(`http://127.0.0.1:${port}/things/secret?token=secret`, { method: 'POST' })
  const record = await next()
  const { durationMs, id, ...others } = record
  const expected = { method: 'POST', route: '/things/{id}', status: 201, bytes: 5, isComplete: true }
  assert.deepEqual(others, { ...expected, payment: 'PAYMENT' })
  assert.match(id, /^[0-9a-f]{16}$/)
  assert.ok(durationMs >= 0)
  assert.equal(response.headers.get('x-request-id'), id)
  assert.equal(response.headers.get('x-own'), id)
  assert.doesNotMatch(JSON.stringify(record), /secret/)
})

test("a client's id is kept if it is short and plain, and replaced otherwise", async (t) => {
  const { port, records } = await serve(t, { handle: () => ({ status: 200, headers: [], body: '' }) })
  const kept = ['a', '3f2504e0-4f89-41d3-9a0c-0305e82c3301', 'req_01J9Z3']
  const replaced = ['f'.repeat(64), '../x', 'a b', '"x"', '\x1b[2J'.slice(1), '-x', 'x'.repeat(37), 'a, b']
  for (const sent of [...kept, ...replaced]) {
    const { headers } = await fetch(`http://127.0.0.1:${port}/`, { headers: { 'X-Request-Id': sent } })
    const answered = headers.get('x-request-id')!
    assert.equal(records.pop()?.id, answered)
    if (kept.includes(sent)) assert.equal(answered, sent)
    else assert.match(answered, /^[0-9a-f]{16}$/, sent)
  }
})

test('malformed, dropped and failed requests are recorded without any of their content', async (t) => {
  const { port, next } = await serve(t, {
    handle: ({ target }) => {
      if (target === '/drop') return dropConnection
      throw new Error('secret')
    },
  })
  assert.match(await exchange(port, 'SECRET\r\n\r\n'), /^HTTP\/1\.1 400 [\s\S]*X-Request-Id: [0-9a-f]{16}\r\n/)
  assertHas(await next(), { method: 'OTHER', route: '-', status: 400, isComplete: true })
  await exchange(port, 'GET /drop HTTP/1.1\r\nHost: localhost\r\n\r\n')
  assertHas(await next(), { method: 'GET', route: '-', status: 0, isComplete: false })
  await exchange(port, 'SECRET /fail HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const failed = await next()
  assertHas(failed, { method: 'OTHER', status: 0, isComplete: false })
  assert.doesNotMatch(JSON.stringify(failed), /secret/i)
})

test('a streamed response is recorded at its end, even if its peer leaves', async (t) => {
  let open!: () => void
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const { port, next, records } = await serve(t, {
    fetch: ({ url }, info) => {
      info?.matched?.(new URL(url).pathname)
      const isEndless = url.endsWith('/endless')
      const body = new ReadableStream({
        async pull(controller) {
          await opened
          controller.enqueue(Buffer.alloc(1000))
          if (!isEndless) controller.close()
        },
      })
      return new Response(body)
    },
  })
  const response = await fetch(`http://127.0.0.1:${port}/whole`)
  assert.equal(records.length, 0)
  open()
  assert.equal((await response.arrayBuffer()).byteLength, 1000)
  assertHas(await next(), { route: '/whole', status: 200, bytes: 1000, isComplete: true })
  const abort = new AbortController()
  await fetch(`http://127.0.0.1:${port}/endless`, { signal: abort.signal })
  abort.abort()
  assertHas(await next(), { route: '/endless', status: 200, isComplete: false })
})

test('a response to a peer that has left is recorded as incomplete', async (t) => {
  const { port, next } = await serve(t, {
    handle: ({ onClose }) => {
      socket.resetAndDestroy()
      return new Promise((resolve) => onClose?.(() => resolve({ status: 200, headers: [], body: 'late' })))
    },
  })
  const socket = connect(port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  assertHas(await next(), { status: 200, bytes: 0, isComplete: false })
})

test('without onRequest no response has an id', async (t) => {
  const server = new Server({ handle: ({ id }) => ({ status: 200, headers: [], body: String(id) }) })
  const { port } = await server.listen('127.0.0.1', 0)
  t.after(() => server.stop())
  const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { 'X-Request-Id': 'mine' } })
  assert.equal(response.headers.get('x-request-id'), null)
  assert.equal(await response.text(), 'undefined')
})

test('recordRequests does the same for node:http', async (t) => {
  const records: RequestRecord[] = []
  const routeOf = (path: string): string | undefined => (path === '/weather' ? path : undefined)
  let seen: string | string[] | undefined
  const respond: RequestListener = (request, response) => {
    seen = request.headers['x-request-id']
    response.writeHead(402).end('pay')
  }
  const listener = recordRequests(respond, {
    routeOf,
    paymentOf: (request) => (request.url === '/secret' ? undefined : 'PAYMENT'),
    onRequest: (record) => void records.push(record),
  })
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const paid = await fetch(`http://127.0.0.1:${port}/weather?secret=1`, { headers: { 'X-Request-Id': 'mine' } })
  assert.equal(paid.headers.get('x-request-id'), 'mine')
  const record = await nextOf(records)
  assertHas(record, { id: 'mine', method: 'GET', route: '/weather', status: 402, isComplete: true, payment: 'PAYMENT' })
  assert.ok(record.bytes >= 3)
  await fetch(`http://127.0.0.1:${port}/secret`)
  const other = await nextOf(records)
  assert.deepEqual([other.route, other.payment], ['-', undefined])
  assert.equal(seen, other.id, 'the handler knows the request by the same id')
})
