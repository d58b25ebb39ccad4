import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BodyError } from './BodyReader.js'
import type { RawHandler } from './Message.js'
import { echo, get, post, responses, serve } from './Peer.test.helper.js'

test('a response has length and date, and the connection stays open', async (t) => {
  const peer = (await serve(t)).dial()
  peer.send(get('/a'))
  await peer.until('GET /a -')
  assert.match(peer.received(), /^HTTP\/1\.1 200 OK\r\nDate: \w{3}, .* GMT\r\nContent-Length: 8\r\n\r\nGET \/a -$/)
  peer.send(post('/b', 'body'))
  await peer.until('POST /b body')
})

test('pipelined requests are answered in order', async (t) => {
  let running = 0
  const slowFirst: RawHandler = async (request) => {
    assert.equal(++running, 1, 'two at once')
    await sleep(request.target === '/1' ? 30 : 0)
    running--
    return echo(request)
  }
  const peer = (await serve(t, slowFirst)).dial()
  peer.send(get('/1') + post('/2', 'two') + get('/3') + post('/4', ''))
  await peer.until('POST /4')
  assert.deepEqual(
    responses(peer.received()).map(([, body]) => body),
    ['GET /1 -', 'POST /2 two', 'GET /3 -', 'POST /4 '],
  )
})

test('repeated heads with different bodies are answered in order, and so is a head that differs', async (t) => {
  const peer = (await serve(t)).dial()
  const bodies = ['1', '2', '3', '4']
  peer.send(bodies.map((body) => post('/a', body)).join(''))
  await peer.until('POST /a 4')
  peer.send(post('/b', '5') + post('/a', '\r') + post('/a', '6'))
  await peer.until('POST /a 6')
  assert.deepEqual(
    responses(peer.received()).map(([, body]) => body),
    [...bodies.map((body) => `POST /a ${body}`), 'POST /b 5', 'POST /a \r', 'POST /a 6'],
  )
})

test('a body that is declared as ASCII has the length of its bytes, even if it is not', async (t) => {
  const bodies = ['plain', 'grün', 'last']
  const peer = (await serve(t, () => ({ status: 200, headers: [], body: bodies.shift()!, isAscii: true }))).dial()
  peer.send(get('/a') + get('/a') + get('/a'))
  await peer.until('last')
  assert.deepEqual(
    responses(peer.received()).map(([, body]) => body),
    ['plain', 'grün', 'last'],
  )
})

test('requests that arrive byte by byte are parsed the same', async (t) => {
  const peer = (await serve(t)).dial()
  const chunked = 'POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n'
  for (const byte of get('/a') + post('/b', 'body') + chunked + get('/d', 'Connection: close')) {
    peer.send(byte)
    await new Promise(setImmediate)
  }
  await peer.ended
  assert.deepEqual(
    responses(peer.received()).map(([, body]) => body),
    ['GET /a -', 'POST /b body', 'POST /c abcde', 'GET /d -'],
  )
})

test('Connection: close and HTTP/1.0 close the connection after the response', async (t) => {
  const { dial } = await serve(t)
  for (const request of [get('/a', 'Connection: close'), get('/a').replace('1.1', '1.0')]) {
    const peer = dial()
    peer.send(request + get('/never'))
    await peer.ended
    assert.match(peer.received(), /Connection: close\r\n\r\nGET \/a -$/)
  }
})

test('HTTP/1.0 with Connection: keep-alive stays open', async (t) => {
  const peer = (await serve(t)).dial()
  peer.send(get('/a', 'Connection: keep-alive').replace('1.1', '1.0'))
  await peer.until('GET /a -')
  assert.match(peer.received(), /Connection: keep-alive\r\n/)
  peer.send(get('/b'))
  await peer.until('GET /b -')
})

test('HEAD gets the headers of the response and no body', async (t) => {
  const peer = (await serve(t)).dial()
  peer.send(get('/a').replace('GET', 'HEAD'))
  await peer.until('\r\n\r\n')
  peer.send(get('/b'))
  await peer.until('GET /b -')
  assert.match(peer.received(), /^HTTP\/1\.1 200 OK\r\n[\s\S]*Content-Length: 9\r\n\r\nHTTP\/1\.1 200 OK/)
})

