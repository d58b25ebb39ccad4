import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Hono } from 'hono'
import { BodyError, Server, type ServerOptions, toFetch } from './index.js'
import { dropConnection, type FetchHandler, type RawHandler } from './Message.js'
import { get, post, responses, serveFetch } from './Peer.test.helper.js'

async function listen(t: TestContext, options: ServerOptions): Promise<string> {
  const server = new Server(options)
  const { port } = await server.listen('127.0.0.1', 0)
  t.after(() => server.stop())
  return `http://127.0.0.1:${port}`
}

test('a fetch handler reads method, URL, headers and body, and its response is sent', async (t) => {
  const url = await listen(t, {
    fetch: async (request, info) => {
      const { pathname, searchParams } = new URL(request.url)
      const body = {
        isRequest: request instanceof Request,
        method: request.method,
        pathname,
        query: searchParams.get('a'),
        header: request.headers.get('X-Name'),
        body: await request.json(),
        ...info,
      }
      return Response.json(body, { status: 201, headers: { 'X-Answer': 'yes' } })
    },
  })
  const response = await fetch(`${url}/path?a=b`, { method: 'POST', headers: { 'x-name': 'v' }, body: '{"n":1}' })
  assert.equal(response.status, 201)
  assert.equal(response.headers.get('x-answer'), 'yes')
  assert.ok(response.headers.has('content-length'))
  assert.deepEqual(await response.json(), {
    isRequest: true,
    method: 'POST',
    pathname: '/path',
    query: 'b',
    header: 'v',
    body: { n: 1 },
    localAddress: '127.0.0.1',
    remoteAddress: '127.0.0.1',
  })
})

/** How handlers use a request, with the expected result for a POST of `{"n":1}`. */
const uses: { [use: string]: (request: Request) => Promise<unknown> } = {
  text: (request) => request.text(),
  arrayBuffer: async (request) => Buffer.from(await request.arrayBuffer()).toString(),
  blob: async (request) => (await request.blob()).text(),
  'a clone': async (request) => {
    const copy = request.clone()
    return `${await request.text()}` === (await copy.text()) ? copy.text.name && '{"n":1}' : ''
  },
  'a stream': async (request) => {
    let text = ''
    for await (const chunk of request.body!) text += Buffer.from(chunk).toString()
    return text
  },
  'a new Request': (request) => new Request(request).text(),
  'a new Request with another URL': (request) => new Request('http://other/', request).text(),
  'a new Request after the headers were read': (request) => {
    assert.equal(request.headers.get('content-type'), 'text/plain;charset=UTF-8')
    return new Request(request, { headers: { 'X-Other': 'yes' } }).text()
  },
}
for (const [use, read] of Object.entries(uses)) {
  test(`the request body can be read as ${use}`, async (t) => {
    const url = await listen(t, { fetch: async (request) => new Response(String(await read(request))) })
    const response = await fetch(url, { method: 'POST', body: '{"n":1}' })
    assert.equal(await response.text(), '{"n":1}')
  })
}

test('other members of the request are those of a real one', async (t) => {
  const url = await listen(t, {
    fetch: async (request) => {
      const before = [request.bodyUsed, request.body === null, request.redirect, request.cache, String(request)]
      await request.text()
      await assert.rejects(request.text(), TypeError)
      assert.throws(() => request.clone(), TypeError)
      assert.throws(() => new Request(request), TypeError)
      return Response.json([...before, request.bodyUsed])
    },
  })
  const response = await fetch(url, { method: 'POST', body: 'x' })
  assert.deepEqual(await response.json(), [false, false, 'follow', 'default', '[object Request]', true])
})

test('GET and an empty POST have no body', async (t) => {
  const url = await listen(t, {
    fetch: async (request) => Response.json([request.body, await request.text(), request.bodyUsed]),
  })
  assert.deepEqual(await (await fetch(url)).json(), [null, '', false])
  assert.deepEqual(await (await fetch(url, { method: 'POST' })).json(), [null, '', false])
})

