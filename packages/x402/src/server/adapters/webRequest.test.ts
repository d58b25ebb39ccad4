import assert from 'node:assert/strict'
import test from 'node:test'
import { isUpgradeRequest } from '../routes/GateRequest.js'
import { webRequest } from './NodeMessage.js'

const { signal } = new AbortController()

function requestOf(method: string, headers: { [name: string]: string } = {}): Request {
  return webRequest({ method, headers: { host: 'shop.example', ...headers }, socket: {} } as never, '/a', signal)
}

test('accepts any method, including those that fetch does not send', () => {
  for (const method of ['GET', 'PURGE', 'TRACE', 'TRACK', 'CONNECT']) assert.equal(requestOf(method).method, method)
})

test('converts a CONNECT with a protocol to the upgrade of a GET', () => {
  const request = requestOf('CONNECT', { ':protocol': 'websocket', ':path': '/a' })
  assert.deepEqual(
    [request.method, request.headers.get('upgrade'), isUpgradeRequest(request)],
    ['GET', 'websocket', true],
  )
})

test('does not treat an offer of HTTP/2 as an upgrade', () => {
  assert.equal(isUpgradeRequest(requestOf('GET', { upgrade: 'h2c' })), false)
  assert.equal(isUpgradeRequest(requestOf('GET', { upgrade: 'h2c, WebSocket' })), true)
  assert.equal(isUpgradeRequest(requestOf('GET')), false)
})

test('refuses a host that would continue the URL', () => {
  for (const host of ['x/free?', 'a b', 'a@b', '']) assert.throws(() => requestOf('GET', { host }), TypeError, host)
})

test('with HTTP/2, refuses a target that is not a path, and a host that differs from the authority', () => {
  const from = (target: string, headers: { [name: string]: string }) =>
    webRequest({ method: 'GET', headers, socket: {} } as never, target, signal)
  for (const target of ['x:/paid', 'paid', '*', '?paid']) {
    assert.throws(() => from(target, { ':authority': 'shop.example' }), TypeError, target)
  }
  assert.throws(() => from('/a', { ':authority': 'shop.example', host: 'other.example' }), TypeError)
  assert.equal(from('/a', { ':authority': 'Shop.example', host: 'shop.example' }).url, 'http://shop.example/a')
})
