import assert from 'node:assert/strict'
import { test } from 'node:test'
import { corsHeaders, hostName, isHostAllowed, isLoopback, isLoopbackOrigin, TokenCheck } from './Access.js'

test('hostName returns the name in lower case, without port and brackets', () => {
  const names: [host: string, name: string][] = [
    ['localhost', 'localhost'],
    ['LocalHost:7833', 'localhost'],
    ['127.0.0.1:7833', '127.0.0.1'],
    ['localhost:', 'localhost'],
    ['[::1]', '::1'],
    ['[::1]:7833', '::1'],
    ['[FE80::1]:80', 'fe80::1'],
    ['', ''],
    ['evil.example:80', 'evil.example'],
  ]
  for (const [host, name] of names) assert.equal(hostName(host), name, host)
})

test('loopback names and addresses are recognized', () => {
  for (const name of ['localhost', 'dev.localhost', '127.0.0.1', '127.1.2.3', '::1', '0:0:0:0:0:0:0:1']) {
    assert.equal(isLoopback(name), true, name)
  }
  for (const name of [
    '',
    'localhost.evil.example',
    'notlocalhost',
    'x/devnet?a.localhost',
    '.localhost',
    '127.0.0.1.evil.example',
    '127.evil',
    '128.0.0.1',
  ]) {
    assert.equal(isLoopback(name), false, name)
  }
  for (const name of ['0.0.0.0', '::', '10.0.0.1', '::ffff:10.0.0.1', '127.1'])
    assert.equal(isLoopback(name), false, name)
})

test('a Host is allowed if it is loopback, in the settings, or the address of the interface', () => {
  const also = new Set(['keys.example'])
  const local = (): string => '::ffff:10.0.0.5'
  for (const host of ['localhost:1', '127.0.0.1:7833', '[::1]:1', 'keys.example:1', 'KEYS.example', '10.0.0.5:7833']) {
    assert.equal(isHostAllowed(host, also, local), true, host)
  }
  for (const host of ['evil.example', 'sub.keys.example', '10.0.0.6:7833', '', ':7833', 'localhost@evil.example']) {
    assert.equal(isHostAllowed(host, also, local), false, host)
  }
  assert.equal(isHostAllowed(undefined, also, local), false)
  assert.equal(
    isHostAllowed('[2001:db8::1]:80', new Set(), () => '2001:db8::1'),
    true,
  )
  assert.equal(isHostAllowed('10.0.0.5', new Set(), undefined), false)
  assert.equal(
    isHostAllowed('', new Set(), () => undefined),
    false,
  )
})

const page = 'https://page.example'
const allowed = { allowedHeaders: 'X-Token, Content-Type', allowedMethods: 'GET, OPTIONS' }
const cors = (allowedOrigins: string[], origin: string | undefined, method = 'GET'): string[] =>
  corsHeaders({ ...allowed, allowedOrigins, allowPrivateNetwork: false }, { method, origin, privateNetwork: 'true' })
const echoed = (origin: string): string[] => [
  'Access-Control-Allow-Origin',
  origin,
  'Access-Control-Allow-Headers',
  'X-Token, Content-Type',
  'Access-Control-Allow-Methods',
  'GET, OPTIONS',
]

test('a listed origin is echoed; others get no headers', () => {
  assert.deepEqual(cors(['https://other.example', page], page), echoed(page))
  for (const origin of [
    undefined,
    '',
    'https://PAGE.example',
    `${page}:443`,
    `${page}/`,
    'http://page.example',
    'null',
  ]) {
    assert.deepEqual(cors([page], origin), [], origin)
  }
  assert.deepEqual(cors([], page), [])
})

test('* allows every origin, null included, and is never sent itself', () => {
  assert.deepEqual(cors(['*'], page), echoed(page))
  assert.deepEqual(cors(['*'], 'null'), echoed('null'))
  assert.deepEqual(cors(['*'], ''), [])
  assert.deepEqual(cors(['https://*.example'], page), [])
})

const loopbackOrigins = [
  'http://localhost',
  'http://localhost:5173',
  'https://localhost:3000',
  'http://app.localhost:5173',
  'http://127.0.0.1:8000',
  'http://127.9.9.9',
  'http://[::1]:5173',
]
const otherOrigins = [
  '',
  'null',
  'localhost',
  'localhost:5173',
  'http://',
  'http://localhost:5173/',
  'http://localhost:5173/path',
  'HTTP://localhost',
  'http://LOCALHOST',
  'http://localhost.',
  'http://localhost.evil.example',
  'http://localhost@evil.example',
  'http://evil.example#localhost',
  'http://evil.example?localhost',
  'http://127.0.0.1.evil.example',
  'http://2130706433',
  'http://0x7f.1',
  'http://0.0.0.0:5173',
  'http://[::]:5173',
  'http://10.0.0.5:5173',
  'http://localhost:80',
  'http://localhost:99999',
  ' http://localhost',
  'http://localhost http://evil.example',
  'file://localhost',
  'ftp://localhost',
  'chrome-extension://localhost',
]

test('a loopback origin must be in the form that browsers send', () => {
  for (const origin of loopbackOrigins) assert.equal(isLoopbackOrigin(origin), true, origin)
  for (const origin of otherOrigins) assert.equal(isLoopbackOrigin(origin), false, origin)
})

test('loopback origins get headers only if the settings allow them', () => {
  const headersOf = (origin: string, allowLoopbackOrigins: boolean | undefined): string[] =>
    corsHeaders(
      { ...allowed, allowedOrigins: [page], allowLoopbackOrigins, allowPrivateNetwork: false },
      { method: 'GET', origin, privateNetwork: undefined },
    )
  for (const origin of loopbackOrigins) {
    assert.deepEqual(headersOf(origin, true), echoed(origin))
    assert.deepEqual(headersOf(origin, false), [])
    assert.deepEqual(headersOf(origin, undefined), [])
  }
  for (const origin of otherOrigins) assert.deepEqual(headersOf(origin, true), [], origin)
  assert.deepEqual(headersOf(page, true), echoed(page))
})

test('private network access is granted to preflights of any origin if the settings allow it', () => {
  const headersOf = (allowPrivateNetwork: boolean, method: string, privateNetwork: string | undefined): string[] =>
    corsHeaders({ ...allowed, allowedOrigins: [], allowPrivateNetwork }, { method, origin: page, privateNetwork })
  assert.deepEqual(headersOf(true, 'OPTIONS', 'true'), ['Access-Control-Allow-Private-Network', 'true'])
  assert.deepEqual(headersOf(true, 'OPTIONS', 'True'), [])
  assert.deepEqual(headersOf(true, 'OPTIONS', undefined), [])
  assert.deepEqual(headersOf(true, 'GET', 'true'), [])
  assert.deepEqual(headersOf(false, 'OPTIONS', 'true'), [])
})

test('only the current token matches', () => {
  const token = `${'a'.repeat(63)}\xe9`
  const check = new TokenCheck(token)
  assert.equal(check.matches(token), true)
  for (const other of [
    undefined,
    '',
    'a'.repeat(64),
    token.slice(0, 63),
    `${token}a`,
    token.toUpperCase(),
    ` ${token}`,
  ]) {
    assert.equal(check.matches(other), false)
  }
  check.replace('b'.repeat(70))
  assert.equal(check.matches(token), false)
  assert.equal(check.matches('b'.repeat(70)), true)
})

test('text after the brackets of an IPv6 address is part of the name', () => {
  for (const host of ['[::1].evil.example', '[::1]evil.example:80', 'evil.example[::1]']) {
    assert.equal(isHostAllowed(host, new Set(), undefined), false, host)
  }
})
