import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { RouteError, RouteTable } from './RouteTable.js'

function keyOf(keys: readonly string[], method: string, path: string): string | undefined {
  const match = new RouteTable(Object.fromEntries(keys.map((key) => [key, true]))).match(method, path)
  return match?.type === 'route' ? match.key : match?.type
}

test('matches methods, parameters and wildcards', () => {
  const keys = [
    'GET /a',
    'POST /a',
    '/any',
    'GET /items/:id',
    'GET /things/[id]/parts',
    'GET /files/*',
    'PUT /v*/x',
    'DELETE /s/*rest',
  ]
  const cases: [string, string, string | undefined][] = [
    ['GET', '/a', 'GET /a'],
    ['HEAD', '/a', 'GET /a'],
    ['POST', '/a', 'POST /a'],
    ['PUT', '/a', undefined],
    ['PATCH', '/any', '/any'],
    ['GET', '/items/7', 'GET /items/:id'],
    ['GET', '/items', undefined],
    ['GET', '/items/7/8', undefined],
    ['GET', '/things/7/parts', 'GET /things/[id]/parts'],
    ['GET', '/files', 'GET /files/*'],
    ['GET', '/files/a/b/c', 'GET /files/*'],
    ['GET', '/filesystem', undefined],
    ['PUT', '/v12/x', 'PUT /v*/x'],
    ['DELETE', '/s/a/b', 'DELETE /s/*rest'],
    ['GET', '/', undefined],
  ]
  for (const [method, path, expected] of cases) assert.equal(keyOf(keys, method, path), expected, `${method} ${path}`)
})

test('the first key that matches wins', () => {
  assert.equal(keyOf(['GET /items/special', 'GET /items/:id', 'GET /*'], 'GET', '/items/special'), 'GET /items/special')
  assert.equal(keyOf(['GET /items/special', 'GET /items/:id', 'GET /*'], 'GET', '/items/x'), 'GET /items/:id')
  assert.equal(keyOf(['GET /items/special', 'GET /items/:id', 'GET /*'], 'GET', '/x'), 'GET /*')
})

test('an unknown method matches every route, HEAD matches GET', () => {
  assert.equal(keyOf(['POST /a'], 'HEAD', '/a'), undefined)
  for (const method of ['OPTIONS', 'PURGE', 'QUERY', 'get']) assert.equal(keyOf(['GET /a'], method, '/a'), 'GET /a')
})

test('every reading of a path is matched', () => {
  const keys = ['GET /weekly', 'GET /files/*', 'GET /:shop/prices']
  const spellings = [
    '/WEEKLY',
    '/weekly/',
    '/weekly//',
    '//weekly',
    '/./weekly',
    '/x/../weekly',
    '/%77eekly',
    '/%2577eekly',
    '/%252577eekly',
    '/wee%E2%84%AAly',
    '/weekly;a=b',
    '/weekly;a/b',
    '/weekly?x',
    '/weekly#x',
    '/weekly%3Fx',
    '\\weekly',
    '/%5cweekly',
    '/x/%2e%2e/weekly',
    '/%2fweekly',
    '//host/weekly',
    '/files/../free',
    '/files/%2e%2e/free',
    '/a%2Fb/%70rices',
    '/a%252Fb/prices',
    '/%ffx/prices',
    '/files//../free',
    '/x/../files//../free',
    '/files//%2e%2e/free',
    '/free//../../files',
    '/../%66iles%2F.%2E/free',
    '/..\\files//..',
    '/%2e/file%73%2f%2E./free',
  ]
  for (const spelling of spellings) assert.notEqual(keyOf(keys, 'GET', spelling), undefined, spelling)
  for (const free of ['/free', '/week', '/free?x=/weekly', '/search?q=/../weekly', '/weekly2', '/prices']) {
    assert.equal(keyOf(keys, 'GET', free), undefined, free)
  }
})

test('a path that matches two routes in two readings is ambiguous', () => {
  assert.equal(keyOf(['GET /cheap/*', 'GET /dear'], 'GET', '/cheap/../dear'), 'ambiguous')
  assert.equal(keyOf(['GET /cheap/*', 'GET /dear'], 'GET', '/cheap/%2e%2e/dear'), 'ambiguous')
})

