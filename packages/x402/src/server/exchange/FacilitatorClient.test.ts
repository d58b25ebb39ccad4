import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { type TestContext } from 'node:test'
import { FacilitatorError, httpFacilitator } from './FacilitatorClient.js'

async function facilitator(t: TestContext, listener: RequestListener, timeoutMs = 300, send?: typeof fetch) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/base/`
  return httpFacilitator({ url, timeoutMs, apiKey: 'the key', fetch: send })
}

const isProtocolError = (error: Error): boolean =>
  error instanceof FacilitatorError && error.code === 'facilitator_protocol_error'
const isUnavailable = (error: Error): boolean =>
  error instanceof FacilitatorError && error.code === 'facilitator_unavailable'

/** The default, and a `fetch` that the seller passes. */
const ways: readonly (typeof fetch | undefined)[] = [undefined, fetch]

for (const send of ways) {
  const by = send === undefined ? 'by default' : 'by fetch'

  test(`sends requests of the protocol, with the key, ${by}`, async (t) => {
    const seen: unknown[] = []
    const listener: RequestListener = async (request, response) => {
      let body = ''
      for await (const chunk of request.setEncoding('utf8')) body += chunk
      const { authorization, accept, 'content-type': type } = request.headers
      assert.equal(accept, 'application/json')
      seen.push([request.method, request.url, authorization, type, body === '' ? '' : JSON.parse(body)])
      response.end(request.url === '/base/supported' ? '{"kinds":[]}' : '{"isValid":true,"success":true}')
    }
    const client = await facilitator(t, listener, 30_000, send)
    const payload = { x402Version: 2, note: 'über' } as never
    await client.verify(payload, { scheme: 'exact' } as never)
    await client.settle(payload, { scheme: 'exact' } as never)
    await client.supported()
    const body = { x402Version: 2, paymentPayload: payload, paymentRequirements: { scheme: 'exact' } }
    assert.deepEqual(seen, [
      ['POST', '/base/verify', 'Bearer the key', 'application/json', body],
      ['POST', '/base/settle', 'Bearer the key', 'application/json', body],
      ['GET', '/base/supported', 'Bearer the key', undefined, ''],
    ])
  })

  test(`explains why there is no response, ${by}`, async (t) => {
    const silent = await facilitator(t, () => {}, 300, send)
    await assert.rejects(silent.verify({} as never, {} as never), /\/base\/verify: no response within 300 ms$/)
    // Another test could get the port of a server that is closed, but never a reserved one.
    const gone = httpFacilitator({ url: 'http://127.0.0.1:2', fetch: send })
    await assert.rejects(gone.verify({} as never, {} as never), /\/verify: ECONNREFUSED$/)
  })
}

test('retries if the facilitator has closed the connection meanwhile', async (t) => {
  let calls = 0
  const client = await facilitator(
    t,
    (request, response) => {
      calls++
      // The second request on the connection is not answered.
      if (calls === 2) request.socket.destroy()
      else response.end('{"isValid":true}')
    },
    30_000,
  )
  assert.equal((await client.verify({} as never, {} as never)).isValid, true)
  assert.equal((await client.verify({} as never, {} as never)).isValid, true)
  assert.equal(calls, 3)
})

test('uses the fetch of the program, for example with its proxy', async (t) => {
  const client = await facilitator(t, (_, response) => void response.end('{"isValid":false}'), 30_000)
  assert.equal((await client.verify({} as never, {} as never)).isValid, false)
  const own = globalThis.fetch
  t.after(() => {
    globalThis.fetch = own
  })
  const seen: unknown[] = []
  globalThis.fetch = async (url, init) => {
    seen.push([new URL(String(url)).pathname, init?.redirect, new Headers(init?.headers).get('Authorization')])
    return new Response('{"isValid":true}')
  }
  assert.equal((await client.verify({} as never, {} as never)).isValid, true)
  assert.deepEqual(seen, [['/base/verify', 'manual', 'Bearer the key']])
})

test('sends the claimant if there is one', async (t) => {
  const seen: unknown[] = []
  const client = await facilitator(t, async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    seen.push((JSON.parse(body) as { claimant?: unknown }).claimant)
    response.end('{"isValid":true,"success":true}')
  })
  await client.verify({} as never, {} as never, { claimant: 'a' })
  await client.settle({} as never, {} as never, { claimant: 'b' })
  await client.settle({} as never, {} as never, {})
  assert.deepEqual(seen, ['a', 'b', undefined])
})

test('a refusal with an error status is a result', async (t) => {
  const client = await facilitator(
    t,
    (_, response) => void response.writeHead(400).end('{"isValid":false,"invalidReason":"no"}'),
  )
  assert.equal((await client.verify({} as never, {} as never)).invalidReason, 'no')
})

test('unavailability and protocol errors have different codes', async (t) => {
  const cases: [RequestListener, (error: Error) => boolean][] = [
    [(_, response) => void response.end('<html>'), isProtocolError],
    [(_, response) => void response.end('[]'), isProtocolError],
    [(_, response) => void response.end('null'), isProtocolError],
    [(_, response) => void response.end('{"isValid":1}'), isProtocolError],
    [(_, response) => void response.writeHead(302, { Location: '/' }).end(), isProtocolError],
    [(_, response) => void response.writeHead(500).end('oh'), isUnavailable],
    [(_, response) => void response.destroy(), isUnavailable],
    [() => {}, isUnavailable],
    [(_, response) => void response.write('{'), isUnavailable],
  ]
  for (const send of ways) {
    for (const [listener, expected] of cases) {
      const client = await facilitator(t, listener, 300, send)
      await assert.rejects(client.verify({} as never, {} as never), expected, listener.toString())
    }
  }
})

test('does not wait for a facilitator that changes the protocol', { timeout: 30_000 }, async (t) => {
  const reply = 'HTTP/1.1 101 Other\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n'
  const client = await facilitator(t, ({ socket }) => void socket.write(reply), 60_000)
  await assert.rejects(client.verify({} as never, {} as never), isUnavailable)
})

test('does not read an endless response to its end', async (t) => {
  for (const send of ways) {
    let sent = 0
    const listener: RequestListener = (_, response) => {
      const timer = setInterval(() => {
        sent += 64 * 1024
        response.write(' '.repeat(64 * 1024))
      }, 1)
      response.on('close', () => clearInterval(timer))
    }
    const client = await facilitator(t, listener, 30_000, send)
    await assert.rejects(client.verify({} as never, {} as never), /sent more than 262144 bytes/)
    assert.ok(sent < 10 * 1024 * 1024)
  }
})

test('rejects an invalid address immediately', () => {
  for (const url of ['', 'facilitator', 'ftp://x', 'http://user:key@x', 'http://x?key=1']) {
    assert.throws(() => httpFacilitator({ url }), FacilitatorError, url)
  }
})
