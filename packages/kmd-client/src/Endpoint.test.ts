import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Endpoint from './Endpoint.js'
import { Kmd } from './Kmd.js'

const token = 't'.repeat(64)

test('Endpoint.parse', async (t) => {
  for (const [address, host, port] of [
    ['127.0.0.1:7833', '127.0.0.1', 7833],
    ['localhost:4002', 'localhost', 4002],
    ['http://localhost:4002', 'localhost', 4002],
    ['http://localhost:4002/', 'localhost', 4002],
    ['http://keys.example', 'keys.example', 80],
    ['keys.example:80', 'keys.example', 80],
    ['[::1]:7833', '::1', 7833],
    ['[::]:7833', '127.0.0.1', 7833],
    ['0.0.0.0:7833', '127.0.0.1', 7833],
    [':7833', 'localhost', 7833],
  ] as const) {
    await t.test(`reads ${address}`, () => {
      const { server } = Endpoint.parse(address, token)
      assert.deepEqual([server.host, server.port], [host, port])
    })
  }

  for (const address of [
    '',
    'localhost',
    '7833',
    'localhost:port',
    'localhost:99999',
    'https://localhost:7833',
    'ftp://localhost:7833',
    'http://localhost:7833/v1',
    'http://user:pw@localhost:7833',
    'http://localhost:7833?x',
    'file:///kmd.sock',
  ]) {
    await t.test(`rejects ${JSON.stringify(address)}`, () => {
      assert.throws(() => Endpoint.parse(address, token), { name: 'KmdClientError', code: 'invalid_argument' })
    })
  }

  await t.test('rejects options that are not set', async () => {
    const bad: [object | undefined, RegExp][] = [
      [undefined, /^neither dataDir nor address is set/],
      [{}, /^neither dataDir nor address is set/],
      [{ dataDir: undefined }, /^neither dataDir nor address is set/],
      [{ dataDir: '' }, /^neither dataDir nor address is set/],
      [{ address: 'localhost:1' }, /^the API token is blank/],
    ]
    for (const [options, message] of bad) {
      await assert.rejects(Kmd.connect(options as never), { name: 'KmdClientError', code: 'invalid_argument', message })
    }
  })

  await t.test('rejects a token that cannot be sent, without showing it', () => {
    for (const bad of ['', 'secret\r', 'secret\n', 'secret\u0100', ' secret']) {
      assert.throws(
        () => Endpoint.parse('localhost:1', bad),
        (error: Error) => {
          assert.match(error.message, /^the API token is blank or has characters that cannot be sent/)
          return !error.message.includes('secret')
        },
      )
    }
  })
})

test('a Unix socket is selected by its path', () => {
  const { server, address } = Endpoint.parse('unix:/run/kmd.sock', token)
  assert.deepEqual([server.socketPath, address, server.host], ['/run/kmd.sock', 'unix:/run/kmd.sock', 'localhost'])
  for (const wrong of ['unix:', 'unix:kmd.sock', 'unix:/a\0b']) {
    assert.throws(() => Endpoint.parse(wrong, token), { code: 'invalid_argument' })
  }
})
