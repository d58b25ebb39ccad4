import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { anyCharacter } from '../../../../../test/anyCharacter.mjs'
import { ReadingBudget, trimSlashes } from './RequestTarget.js'
import { RouteError, RouteTable } from './RouteTable.js'
import '../../../../../test/seed.mjs'

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
    ['PUT', '/a', 'method'],
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

test('HEAD matches GET, in any case', () => {
  for (const method of ['HEAD', 'get', 'head']) assert.equal(keyOf(['GET /a'], method, '/a'), 'GET /a')
})

test('distinguishes another method of a path from another path', () => {
  const table = new RouteTable({ 'GET /a': 1, 'PUT /a': 2, 'DELETE /b/*': 3, '/c': 4 })
  const allowed = (method: string, path: string) => {
    const match = table.match(method, path)
    return match?.type === 'method' ? [match.allowed.join(', '), match.values] : match?.type
  }
  for (const method of ['POST', 'OPTIONS', 'PURGE', 'QUERY', 'post']) {
    assert.deepEqual(allowed(method, '/a'), ['GET, HEAD, PUT, OPTIONS', [1, 2]])
    assert.deepEqual(allowed(method, '/%61/'), ['GET, HEAD, PUT, OPTIONS', [1, 2]])
    assert.equal(allowed(method, '/c'), 'route')
    assert.equal(allowed(method, '/d'), undefined)
  }
  assert.deepEqual(allowed('HEAD', '/b/x'), ['DELETE, OPTIONS', [3]])
})

test('matches keys with the whole path, and with the path below each segment of the mount point', () => {
  const keys = ['GET /api/v1/a', 'GET /v1/b', 'GET /c', 'GET /d/:id', '/api/v1']
  const table = new RouteTable(Object.fromEntries(keys.map((key) => [key, true])))
  const keyAt = (path: string, depth?: number) => {
    const match = table.match('GET', path, depth)
    return match?.type === 'route' ? match.key : match?.type
  }
  for (const path of ['/api/v1/a', '//api/v1/a', '/api//v1/%61']) assert.equal(keyAt(path, 2), 'GET /api/v1/a', path)
  for (const path of ['/api/v1/b', '//api//v1/b']) assert.equal(keyAt(path, 2), 'GET /v1/b', path)
  for (const path of ['/api/v1/c', '/api/v1//c/', '/%61pi/v1/%63']) assert.equal(keyAt(path, 2), 'GET /c', path)
  assert.equal(keyAt('/api/v1/d/7', 2), 'GET /d/:id')
  // Two slashes start a host if a program reads the rest as a URL.
  for (const path of ['/api/v1//x/c', '/api/v1/\\\\x/%63']) assert.equal(keyAt(path, 2), 'GET /c', path)
  for (const path of ['/api/v1/../a', '/api/v1/%2e%2e/a', '/%61pi/v1/../%61'])
    assert.equal(keyAt(path, 2), 'GET /api/v1/a', path)
  assert.equal(keyAt('/api?x=/v1/c', 2), undefined)
  assert.equal(keyAt('/api/v1/', 2), '/api/v1')
  assert.equal(keyAt('/api/v1/c', 1), undefined)
  assert.equal(keyAt('/api/v1/c'), undefined)
  assert.equal(keyAt('/api/v1/x/c', 2), undefined)
})

test('the first key wins, for any matching form of the path', () => {
  const dear = new RouteTable({ 'GET /dear': 1, '*': 2 })
  const match = dear.match('GET', '/api/dear', 1)
  assert.equal(match?.type === 'route' && match.key, 'GET /dear')
})

test('determines before any request whether a framework’s route may be paid for', () => {
  const table = new RouteTable({ 'GET /api/a': 1, 'GET /items/:id/parts': 2, 'GET /files/*': 3 })
  const may = [
    '/api/a',
    '/a',
    '/API/:x',
    '/*',
    '/items/7/parts',
    '/:any/:id/parts',
    '/files',
    '/files/a/b',
    '/api/a/:x?',
  ]
  for (const url of may) assert.equal(table.mayMatch(url), true, url)
  const strict = new RouteTable({ 'GET /a': 1, 'GET /:id/parts': 2 })
  for (const url of ['/api/a', '/b', '/x/y/parts', '/x/a/:y']) assert.equal(strict.mayMatch(url), false, url)
  assert.equal(strict.mayMatch('/api/a', 1), true)
})

test('distinguishes a path that may have lost a prefix from a free one', () => {
  const table = new RouteTable({ 'GET /api/v1/a': 1, 'POST /shop/:id': 2, 'GET /files/*': 3, 'GET /:any/x': 4 })
  assert.equal(table.keyWithPrefix('GET', '/v1/a'), 'GET /api/v1/a')
  assert.equal(table.keyWithPrefix('POST', '/7'), 'POST /shop/:id')
  assert.equal(table.keyWithPrefix('GET', '/7'), 'GET /files/*')
  const few = new RouteTable({ 'GET /api/v1/a': 1, 'POST /shop/:id': 2, 'GET /:any/x': 4 })
  assert.equal(few.keyWithPrefix('HEAD', '/%61/'), 'GET /api/v1/a')
  for (const path of ['/7', '/x', '/v2/a', '/api/v1']) assert.equal(few.keyWithPrefix('GET', path), undefined, path)
})