const targets: [target: string, host: string, url: string][] = [
  ['/', 'localhost', 'http://localhost/'],
  ['/a/b.c?d=e%20f', '127.0.0.1:4001', 'http://127.0.0.1:4001/a/b.c?d=e%20f'],
  ['/a?b=/../c', 'localhost', 'http://localhost/a?b=/../c'],
  ['/a/...', '', 'http://localhost/a/...'],
  ['/', '127.1:4001', 'http://127.0.0.1:4001/'],
  ['/', 'a.b.c:65535', 'http://a.b.c:65535/'],
  ['//double', 'localhost', 'http://localhost//double'],
  ['/a#b', 'localhost', 'http://localhost/a%23b'],
  ['/"<>', 'LOCALHOST:80', 'http://localhost/%22%3C%3E'],
  ['/x', '[::1]:80', 'http://[::1]/x'],
  ['http://other:81/x', 'localhost', 'http://other:81/x'],
]
for (const [target, host, url] of targets) {
  test(`the target ${target} at ${host} is the URL ${url}`, async (t) => {
    const peer = (await serveFetch(t, (request) => new Response(request.url))).dial()
    peer.send(get(target, `Host: ${host}`, 'Connection: close'))
    await peer.ended
    assert.deepEqual(responses(peer.received()), [[200, url]])
    assert.equal(new URL(url).href, url)
  })
}

for (const request of [
  get('*'),
  get('/', 'Host: a b'),
  get('/', 'Host: a/b'),
  // The last part is a number, so URL parses it as an IPv4 address, which is invalid.
  get('/', 'Host: 256.0.0.1'),
  get('/', 'Host: a/metrics?'),
  ...['/verify/../metrics', '/verify/%2e%2e/health', '/a/.%2E', '/./a', '/a\\..\\b', 'http://a/b/../c'].map((target) =>
    get(target),
  ),
  get('/').replace('GET', 'TRACE'),
]) {
  test(`${JSON.stringify(request)} is answered with 400`, async (t) => {
    const peer = (await serveFetch(t, () => new Response('never'))).dial()
    peer.send(request)
    await peer.until('\r\n\r\n')
    assert.equal(responses(peer.received())[0]?.[0], 400)
  })
}

test('several cookies are sent and received separately', async (t) => {
  const peer = (
    await serveFetch(t, (request) => {
      const headers = new Headers([
        ['Set-Cookie', 'a=1'],
        ['Set-Cookie', 'b=2'],
      ])
      return new Response(request.headers.get('cookie'), { headers })
    })
  ).dial()
  peer.send(get('/', 'Cookie: a=1', 'Cookie: b=2', 'Connection: close'))
  await peer.ended
  assert.match(peer.received(), /set-cookie: a=1\r\nset-cookie: b=2\r\n/)
  assert.deepEqual(responses(peer.received()), [[200, 'a=1; b=2']])
})

test('HEAD gets no body, and a length only if the handler sets it', async (t) => {
  const peer = (
    await serveFetch(t, (request) => {
      const headers: Record<string, string> = request.url.endsWith('/known') ? { 'Content-Length': '5' } : {}
      return new Response(request.url.endsWith('/null') ? null : 'hello', { headers })
    })
  ).dial()
  for (const path of ['/known', '/unknown', '/null']) peer.send(get(path).replace('GET', 'HEAD'))
  peer.send(get('/end', 'Connection: close'))
  await peer.ended
  const heads = peer.received().split('\r\n\r\n')
  assert.match(heads[0]!, /content-length: 5/i)
  assert.doesNotMatch(heads[1]!, /content-length/i)
  assert.doesNotMatch(heads[2]!, /content-length/i)
  assert.match(heads[3]!, /^HTTP\/1\.1 200 OK\r\n[\s\S]*Content-Length: 5/)
})

for (const [method, status] of [
  ['GET', 204],
  ['GET', 304],
  ['HEAD', 204],
] as const) {
  test(`a ${status} to ${method} has neither length nor body`, async (t) => {
    const headers = { 'Content-Length': '5' }
    const peer = (await serveFetch(t, () => new Response(null, { status, headers }))).dial()
    peer.send(get('/', 'Connection: close').replace('GET', method))
    await peer.ended
    assert.match(peer.received(), new RegExp(`^HTTP/1\\.1 ${status} `))
    assert.doesNotMatch(peer.received(), /content-length/i)
  })
}

