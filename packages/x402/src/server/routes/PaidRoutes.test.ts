import assert from 'node:assert/strict'
import test from 'node:test'
import { OptionsError } from '../../errors.js'
import { price } from '../stubs.test.helper.js'
import type { RequestPath } from './GateRequest.js'
import { targetProblem } from './RequestTarget.js'
import { PaidRoutes } from './RouteTable.js'

type Init = { method?: string; headers?: { [name: string]: string }; query?: string }

/** The key, the status, or `free`. */
function resultOf(
  routes: PaidRoutes,
  target: RequestPath | string,
  { method = 'GET', headers = {}, query = '' }: Init = {},
) {
  const path = typeof target === 'string' ? { path: target } : target
  const found = routes.find(new Request(`http://shop.example/x${query}`, { method, headers }), path)
  if (found.type === 'paid') return found.value.key
  return found.type === 'refused' ? found.response.status : found.type
}

const route = { accepts: price }

test('a method that a program behind the gate may use instead must cost the same', () => {
  const routes = new PaidRoutes({
    'POST /a': route,
    'DELETE /a': route,
    'GET /b': { ...route, otherMethods: 'free' },
    '/c': route,
  })
  const post = (path: string, name: string, value: string) =>
    resultOf(routes, path, { method: 'POST', headers: { [name]: value } })
  const names = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'HTTP-Method-Override']
  // Servers of CGI, WSGI and PHP pass these in the same variable.
  const folded = ['X_HTTP_METHOD_OVERRIDE', 'X_HTTP-Method_Override', 'X.HTTP.Method', 'x~method~override']
  for (const name of [...names, ...folded]) {
    assert.equal(post('/a', name, 'POST'), 'POST /a')
    assert.equal(post('/a', name, 'delete'), 400)
    assert.equal(post('/a', name, 'PURGE'), 400)
    assert.equal(post('/b', name, 'GET'), 400)
    assert.equal(post('/b', name, 'HEAD'), 400)
    assert.equal(post('/b', name, 'PUT, GET'), 400)
    assert.equal(post('/b', name, 'PUT'), 'free')
    assert.equal(post('/c', name, 'PURGE'), '/c')
    assert.equal(post('/d', name, 'GET'), 'free')
  }
  assert.equal(resultOf(routes, '/b', { method: 'POST', query: '?_method=GET' }), 400)
  assert.equal(resultOf(routes, '/b', { method: 'POST', query: '?_method=PUT' }), 'free')
  // PHP reads each of these as `_method`.
  for (const query of ['?.method=GET', '?[method=GET', '?x=1&%2Emethod=GET', '?_method%00x=GET', '?+_method=GET']) {
    assert.equal(resultOf(routes, '/b', { method: 'POST', query }), 400, query)
  }
  const others = { 'X-Method': 'GET', Method: 'GET', 'Access-Control-Request-Method': 'GET' }
  assert.equal(
    resultOf(routes, '/b', { method: 'POST', headers: others, query: '?payment_method=GET&method=GET' }),
    'free',
  )
})

test('other methods are free only if every key of the path allows it', () => {
  const free = { ...route, otherMethods: 'free' } as const
  const both = new PaidRoutes({ 'GET /a': free, 'GET /*': route })
  assert.equal(resultOf(both, '/a', { method: 'POST' }), 405)
  const one = new PaidRoutes({ 'GET /a': free, 'PUT /a': free })
  assert.equal(resultOf(one, '/a', { method: 'POST' }), 'free')
  assert.equal(resultOf(one, '/a', { method: 'OPTIONS' }), 'options')
})

test('with a base path, keys are whole or relative to it, whether it is removed or not', () => {
  for (const key of ['GET /api/v1/a', 'GET /v1/a', 'GET /a']) {
    const routes = new PaidRoutes({ [key]: route }, '/api/v1/')
    for (const path of ['/a', '/api/v1/a', '/%61']) assert.equal(resultOf(routes, path), key, `${key} ${path}`)
    for (const path of ['/b', '/x/a']) assert.equal(resultOf(routes, path), 'free', `${key} ${path}`)
  }
  const routes = new PaidRoutes({ 'GET /api/a': route }, '/api')
  assert.equal(routes.publicPath('/a'), '/api/a')
  assert.equal(routes.publicPath('/api/a'), '/api/a')
})

test('refuses a path that may match a key if a prefix may have been removed and the base path is not known', () => {
  const target = { path: '/weather', isPrefixUnknown: true }
  const keys = { 'GET /api/weather': route }
  const found = new PaidRoutes(keys).find(new Request('http://shop.example/weather'), target)
  assert.ok(found.type === 'refused' && found.response.status === 500)
  assert.ok(found.error instanceof OptionsError && /basePath/.test(found.error.hint ?? ''))
  assert.equal(resultOf(new PaidRoutes(keys, '/'), target), 'free')
  assert.equal(resultOf(new PaidRoutes(keys, '/api'), target), 'GET /api/weather')
  assert.equal(resultOf(new PaidRoutes(keys), { ...target, path: '/free' }), 'free')
  for (const basePath of ['api', '/a b', '/*', '/:id', 'http://x/', '/a//b']) {
    assert.throws(() => new PaidRoutes(keys, basePath), OptionsError, basePath)
  }
})

test('the path that the router uses takes precedence over the path that was sent', () => {
  const routes = new PaidRoutes({ 'GET /cheap': route, 'GET /dear': route })
  assert.equal(resultOf(routes, { path: '/dear', sent: '/cheap' }), 'GET /dear')
  assert.equal(resultOf(routes, { path: '/internal', sent: '/cheap' }), 'GET /cheap')
})