test('a key that no request can match is an error', () => {
  const bad = [
    'weather',
    'GET weather',
    'FETCH /a',
    'HEAD /a',
    'OPTIONS /a',
    'GET /a?b',
    'GET /a#b',
    'GET /a%20b',
    'GET //a',
    'GET /a/../b',
    'GET /a/./b',
    'GET /a;b',
    'GET /a\\b',
    'GET /:id.json',
    'GET /a/:id(\\d+)',
    'GET /{a}',
    'GET /[id',
    'GET /a b',
    '',
    'GET',
  ]
  for (const key of bad) assert.throws(() => new RouteTable({ [key]: true }), RouteError, key)
  assert.throws(() => new RouteTable({}), /routes is empty/)
})

test('a shadowed key is an error', () => {
  for (const [first, second] of [
    ['GET /a/*', 'GET /a/:id'],
    ['/a', 'POST /a'],
    ['*', 'GET /a'],
    ['GET /a', 'get /A/'],
    ['GET /:x', 'GET /[y]'],
  ]) {
    assert.throws(() => new RouteTable({ [first!]: 1, [second!]: 2 }), /is never reached/, `${first} ${second}`)
  }
  for (const [first, second] of [
    ['GET /a/x', 'GET /a/:id'],
    ['GET /a', 'POST /a'],
    ['GET /a', '/a'],
    ['GET /a/:id', 'GET /a/*'],
  ]) {
    assert.doesNotThrow(() => new RouteTable({ [first!]: 1, [second!]: 2 }), `${first} ${second}`)
  }
})

test('escaping does not make a path free', () => {
  const table = new RouteTable({ 'GET /weekly/report': true })
  const character = (one: string): fc.Arbitrary<string> => {
    const once = `%${one.charCodeAt(0).toString(16)}`
    return fc.constantFrom(one, one.toUpperCase(), once, `%25${once.slice(1)}`, `%2525${once.slice(1)}`)
  }
  const spelling = fc.tuple(...[...'weekly/report'].map(character)).map((all) => `/${all.join('')}`)
  fc.assert(
    fc.property(spelling, (path) => table.match('GET', path) !== undefined),
    { numRuns: 2_000 },
  )
})

test('a path that is a route when read as a URL is not free', () => {
  const table = new RouteTable({ 'GET /files/*': true })
  const plain = ['files', 'x', '..', '.', '', '%2e%2e', '.%2E', '%2e', 'files\\..', '..\\files', 'x;y']
  const piece = fc.constantFrom(...plain, 'file%73', 'files%2f..', 'x%2F..%2ffiles', 'file%73%2F%2e.', 'x%5c..')
  const path = fc.array(piece, { maxLength: 8 }).map((pieces) => `/${pieces.join('/')}`)
  let routes = 0
  fc.assert(
    fc.property(path, (target) => {
      if (!URL.canParse(target, 'http://localhost')) return
      const { pathname } = new URL(target, 'http://localhost')
      // Routers decode what they have read, and most resolve nothing afterwards.
      if (![pathname, decodeURIComponent(pathname)].some((read) => /^\/files(\/|$)/.test(read))) return
      routes++
      assert.notEqual(table.match('GET', target), undefined, target)
    }),
    { numRuns: 10_000 },
  )
  assert.ok(routes > 500, `only ${routes}`)
})

test('a path with too many readings is refused quickly', () => {
  const keys = ['GET /files/*', 'POST /other']
  assert.equal(keyOf(keys, 'GET', `/x${'%20'.repeat(1_000)}`), 'ambiguous')
  assert.equal(keyOf(keys, 'GET', `/${'a/'.repeat(5_000)}`), undefined, 'long, but plain')
  assert.equal(keyOf(keys, 'DELETE', `/x${'%20'.repeat(1_000)}`), undefined, 'no route matches')
  assert.equal(keyOf(keys, 'GET', '/%252e%252e;/..;/%2e%252f..\\%5c;x//..%2f%2e./;y#/..;/%23/../z'), 'ambiguous')
})

test('any path is matched without an error', () => {
  const table = new RouteTable({ 'GET /a/:b/*': true, 'POST *': true })
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (path) => void table.match('GET', path)),
    { numRuns: 2_000 },
  )
  assert.ok(table.match('POST', '/%'.repeat(4_000)) !== undefined)
})