test('100 Continue is sent only when the handler reads the body', async (t) => {
  const { dial } = await serve(t)
  const wanted = dial()
  wanted.send(post('/a', '', 'Expect: 100-continue').replace('Content-Length: 0', 'Content-Length: 4'))
  await wanted.until('HTTP/1.1 100 Continue\r\n\r\n')
  wanted.send('body')
  await wanted.until('POST /a body')
  const tooLarge = dial()
  tooLarge.send(post('/a', '', 'Expect: 100-continue').replace('Content-Length: 0', 'Content-Length: 101'))
  await tooLarge.ended
  assert.match(tooLarge.received(), /^HTTP\/1\.1 413 [\s\S]*body_too_large$/)
})

test('a half-closed peer gets its response', async (t) => {
  const { dial } = await serve(t, async (request) => {
    await sleep(30)
    return echo(request)
  })
  const peer = dial()
  peer.socket.end(post('/a', 'body'))
  await peer.ended
  assert.match(peer.received(), /POST \/a body$/)
})

test('an unread body is skipped if it has arrived; otherwise the connection ends with the response', async (t) => {
  const { dial } = await serve(t)
  const whole = dial()
  whole.send(post('/a', '{}').replace('POST', 'GET') + get('/b'))
  await whole.until('GET /b -')
  const announced = dial()
  announced.send(post('/a', '').replace('POST', 'GET').replace('Content-Length: 0', 'Content-Length: 9'))
  await announced.ended
  assert.match(announced.received(), /Connection: close\r\n\r\nGET \/a -$/)
  const chunked = dial()
  chunked.send(`${get('/a', 'Transfer-Encoding: chunked')}0\r\n\r\n${get('/never')}`)
  await chunked.ended
  assert.deepEqual(responses(chunked.received()), [[200, 'GET /a -']])
})

test('a body above the limit is answered with 413, by length or in chunks, and the response can be read', async (t) => {
  const { dial } = await serve(t)
  const announced = dial()
  announced.send(post('/a', 'x'.repeat(101)).slice(0, -1))
  await announced.ended
  assert.deepEqual(responses(announced.received()), [[413, 'body_too_large']])
  const chunked = dial()
  chunked.send('POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n')
  await sleep(20)
  chunked.send(`ffff\r\n${'x'.repeat(10_000)}`)
  await chunked.ended
  assert.deepEqual(responses(chunked.received()), [[413, 'body_too_large']])
})

test('malformed chunks are answered with 400, with the head or after it', async (t) => {
  const { dial } = await serve(t)
  const head = 'POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n'
  const chunks = `zz\r\n${get('/never')}`
  const [together, apart] = [dial(), dial()]
  together.send(head + chunks)
  apart.send(head)
  await sleep(20)
  apart.send(chunks)
  await Promise.all([together.ended, apart.ended])
  assert.deepEqual(responses(together.received()), [[400, 'body_malformed']])
  assert.deepEqual(responses(apart.received()), [[400, 'body_malformed']])
})

const malformed: { [why: string]: string } = {
  'no HTTP at all': 'hello\r\n\r\n',
  'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'two lengths': 'POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
  'a length and chunks': 'POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
}
for (const [why, sent] of Object.entries(malformed)) {
  test(`${why} is answered with 400, and nothing more is served`, async (t) => {
    const peer = (await serve(t)).dial()
    peer.send(sent + get('/never'))
    await peer.ended
    const [[status, body], ...more] = responses(peer.received()) as [[number, string]]
    assert.equal(status, 400)
    assert.match(JSON.parse(body).message, /invalid HTTP request/)
    assert.deepEqual(more, [])
  })
}

test('headers beyond the limit are answered with 431, complete or not', async (t) => {
  const { dial } = await serve(t)
  for (const sent of [get('/a', `X: ${'x'.repeat(1000)}`), `GET /a HTTP/1.1\r\nX: ${'x'.repeat(1001)}`]) {
    const peer = dial()
    peer.send(sent)
    await peer.ended
    assert.equal(responses(peer.received())[0]?.[0], 431)
  }
})

test('headers that do not arrive in time are answered with 408', async (t) => {
  const { dial } = await serve(t, echo, { limits: { headersMs: 50 } })
  const slow = dial()
  slow.send('GET /a HTTP/1.1\r\n')
  const silent = dial()
  await Promise.all([slow.ended, silent.ended])
  assert.equal(responses(slow.received())[0]?.[0], 408)
  assert.equal(silent.received(), '')
})