test('finds a method override in every spelling, and handles many parameters cheaply', () => {
  const routes = new PaidRoutes({ 'POST /a': route, 'DELETE /a': route })
  const post = (query: string) => resultOf(routes, '/a', { method: 'POST', query })
  const spellings = [
    '_method',
    '%5Fmethod',
    '_%6deth%6Fd',
    '_METHOD',
    '_method[]',
    '_method%5B0%5D',
    '+_method',
    '%20_method',
    'X-HTTP-Method-Override',
    'x%2dhttp-method-override',
    '%58-http-method',
  ]
  for (const name of spellings) {
    for (const query of [`?${name}=DELETE`, `?x=1&${name}=delete&y`, `?x=1;${name}=DELETE`, `#${name}=DELETE`]) {
      assert.equal(post(query), 400, query)
    }
    assert.equal(post(`?${name}=POST`), 'POST /a', name)
  }
  for (const query of ['?method=DELETE', '?x_method=DELETE', '?x=_method=DELETE', '?http-method=DELETE'])
    assert.equal(post(query), 'POST /a', query)
  assert.equal(post(`?${'%5fx=1&'.repeat(51)}`), 400)
  // A separator without a parameter is no candidate, however many there are.
  assert.equal(post(`?${'&;'.repeat(3_000)}%61=1`), 'POST /a')
  assert.equal(post(`?${'&;'.repeat(3_000)}%5fmethod=DELETE`), 400)
  assert.equal(post(`?${'filter%5Bx%5D=1&'.repeat(51)}`), 'POST /a')
})

const origin = 'http://shop.example'
const fixed = (target: string) => targetProblem(target, origin, { isPricedByFunction: false, allowsRepeated: false })
const byFunction = (target: string, allowsRepeated = false) =>
  targetProblem(target, origin, { isPricedByFunction: true, allowsRepeated })

test('names targets that the URL standard and handlers read differently, for fixed and dynamic prices', () => {
  const problems: { [target: string]: RegExp } = {
    '/a?x=1#&y=2': /fragment/,
    '/a#': /fragment/,
    '/a\\b': /backslash/,
    '/a?b=\\': /backslash/,
    'a/b': /start with a slash/,
    '//a/b': /two slashes/,
    '/a;b=1': /semicolon/,
    '/a%00': /control/,
    '/a%0Ab': /control/,
    '/a?b=%00': /control/,
    '/a?b=%': /UTF-8/,
    '/a%c3': /UTF-8/,
    '/a?b=%ED%A0%80': /UTF-8/,
    '/a/../b': /dot segments/,
    '/a/%2e%2e/b': /dot segments/,
    '/a\u00e9': /escapes/,
    '/a?b=\u00e9': /escapes/,
    '/a?b=<': /escapes/,
    '/a?b=c d': /escapes/,
    '/a\tb': /escapes/,
    'http://other.example/a': /host/,
    'https://shop.example/a': /host/,
    'http://user@shop.example/a': /host/,
    'http://shop.example:81/a': /host/,
  }
  for (const [target, expected] of Object.entries(problems)) {
    assert.match(fixed(target) ?? '', expected, target)
    assert.match(byFunction(target) ?? '', expected, target)
  }
})

test('finds no problem in an ordinary target', () => {
  const targets = [
    '/',
    '/a?',
    '/a/b.c~d-e_f',
    '/caf%C3%A9/a%20b?x=caf%c3%a9+%26%3D%25%0A',
    "/a?b=O'Brien&c={x|y}&d=^`",
    '/a?u=https://example.com/?b=c',
    'http://shop.example/a?b',
    'HTTP://SHOP.example:80/a',
  ]
  for (const target of targets) {
    assert.equal(fixed(target), undefined, target)
    assert.equal(byFunction(target), undefined, target)
  }
})

test('names spellings and parameters that parsers read differently if a function chooses the price', () => {
  const problems: { [target: string]: RegExp } = {
    '/%61': /escapes a letter/,
    '/a?%62=1': /escapes a letter/,
    '/a?b=%2D': /escapes a letter/,
    '/a%2Fb': /separator/,
    '/a%5cb': /separator/,
    '/a%25b': /separator/,
    '/a%3Fb': /separator/,
    '/a//b': /empty segment/,
    '/a?b=1;c=2': /semicolon/,
    '/a?b=1&b=2': /repeats/,
    '/a?b=1&B=2': /repeats/,
    '/a??b=1&?b=2': /repeats/,
    '/a?b[]=1': /brackets/,
    '/a?b%5B0%5D=1': /brackets/,
    '/a?b=c]=1': /brackets/,
    '/a?b=c%5D=1': /brackets/,
    '/a?b+=1': /space/,
    '/a?%20b=1': /space/,
    '/a?=1': /without a name/,
    '/a?constructor=1': /reserved/,
    [`/a?${Array.from({ length: 101 }, (_, index) => `p${index}`).join('&')}`]: /more than 100/,
  }
  for (const [target, expected] of Object.entries(problems)) {
    assert.match(byFunction(target) ?? '', expected, target)
    assert.equal(fixed(target), undefined, target)
  }
})

test('repeated parameters can be allowed, and nothing else with them', () => {
  assert.equal(byFunction('/a?b=1&b=2', true), undefined)
  assert.match(byFunction('/a?b[]=1&b[]=2', true) ?? '', /brackets/)
})