for (const [why, cancel, isLocked] of [
  ['is locked', () => {}, true],
  ['fails to be cancelled', () => Promise.reject(new Error('cancel')), false],
] as const) {
  test(`HEAD is answered if the body ${why}`, async (t) => {
    const peer = (
      await serveFetch(t, () => {
        const response = new Response(new ReadableStream({ cancel }))
        if (isLocked) response.body!.getReader()
        return response
      })
    ).dial()
    peer.send(get('/', 'Connection: close').replace('GET', 'HEAD'))
    await peer.ended
    assert.match(peer.received(), /^HTTP\/1\.1 200 /)
    // An unhandled rejection would end the test.
    await sleep(20)
  })
}

for (const isStreaming of [false, true]) {
  test(`request.signal aborts when the peer disconnects ${isStreaming ? 'during a stream' : 'before the response'}`, async (t) => {
    let begin = (): void => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    let abort = (): void => {}
    const aborted = new Promise<void>((resolve) => {
      abort = resolve
    })
    const { dial } = await serveFetch(t, async (request) => {
      request.signal.addEventListener('abort', abort)
      begin()
      if (!isStreaming) await aborted
      return new Response(new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('one')) }))
    })
    const peer = dial()
    peer.send(get('/'))
    await begun
    if (isStreaming) await peer.until('one')
    peer.socket.destroy()
    await aborted
  })
}

test('request.signal does not abort after the response', async (t) => {
  const signals: AbortSignal[] = []
  const { dial } = await serveFetch(t, (request) => {
    signals.push(request.signal)
    return new Response('done')
  })
  const peer = dial()
  peer.send(get('/', 'Connection: close'))
  await peer.ended
  peer.socket.destroy()
  await sleep(20)
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [false],
  )
})

test('Response.error() closes the connection without a response', async (t) => {
  const peer = (await serveFetch(t, () => Response.error())).dial()
  peer.send(get('/'))
  await peer.ended
  assert.equal(peer.received(), '')
})

test('a handler that throws is answered with 500 and reported; the connection stays open', async (t) => {
  const errors: unknown[] = []
  const broken = new Error('secret')
  const handler: FetchHandler = (request) => {
    if (request.url.endsWith('/fine')) return new Response('fine')
    throw broken
  }
  const peer = (await serveFetch(t, handler, { onError: (error) => errors.push(error) })).dial()
  peer.send(get('/broken') + get('/fine'))
  await peer.until('\r\n\r\nfine')
  assert.deepEqual(responses(peer.received()), [
    [500, '{"message":"internal server error"}\n'],
    [200, 'fine'],
  ])
  assert.deepEqual(errors, [broken])
})

test('a body beyond the limit is answered with 413 if the handler does not do so', async (t) => {
  const codes: string[] = []
  const { dial } = await serveFetch(t, async (request) => {
    try {
      return new Response(await request.text())
    } catch (error) {
      assert.ok(error instanceof BodyError)
      codes.push(error.code)
      throw error
    }
  })
  const peer = dial()
  peer.send(post('/', 'x'.repeat(101)))
  await peer.until('bytes"}')
  assert.deepEqual(responses(peer.received()), [[413, '{"message":"the request body is larger than 100 bytes"}\n']])
  assert.deepEqual(codes, ['body_too_large'])
})

test('a Hono app is hosted unchanged', async (t) => {
  const app = new Hono<{ Bindings: { remoteAddress: string } }>()
    .get('/hello/:name', (c) => c.text(`hello ${c.req.param('name')} from ${c.env.remoteAddress}`))
    .post('/json', async (c) => c.json(await c.req.json(), 201))
    .post('/form', async (c) => c.json(await c.req.parseBody()))
    .all('/raw', async (c) => new Response(await new Request(c.req.raw, { headers: {} }).text()))
  const url = await listen(t, { fetch: app.fetch })
  assert.equal(await (await fetch(`${url}/hello/world`)).text(), 'hello world from 127.0.0.1')
  const json = await fetch(`${url}/json`, { method: 'POST', body: '{"a":1}' })
  assert.deepEqual([json.status, await json.json()], [201, { a: 1 }])
  const form = await fetch(`${url}/form`, { method: 'POST', body: new URLSearchParams({ a: 'b' }) })
  assert.deepEqual(await form.json(), { a: 'b' })
  assert.equal(await (await fetch(`${url}/raw`, { method: 'PUT', body: 'raw' })).text(), 'raw')
  assert.equal((await fetch(`${url}/none`)).status, 404)
  assert.equal((await fetch(`${url}/hello/world`, { method: 'HEAD' })).status, 200)
})

