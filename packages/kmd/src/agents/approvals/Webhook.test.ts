import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Approval } from './Approval.js'
import { isPrivate, Webhook } from './Webhook.js'

const secret = Buffer.alloc(32, 5)
const approval = (id: string, expiresInMs = 3_600_000): Approval =>
  ({ id, state: 'open', expiresAtMs: Date.now() + expiresInMs }) as Approval

type Received = { headers: IncomingMessage['headers']; body: string }

/** A receiver that answers as told, and what it received. */
async function receive(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse, count: number) => void,
): Promise<{ url: string; received: Received[]; arrived: (count: number) => Promise<void> }> {
  const received: Received[] = []
  const server: Server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (part: string) => {
      body += part
    })
    request.on('end', () => {
      received.push({ headers: request.headers, body })
      answer(request, response, received.length)
      server.emit('received')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const arrived = async (count: number): Promise<void> => {
    while (received.length < count) await once(server, 'received')
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received, arrived }
}

function open(t: TestContext, url: string, failures: string[] = []): Webhook {
  const webhook = new Webhook({
    url,
    secret,
    body: ({ id }) => ({ id }),
    onFailure: (message) => void failures.push(message),
  })
  t.after(() => webhook.close())
  return webhook
}

test('a body is signed with its time', async (t) => {
  const { url, received, arrived } = await receive(t, (_request, response) => void response.end())
  open(t, url).send(approval('one'))
  await arrived(1)
  const [{ headers, body }] = received as [Received]
  assert.deepEqual(JSON.parse(body), { type: 'approval.open', approval: { id: 'one' } })
  const [, seconds, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['latchkey-signature']))!
  assert.equal(signature, createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex'))
})

test('a delivery that fails is tried again', async (t) => {
  const { url, received, arrived } = await receive(t, (request, response, count) => {
    if (count === 1) request.socket.destroy()
    else response.writeHead(count === 2 ? 500 : 204).end()
  })
  open(t, url).send(approval('one'))
  await arrived(3)
  assert.equal(new Set(received.map(({ body }) => body)).size, 1)
})

test('a redirect is not followed, and a delivery ends with its approval', async (t) => {
  const other = await receive(t, (_request, response) => void response.end())
  const { url, arrived } = await receive(t, (_request, response) => {
    response.writeHead(307, { Location: other.url }).end()
  })
  const failures: string[] = []
  const failed = new Promise<void>((resolve) => {
    failures.push = (...messages: string[]): number => {
      resolve()
      return Array.prototype.push.apply(failures, messages)
    }
  })
  open(t, url, failures).send(approval('short', 1))
  await arrived(1)
  await failed
  assert.match(failures[0]!, /^approval short \(open\) was not delivered/)
  assert.equal(other.received.length, 0)
})

test('only an address whose traffic stays private is taken', () => {
  for (const url of ['https://example.com/hook', 'http://127.0.0.1:1/', 'http://localhost/', 'http://[::1]:9/']) {
    assert.ok(isPrivate(url), url)
  }
  for (const url of ['http://example.com/', 'http://127.0.0.1.example.com/', 'ftp://127.0.0.1/', 'nonsense', '']) {
    assert.ok(!isPrivate(url), url)
  }
})
