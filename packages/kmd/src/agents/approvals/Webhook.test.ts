import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Approval } from './Approval.js'
import { isPrivate, Webhook } from './Webhook.js'

const secret = Buffer.alloc(32, 5)
const approval = (id: string, expiresInMs = 3_600_000, state: Approval['state'] = 'open'): Approval =>
  ({ id, state, expiresAtMs: Date.now() + expiresInMs }) as Approval
const typesOf = (received: readonly Received[]): string[] =>
  received.map(({ body }) => (JSON.parse(body) as { type: string }).type)

type Received = { headers: IncomingMessage['headers']; body: string }

/** A receiver that responds as the test specifies, and the requests it received. */
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

function open(
  t: TestContext,
  url: string,
  failures: string[] = [],
  options: Partial<ConstructorParameters<typeof Webhook>[0]> = {},
): Webhook {
  const webhook = new Webhook({
    url,
    secret,
    body: ({ id }) => ({ id }),
    onFailure: (message) => void failures.push(message),
    ...options,
  })
  t.after(() => webhook.close())
  return webhook
}

test('a body is signed together with its time', async (t) => {
  const { url, received, arrived } = await receive(t, (_request, response) => void response.end())
  open(t, url).send(approval('one'))
  await arrived(1)
  const [{ headers, body }] = received as [Received]
  assert.deepEqual(JSON.parse(body), { type: 'approval.open', approval: { id: 'one' } })
  const [, seconds, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['latchkey-signature']))!
  assert.equal(signature, createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex'))
})

test('a failed delivery is retried', async (t) => {
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

test('an endless response blocks nothing, and its body is not read', async (t) => {
  let written = 0
  const { url, arrived } = await receive(t, (_request, response) => {
    response.writeHead(200)
    const more = (error?: Error | null): void => {
      // Since Node 26, a response is not destroyed yet when writing to it fails.
      if (error || response.destroyed) return
      written += 65_536
      response.write(Buffer.alloc(65_536), more)
    }
    more()
  })
  const webhook = open(t, url)
  for (let number = 0; number < 12; number++) webhook.send(approval(`endless ${number}`))
  await arrived(12)
  assert.ok(written < 64 * 1024 * 1024)
})

test('a receiver that never responds times out, and the delivery is retried', async (t) => {
  const { url, arrived } = await receive(t, (_request, response, count) => {
    if (count > 1) response.end()
  })
  open(t, url, [], { timeoutMs: 50 }).send(approval('slow'))
  await arrived(2)
})

test('stopping the daemon ends deliveries in progress', async (t) => {
  const { url, arrived } = await receive(t, () => {})
  const failures: string[] = []
  let end = (): void => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const watched: typeof fetch = async (...request) => {
    try {
      return await fetch(...request)
    } finally {
      end()
    }
  }
  const webhook = open(t, url, failures, { fetch: watched, timeoutMs: 3_600_000 })
  webhook.send(approval('one'))
  await arrived(1)
  webhook.close()
  await ended
  webhook.send(approval('two'))
  assert.deepEqual(failures, [])
})

test('a newer state replaces an older one, even one whose delivery is in progress and fails', async (t) => {
  let fail = (): void => {}
  const { url, received, arrived } = await receive(t, (request, response, count) => {
    if (count === 1) fail = () => request.socket.destroy()
    else response.end()
  })
  const webhook = open(t, url)
  webhook.send(approval('one'))
  await arrived(1)
  webhook.send(approval('one', 3_600_000, 'approved'))
  webhook.send(approval('one', 3_600_000, 'used'))
  webhook.send(approval('two'))
  await arrived(2)
  assert.deepEqual(typesOf(received), ['approval.open', 'approval.open'], 'one delivery of an approval at a time')
  fail()
  await arrived(3)
  assert.equal(typesOf(received)[2], 'approval.used')
})

test('beyond a thousand pending deliveries, the oldest are dropped', async (t) => {
  const { url } = await receive(t, () => {})
  const failures: string[] = []
  const webhook = open(t, url, failures)
  for (let number = 0; number < 1_010; number++) webhook.send(approval(`${number}`))
  // Four are in progress.
  assert.deepEqual(
    failures.map((text) => /^approval (\d+) /.exec(text)?.[1]),
    ['4', '5', '6', '7', '8', '9'],
  )
})

test('only a URL whose traffic stays private is accepted', () => {
  for (const url of ['https://example.com/hook', 'http://127.0.0.1:1/', 'http://localhost/', 'http://[::1]:9/']) {
    assert.ok(isPrivate(url), url)
  }
  for (const url of ['http://example.com/', 'http://127.0.0.1.example.com/', 'ftp://127.0.0.1/', 'nonsense', '']) {
    assert.ok(!isPrivate(url), url)
  }
})