/** A raw handler that returns everything it receives. */
const raw: RawHandler = async (request) => {
  if (request.target === '/drop') return dropConnection
  const shown = [request.method, request.target, request.header('host'), request.remoteAddress?.()]
  const body = request.method === 'POST' ? (await request.body()).toString() : ''
  return {
    status: 200,
    headers: ['X-A', '1', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2'],
    body: [...shown, body].join(' '),
  }
}

test('toFetch converts a raw handler to its standard form', async () => {
  const handler = toFetch(raw)
  const request = new Request('http://localhost:81/a?b=c', { method: 'POST', body: 'body' })
  const response = await handler(request, { remoteAddress: '1.2.3.4' })
  assert.equal(await response.text(), 'POST /a?b=c localhost:81 1.2.3.4 body')
  assert.equal(response.headers.get('x-a'), '1')
  assert.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2'])
  assert.equal((await handler(new Request('http://localhost/drop'))).type, 'error')
  const head = await handler(new Request('http://localhost/', { method: 'HEAD' }))
  assert.deepEqual([head.body, head.headers.get('content-length')], [null, String('HEAD / localhost  '.length)])
})

test('toFetch limits the body, announced or not', async () => {
  const handler = toFetch(raw, { bodyBytes: 10 })
  const bodies = ['x'.repeat(11), new Blob(['x'.repeat(11)]).stream()]
  for (const body of bodies) {
    const init = { method: 'POST', body, duplex: 'half' }
    const error = await Promise.resolve(handler(new Request('http://localhost/', init as RequestInit))).catch((e) => e)
    assert.ok(error instanceof BodyError)
    assert.equal(error.code, 'body_too_large')
  }
})

test('toFetch forwards an abort', async () => {
  const controller = new AbortController()
  const handler = toFetch(
    (request) => new Promise((resolve) => request.onClose!(() => resolve({ status: 200, headers: [], body: 'gone' }))),
  )
  const response = handler(new Request('http://localhost/', { signal: controller.signal }))
  controller.abort()
  assert.equal(await (await response).text(), 'gone')
})

test('a handler made by toFetch is called in its raw form', async (t) => {
  const handler = toFetch((request) => ({ status: 200, headers: [], body: typeof request.headers?.get('host') }))
  const url = await listen(t, { fetch: handler })
  assert.equal(await (await fetch(url)).text(), 'string')
})

test('a text response of the host is sent, even if other code has read or changed it', async (t) => {
  const make: { [path: string]: (response: Response) => Response | Promise<Response> } = {
    '/plain': (response) => response,
    '/changed': (response) => {
      response.headers.set('x-added', 'yes')
      return response
    },
    '/wrapped': (response) => new Response(response.body, response),
    '/read': async (response) => new Response(`read ${response.status} ${await response.text()}`),
  }
  const url = await listen(t, {
    fetch: (request, info) => {
      const response = info!.textResponse!(202, ['content-type', 'application/json'], '{"name":"é"}')
      assert.ok(response instanceof Response)
      return make[new URL(request.url).pathname]!(response)
    },
  })
  const seen: unknown[] = []
  for (const path of Object.keys(make)) {
    const response = await fetch(url + path)
    const { headers } = response
    seen.push([response.status, headers.get('content-type'), headers.get('x-added'), await response.text()])
  }
  assert.deepEqual(seen, [
    [202, 'application/json', null, '{"name":"é"}'],
    [202, 'application/json', 'yes', '{"name":"é"}'],
    [202, 'application/json', null, '{"name":"é"}'],
    [200, 'text/plain;charset=UTF-8', null, 'read 202 {"name":"é"}'],
  ])
})
