import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { StoredPass } from '../buyer/PaidRequest.js'
import { FilePassCache } from './FilePassCache.js'

const pass: StoredPass = {
  origin: 'https://shop.example',
  scope: 'S'.repeat(43),
  opens: 'route',
  requests: ['GET /weather'],
  pass: `1.${'p'.repeat(80)}.${'m'.repeat(43)}`,
  secret: 's'.repeat(43),
  untilMs: Date.now() + 600_000,
  requestsLeft: 9,
}

function newDirectory(t: TestContext): string {
  const parent = mkdtempSync(join(tmpdir(), 'latchkey-pass-cache-'))
  t.after(() => rmSync(parent, { recursive: true }))
  return join(parent, 'passes')
}

test('keeps passes for other processes, readable only by their owner', (t) => {
  const directory = newDirectory(t)
  assert.deepEqual(new FilePassCache(directory).all(pass.origin), [])
  new FilePassCache(directory).put(pass)
  new FilePassCache(directory).put({ ...pass, requestsLeft: 8 })
  const { requestsLeft: _, ...uncounted } = pass
  new FilePassCache(directory).put({ ...uncounted, scope: 'T'.repeat(43) } as StoredPass)
  const other = new FilePassCache(directory)
  assert.deepEqual(other.all('http://shop.example'), [])
  assert.deepEqual(
    other
      .all(pass.origin)
      .map(({ requestsLeft }) => requestsLeft)
      .sort(),
    [8, undefined],
  )
  assert.equal(statSync(directory).mode & 0o777, 0o700)
  for (const name of readdirSync(directory)) assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600)
  other.remove(pass.origin, pass.scope)
  other.remove(pass.origin, pass.scope)
  assert.equal(other.all(pass.origin).length, 1)
})

test('removes expired passes, and files that are not passes', (t) => {
  const directory = newDirectory(t)
  const cache = new FilePassCache(directory)
  cache.put(pass)
  const [name] = readdirSync(directory)
  const path = join(directory, name!)
  const text = readFileSync(path, 'utf8')
  const bad = [
    '',
    '{}',
    'null',
    `${text} `.repeat(2_000),
    JSON.stringify({ ...pass, origin: 'https://evil.example' }),
    JSON.stringify({ ...pass, pass: 'x\r\nCookie: a' }),
    JSON.stringify({ ...pass, secret: 7 }),
    JSON.stringify({ ...pass, requests: 'GET /' }),
    JSON.stringify({ ...pass, untilMs: Date.now() - 1 }),
    JSON.stringify({ ...pass, untilMs: 1e18 }),
    JSON.stringify({ ...pass, requestsLeft: -1 }),
  ]
  for (const content of bad) {
    writeFileSync(path, content)
    for (const origin of [pass.origin, 'https://evil.example'])
      assert.deepEqual(cache.all(origin), [], content.slice(0, 80))
    assert.deepEqual(readdirSync(directory), [])
  }
  writeFileSync(join(directory, 'notes.txt'), 'mine')
  assert.deepEqual(cache.all(pass.origin), [])
  assert.deepEqual(readdirSync(directory), ['notes.txt'])
})

test('explains why it cannot store a pass', (t) => {
  const directory = newDirectory(t)
  writeFileSync(directory, 'a file')
  assert.throws(() => new FilePassCache(directory).put(pass), { code: 'EEXIST' })
})