test('a body that does not arrive in time is answered with 408', async (t) => {
  const peer = (await serve(t, echo, { limits: { requestMs: 50 } })).dial()
  peer.send('POST /a HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf')
  await peer.ended
  assert.deepEqual(responses(peer.received()), [[408, 'body_timeout']])
})

test('a connection without requests is closed after the idle time', async (t) => {
  const peer = (await serve(t, echo, { limits: { idleMs: 50 } })).dial()
  peer.send(get('/a'))
  await peer.ended
  assert.deepEqual(responses(peer.received()), [[200, 'GET /a -']])
})

test('stopping lets running requests finish, closes idle connections, and accepts no new ones', async (t) => {
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const { server, dial } = await serve(t, async (request) => {
    if (request.target === '/held') await held
    return echo(request)
  })
  const busy = dial()
  const idle = dial()
  idle.send(get('/a'))
  busy.send(get('/held') + get('/never'))
  await idle.until('GET /a -')
  const stopped = server.stop()
  await idle.ended
  release()
  await Promise.all([busy.ended, stopped])
  assert.deepEqual(responses(busy.received()), [[200, 'GET /held -']])
  assert.match(busy.received(), /Connection: close/)
  const late = dial()
  await late.ended
  assert.equal(late.received(), '')
})

test('stopping is limited in time', async (t) => {
  const { server, dial } = await serve(t, () => new Promise(() => {}), { limits: { stopMs: 50 } })
  const peer = dial()
  peer.send(get('/a'))
  await sleep(30)
  await server.stop()
  await peer.ended
  assert.equal(peer.received(), '')
})

test('a request whose peer disconnects during the body is dropped', async (t) => {
  let failed = (_error: unknown): void => {}
  const failure = new Promise((resolve) => {
    failed = resolve
  })
  let begin = (): void => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const { dial } = await serve(t, async (request) => {
    begin()
    try {
      await request.body()
    } catch (error) {
      failed(error)
    }
    return { status: 200, headers: [], body: '' }
  })
  const peer = dial()
  peer.send('POST /a HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf')
  // A peer that leaves before it is connected would send nothing.
  await begun
  peer.socket.destroy()
  assert.ok((await failure) instanceof BodyError)
})

test('non-ASCII bodies are sent with their length in bytes', async (t) => {
  const peer = (await serve(t, async () => ({ status: 200, headers: [], body: 'grüße 😀' }))).dial()
  peer.send(get('/'))
  await peer.until('Content-Length: 12')
  await peer.until(Buffer.from('grüße 😀').toString('latin1'))
})

test('a handler that throws or rejects closes only its own connection', async (t) => {
  const broken: RawHandler = (request) => {
    if (request.target === '/at-once') throw new Error('broken')
    return request.target === '/later' ? Promise.reject(new Error('broken')) : echo(request)
  }
  const { dial } = await serve(t, broken)
  for (const target of ['/at-once', '/later']) {
    const peer = dial()
    peer.send(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await peer.ended
    assert.equal(peer.received(), '')
  }
  const next = dial()
  next.send('GET /fine HTTP/1.1\r\nHost: x\r\n\r\n')
  await next.until('GET /fine -')
})

for (const isArrived of [true, false]) {
  test(`a body ${isArrived ? '' : 'that has not arrived '}cannot be read after the response`, async (t) => {
    let readLate = (): unknown => undefined
    const { dial } = await serve(t, (request) => {
      if (request.target === '/next') {
        assert.throws(readLate, BodyError)
        return echo(request)
      }
      readLate = request.body
      return { status: 200, headers: [], body: 'early' }
    })
    const peer = dial()
    const sent = post('/early', 'AAAA')
    peer.send(isArrived ? sent : sent.slice(0, -4))
    await peer.until('early')
    if (isArrived) {
      peer.send(post('/next', 'BBBB'))
      await peer.until('POST /next BBBB')
    } else {
      assert.throws(readLate, BodyError)
      await peer.ended
    }
  })
}

test('a body can be read once', async (t) => {
  const { dial } = await serve(t, async (request) => {
    const response = await echo(request)
    assert.throws(request.body, TypeError)
    return response
  })
  const peer = dial()
  peer.send(post('/a', 'AAAA') + post('/b', 'BBBB'))
  await peer.until('POST /b BBBB')
})