test('matches every reading of a path', () => {
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

test('a path with dots or spaces at the end of a segment is that without them, too', () => {
  for (const end of ['.', '..', '%20', '. ', '%20.', '%2e', '%252e', './', '%20/', '.;a=b', '.?x', './.']) {
    assert.equal(keyOf(['GET /v1/dear'], 'GET', `/v1/dear${end}`), 'GET /v1/dear', end)
    assert.equal(keyOf(['GET /v1/dear'], 'GET', `/v1${end.replace('?x', '')}/dear`), 'GET /v1/dear', end)
    assert.equal(keyOf(['GET /v1/dear', 'GET /v1/*'], 'GET', `/v1/dear${end}`), 'ambiguous', end)
    assert.equal(keyOf(['GET /v1/*'], 'GET', `/v1/Inc${end}`), 'GET /v1/*', end)
  }
  for (const path of ['/v1/.dear', '/v1/%20dear', '/v1/de.ar', '/v1/...'])
    assert.equal(keyOf(['GET /v1/dear', 'GET /v1'], 'GET', path), undefined, path)
})

test('a path whose readings match two routes is ambiguous', () => {
  assert.equal(keyOf(['GET /cheap/*', 'GET /dear'], 'GET', '/cheap/../dear'), 'ambiguous')
  assert.equal(keyOf(['GET /cheap/*', 'GET /dear'], 'GET', '/cheap/%2e%2e/dear'), 'ambiguous')
})

test('rejects a key that no request can match', () => {
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

test('rejects a shadowed key', () => {
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
      // Routers decode the path that they have read, and most resolve nothing afterwards.
      if (![pathname, decodeURIComponent(pathname)].some((read) => /^\/files(\/|$)/.test(read))) return
      routes++
      assert.notEqual(table.match('GET', target), undefined, target)
    }),
    { numRuns: 10_000 },
  )
  assert.ok(routes > 500, `only ${routes}`)
})

test('refuses a path with too many readings if one of them may be a route, and lets it pass otherwise', () => {
  const keys = ['GET /files/*', 'POST /other/:id']
  const odd = '/%252e%252e;/..;/%2e%252f..\\%5c;x//..%2f%2e./;y#/..;/%23/../'
  for (const end of ['files', 'FILE%73', '%2566iles', 'x;files', 'files'.replace('s', '\u{17f}')]) {
    assert.equal(keyOf(keys, 'GET', `${odd}${end}`), 'ambiguous', end)
  }
  assert.equal(keyOf(keys, 'GET', `${odd}z`), undefined)
  assert.equal(keyOf(keys, 'GET', `/${'a/'.repeat(5_000)}`), undefined, 'long, but plain')
  assert.equal(
    keyOf(keys, 'GET', `/files/${'caf%C3%A9%20'.repeat(60)}`),
    'GET /files/*',
    'long, and read the same by all',
  )
  assert.equal(keyOf(keys, 'GET', `/x${'%20'.repeat(1_000)}`), 'ambiguous', 'too long to be read')
})

test('limits the texts derived from a path for any number of mounts, and needs none for most paths', () => {
  const table = new RouteTable({ 'GET /files/*': 1, 'GET /a/:b': 2, 'POST /:c': 3 })
  const piece = fc.constantFrom(
    '%252e',
    ';',
    '%2f',
    '%5c',
    '..',
    '//',
    '.',
    '\\',
    '%2e',
    '%3b',
    '/',
    'files',
    'a',
    '%',
    '#',
    '%25',
  )
  const path = fc.array(piece, { maxLength: 120 }).map((pieces) => `/${pieces.join('')}`)
  const worst = [
    '%252e;%2f%5c..//'.repeat(120),
    '%252e;%2f%5c..//files'.repeat(12),
    `files${';a/..//%2e%2f'.repeat(18)}`,
  ]
  const check = (target: string): void => {
    for (const depth of [0, 3]) {
      const budget = new ReadingBudget()
      table.match('GET', target, depth, budget)
      assert.ok(budget.used <= ReadingBudget.maxCharacters, `${target}: ${budget.used}`)
    }
  }
  for (const target of worst) check(`/${target}`)
  fc.assert(fc.property(path, check), { numRuns: 2_000 })
  const none = new ReadingBudget()
  table.match('GET', `/${'b/'.repeat(2_000)}`, 3, none)
  new RouteTable({ 'GET /files/*': 1 }).match('GET', `/${'%252e;%2f%5c..//'.repeat(12)}`, 3, none)
  assert.equal(none.used, 0)
})

test('trims slashes at the end of a path, and skips those within it in linear time', () => {
  assert.deepEqual(['/a//', '//', '', '/a//b'].map(trimSlashes), ['/a', '/', '/', '/a//b'])
  const before = process.cpuUsage()
  const path = `${'/'.repeat(100_000)}a`
  assert.equal(trimSlashes(path), path)
  assert.ok(process.cpuUsage(before).user < 5_000_000, 'takes too long')
})

test('matches any path without an error', () => {
  const table = new RouteTable({ 'GET /a/:b/*': true, 'POST *': true })
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 200 }), (path) => void table.match('GET', path)),
    { numRuns: 2_000 },
  )
  assert.ok(table.match('POST', '/%'.repeat(4_000)) !== undefined)
})
