/**
 * Tests how long connections are kept: the announced time, and that no connection with a received request is closed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { echo, get, serve } from './Peer.test.helper.js'

test('a keep-alive client is told a shorter time than connections are kept', async (t) => {
  for (const [idleMs, seconds] of [
    [75_000, 60],
    [120_000, 96],
    [2_000, 1],
  ] as const) {
    const peer = (await serve(t, echo, { limits: { idleMs } })).dial()
    peer.send(get('/a', 'Connection: keep-alive'))
    await peer.until('GET /a -')
    assert.match(peer.received(), new RegExp(`\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n`))
    assert.ok(seconds * 1000 < idleMs)
  }
})

test('a client that does not request keep-alive, or declines it, is told no time', async (t) => {
  const { dial } = await serve(t)
  for (const headers of [[], ['Connection: close']]) {
    const peer = dial()
    peer.send(get('/a', ...headers))
    await peer.until('GET /a -')
    assert.doesNotMatch(peer.received(), /keep-alive/i)
  }
})

test('a time that is too short for clients to observe is not announced', async (t) => {
  const peer = (await serve(t, echo, { limits: { idleMs: 900 } })).dial()
  peer.send(get('/a', 'Connection: keep-alive'))
  await peer.until('GET /a -')
  assert.match(peer.received(), /\r\nConnection: keep-alive\r\n/)
  assert.doesNotMatch(peer.received(), /timeout=/)
})

test('a request that arrives while the process is busy is served, however late it is read', async (t) => {
  const peer = (await serve(t, echo)).dial()
  peer.send(get('/a'))
  await peer.until('GET /a -')
  let aheadMs = 0
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + aheadMs)
  // The bytes are in the socket when both the idle time of the connection and the check interval have passed.
  peer.send(get('/b'))
  aheadMs = 10 * 60_000
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
  await Promise.race([peer.until('GET /b -'), peer.ended])
  assert.match(peer.received(), /GET \/b -$/)
})
