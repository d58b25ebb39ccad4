/** Tests valid and malformed HTTP of other clients. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import {
  dial,
  exchange,
  type Kmd,
  sleep,
  startHosted,
  statusesOf,
  statusOf,
  suiteScope,
  until,
} from './commands.test.helper.js'

const concurrency = 2

suite('HTTP', { concurrency }, () => {
  const scope = suiteScope()
  let kmd: Kmd
  before(async () => {
    kmd = await startHosted(scope)
  })

  test('pipelined requests are answered in order', async (t) => {
    const kmd = await startHosted(t)
    const id = await kmd.create('w', 'pw')
    const slow = JSON.stringify({ wallet_id: id, wallet_password: 'wrong' })
    const requests = [
      head(kmd, 'GET', '/v1/wallets'),
      `${head(kmd, 'POST', '/v1/wallet/init', `Content-Length: ${slow.length}`)}${slow}`,
      head(kmd, 'GET', '/versions'),
      `${head(kmd, 'POST', '/v1/wallet', 'Content-Length: 1')}{`,
      head(kmd, 'GET', '/no/such/path', 'Connection: close'),
    ]
    assert.deepEqual(statusesOf(await exchange(t, kmd.port, requests.join(''))), [200, 401, 200, 400, 404])
    // The same, one byte at a time.
    const { socket, received, closed } = await dial(t, kmd.port)
    socket.setNoDelay(true)
    for (const byte of requests.slice(2).join('')) {
      socket.write(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await closed
    assert.deepEqual(statusesOf(received()), [200, 400, 404])
  })

  test('a half-closed client gets its full response', async (t) => {
    const { socket, received, closed } = await dial(t, kmd.port)
    socket.end(head(kmd, 'GET', '/v1/wallets') + head(kmd, 'GET', '/versions') + head(kmd, 'GET', '/v1/nope'))
    await closed
    assert.deepEqual(statusesOf(received()), [200, 200, 404])
  })

  test('hundreds of pipelined requests do not block other clients', async (t) => {
    const { socket, received } = await dial(t, kmd.port)
    socket.write(head(kmd, 'GET', '/v1/wallets').repeat(500))
    await kmd.ok('GET', '/v1/wallets')
    await until('500 answers', () => statusesOf(received()).length === 500)
    assert.ok(statusesOf(received()).every((status) => status === 200))
  })

  test('HTTP/1.0 is closed after the response, or kept alive on request', async (t) => {
    const old = await exchange(t, kmd.port, head(kmd, 'GET', '/v1/wallets').replace('HTTP/1.1', 'HTTP/1.0'))
    assert.equal(statusOf(old), 200)
    assert.doesNotMatch(old, /Transfer-Encoding/i)
    const { socket, received } = await dial(t, kmd.port)
    const kept = head(kmd, 'GET', '/versions', 'Connection: keep-alive').replace('HTTP/1.1', 'HTTP/1.0')
    for (const count of [1, 2]) {
      socket.write(kept)
      await until('an answer', () => statusesOf(received()).length === count)
    }
    assert.match(received(), /\r\nConnection: keep-alive\r\n/i)
  })

  test('accepts bodies in chunks, with extensions and trailers, in any pieces', async (t) => {
    const kmd = await startHosted(t)
    const create = (name: string) => `{"wallet_name":"${name}","wallet_driver_name":"sqlite","wallet_password":""}`
    const chunked = (body: string, size: number) => {
      const chunks = body.match(new RegExp(`.{1,${size}}`, 'g'))!
      return `${chunks.map((chunk) => `${chunk.length.toString(16)};x=y\r\n${chunk}\r\n`).join('')}0\r\nX-Trailer: 1\r\n\r\n`
    }
    const headers = ['Transfer-Encoding: chunked', 'Connection: close']
    for (const size of [1, 7, 1000]) {
      const request = head(kmd, 'POST', '/v1/wallet', ...headers) + chunked(create(`whole${size}`), size)
      assert.equal(statusOf(await exchange(t, kmd.port, request)), 200)
    }
    const { socket, received, closed } = await dial(t, kmd.port)
    socket.setNoDelay(true)
    for (const byte of head(kmd, 'POST', '/v1/wallet', ...headers) + chunked(create('bytewise'), 5)) {
      socket.write(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await closed
    assert.equal(statusOf(received()), 200)
    assert.deepEqual((await kmd.walletNames()).sort(), ['bytewise', 'whole1', 'whole1000', 'whole7'])
  })

  test('a request after a chunked one is parsed correctly', async (t) => {
    const first = `${head(kmd, 'POST', '/v1/key/list', 'Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`
    const received = await exchange(t, kmd.port, first + head(kmd, 'GET', '/versions', 'Connection: close'))
    assert.deepEqual(statusesOf(received), [401, 200])
  })

  test('100 Continue is sent only when the body is read', async (t) => {
    const { socket, received, closed } = await dial(t, kmd.port)
    const body = '{"wallet_name":"e","wallet_driver_name":"sqlite"}'
    const headers = [`Content-Length: ${body.length}`, 'Expect: 100-continue', 'Connection: close']
    socket.write(head(kmd, 'POST', '/v1/wallet', ...headers))
    await until('the word to go on', () => received().startsWith('HTTP/1.1 100 Continue\r\n\r\n'))
    socket.write(body)
    await closed
    assert.deepEqual(statusesOf(received()), [100, 200])
    const refused: [string, number][] = [
      [head(kmd, 'POST', '/v1/wallet', ...headers).replace(kmd.token, 'x'.repeat(64)), 401],
      [head(kmd, 'POST', '/v1/wallet', 'Content-Length: 1048577', 'Expect: 100-continue'), 413],
    ]
    for (const [request, status] of refused) {
      assert.deepEqual(statusesOf(await exchange(t, kmd.port, request)), [status])
    }
  })

  test('malformed HTTP is 400 in the envelope, and the daemon keeps running', async (t) => {
    const chunked = (body: string) => head(kmd, 'POST', '/v1/wallet', 'Transfer-Encoding: chunked') + body
    const malformed: [title: string, bytes: string | Buffer][] = [
      ['no request line', 'hello\r\n\r\n'],
      ['no version', 'GET /versions\r\nHost: localhost\r\n\r\n'],
      ['a version of the future', 'GET /versions HTTP/2.0\r\nHost: localhost\r\n\r\n'],
      ['no path', 'GET  HTTP/1.1\r\nHost: localhost\r\n\r\n'],
      ['a header without a colon', head(kmd, 'GET', '/versions', 'nonsense')],
      ['a space before the colon', head(kmd, 'GET', '/versions', 'Content-Length : 5')],
      ['a folded header', head(kmd, 'GET', '/versions', 'X-A: b\r\n c: d')],
      ['a NUL in a header', head(kmd, 'GET', '/versions', 'X-A: b\0c')],
      ['a bare CR in a header', head(kmd, 'GET', '/versions', 'X-A: b\rc')],
      ['a length that is none', head(kmd, 'POST', '/v1/wallet', 'Content-Length: abc')],
      ['a negative length', head(kmd, 'POST', '/v1/wallet', 'Content-Length: -1')],
      ['two lengths', head(kmd, 'POST', '/v1/wallet', 'Content-Length: 2', 'Content-Length: 3')],
      ['a length and chunks', head(kmd, 'POST', '/v1/wallet', 'Content-Length: 2', 'Transfer-Encoding: chunked')],
      ['an unknown encoding', head(kmd, 'POST', '/v1/wallet', 'Transfer-Encoding: gzip')],
      ['a chunk without a size', chunked('zz\r\n{}\r\n0\r\n\r\n')],
      ['a chunk with a negative size', chunked('-1\r\n{}\r\n0\r\n\r\n')],
      ['a chunk longer than it says', chunked('1\r\n{}\r\n0\r\n\r\n')],
      ['control characters', Buffer.concat([Buffer.from([0, 1, 2, 3]), Buffer.from('\r\n\r\n')])],
      ['the start of TLS', Buffer.concat([Buffer.from('1603010200010001fc0303', 'hex'), Buffer.from('\r\n\r\n')])],
      ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ]
    for (const [title, bytes] of malformed) {
      const received = await exchange(t, kmd.port, bytes)
      assert.equal(statusOf(received), 400, `${title}: ${received}`)
      assert.match(received, /\{\s*"error": ?true,\s*"message": ?"/, title)
      assert.match(received, /\r\nConnection: close\r\n/i, title)
    }
    await kmd.ok('GET', '/v1/wallets')
    assert.ok(!kmd.log().includes('level=error'), kmd.log())
  })

  test('a malformed later chunk is 400 in the envelope', async (t) => {
    const { socket, received, closed } = await dial(t, kmd.port)
    socket.write(`${head(kmd, 'POST', '/v1/wallet', 'Transfer-Encoding: chunked')}1\r\n{\r\n`)
    await sleep(50)
    socket.write('zz\r\n')
    await closed
    assert.equal(statusOf(received()), 400)
  })

  test('random bytes do not stop the daemon', async (t) => {
    let seed = 0x2545f491
    const random = () => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
      return seed
    }
    const valid = `${head(kmd, 'POST', '/v1/wallet', 'Content-Length: 2')}{}`
    for (let round = 0; round < 150; round++) {
      const bytes = Buffer.from(valid, 'latin1')
      for (let change = random() % 8; change >= 0; change--) bytes[random() % bytes.length] = random() % 256
      const { socket, closed } = await dial(t, kmd.port)
      socket.end(bytes)
      await Promise.race([closed, sleep(20)])
      socket.destroy()
    }
    await kmd.ok('GET', '/v1/wallets')
    assert.ok(!kmd.log().includes('level=error'), kmd.log())
  })

  test('serves a GET with a body, also a late one', async (t) => {
    assert.equal((await kmd.call('GET', '/v1/wallets', '{}')).status, 200)
    const { socket, received, closed } = await dial(t, kmd.port)
    socket.write(head(kmd, 'GET', '/v1/wallets', 'Content-Length: 2', 'Connection: close'))
    await sleep(50)
    socket.write('{}')
    await closed
    assert.equal(statusOf(received()), 200)
  })
})

function head(kmd: { token: string }, method: string, path: string, ...headers: string[]): string {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: localhost', `X-KMD-API-Token: ${kmd.token}`, ...headers]
  return `${lines.join('\r\n')}\r\n\r\n`
}
