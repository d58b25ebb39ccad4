import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import * as MetricsToken from './MetricsToken.js'

function directory(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'latchkey-metrics-'))
  t.after(() => rmSync(made, { recursive: true }))
  return made
}

function create(dataDir: string): string {
  const token = MetricsToken.generate()
  MetricsToken.store(dataDir, token)
  return token
}

test('the token matches as a bearer token, and the file has only its hash', (t) => {
  const dataDir = directory(t)
  const token = create(dataDir)
  assert.match(token, /^lkm_[A-Za-z0-9_-]{43}$/)
  assert.ok(MetricsToken.matches(dataDir, `Bearer ${token}`))
  assert.ok(MetricsToken.matches(dataDir, `bearer ${token}`))
  assert.ok(!readFileSync(MetricsToken.path(dataDir), 'utf8').includes(token.slice(4, 14)))
  assert.equal(statSync(MetricsToken.path(dataDir)).mode & 0o777, 0o600)
})

test('nothing else matches', (t) => {
  const dataDir = directory(t)
  assert.ok(!MetricsToken.matches(dataDir, 'Bearer lkm_A'), 'without a token')
  const token = create(dataDir)
  const hash = readFileSync(MetricsToken.path(dataDir), 'utf8').trim()
  for (const header of [
    undefined,
    '',
    token,
    `Basic ${token}`,
    `Bearer ${token}A`,
    `Bearer ${token} `,
    `Bearer lkm_${hash}`,
  ]) {
    assert.ok(!MetricsToken.matches(dataDir, header), header)
  }
  const other = create(dataDir)
  assert.deepEqual(
    [token, other].map((one) => MetricsToken.matches(dataDir, `Bearer ${one}`)),
    [false, true],
    'a new one replaces it',
  )
  writeFileSync(MetricsToken.path(dataDir), '\n')
  assert.ok(!MetricsToken.matches(dataDir, `Bearer ${other}`), 'a damaged file')
  assert.deepEqual([MetricsToken.remove(dataDir), MetricsToken.remove(dataDir)], [true, false])
})
