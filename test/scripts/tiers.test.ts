/**
 * Tests which commands run which tests: each test file belongs to a tier, and a run of a tier contains each of its
 * files once.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { root } from '../support/daemon.test.helper.js'

type Module = {
  readonly name: string
  readonly path: string
  readonly files: readonly string[]
  readonly expectedWallMs: number
}

const testing = new URL('../../../scripts/testing/', import.meta.url)
const { modulesOf, needsBrowser, tiers } = await import(new URL('tiers.mjs', testing).href)
const { testFiles } = await import(new URL('files.mjs', testing).href)
const files: readonly string[] = testFiles(['packages', 'test'])

/** Returns the modules of a tier, with their batches in a directory of the test. */
function modulesFor(t: TestContext, tier: string): Module[] {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-tiers-'))
  const before = process.env['LATCHKEY_CACHE']
  process.env['LATCHKEY_CACHE'] = directory
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  try {
    return modulesOf(files.filter(tiers[tier].has), tier)
  } finally {
    if (before === undefined) delete process.env['LATCHKEY_CACHE']
    else process.env['LATCHKEY_CACHE'] = before
  }
}

test('every test file runs in `npm test` or in `npm run test:system`, or compares with a node on request', () => {
  assert.ok(files.length > 500)
  const lost = files.filter((file) => !tiers.node.has(file) && !tiers.system.has(file))
  const isNamed = process.env['LATCHKEY_REFERENCE_ALGOD'] !== undefined
  assert.deepEqual(lost, isNamed ? [] : [join('test', 'dist', 'devnet', 'reference', 'reference-node.test.js')])
})

test('page tests that `npm test` leaves out without a browser run in `npm run test:system`', () => {
  const pages = files.filter(needsBrowser)
  assert.equal(pages.length, 2)
  for (const file of pages) assert.deepEqual([tiers.node.has(file), tiers.system.has(file)], [true, true], file)
})

for (const tier of ['node', 'system', 'unit']) {
  test(`the processes of the tier ${tier} run each of its files once`, (t) => {
    const modules = modulesFor(t, tier)
    const run = modules.flatMap((module) => module.files)
    assert.deepEqual(run.toSorted(), files.filter(tiers[tier].has).toSorted())
    for (const { path, files: members } of modules.filter((module) => module.files.length > 1)) {
      const code = readFileSync(path, 'utf8')
      for (const file of members) assert.ok(code.includes(pathToFileURL(join(root, file)).href), file)
    }
  })
}

test('the processes that are expected to take longest start first', (t) => {
  const times = modulesFor(t, 'node').map(({ expectedWallMs }) => expectedWallMs)
  assert.deepEqual(
    times,
    times.toSorted((a, b) => b - a),
  )
  assert.ok(times[0]! > times.at(-1)!)
})

test('two tiers that run at once write no batch with the same name', (t) => {
  const names = (tier: string): string[] =>
    modulesFor(t, tier)
      .filter((module) => module.files.length > 1)
      .map(({ path }) => path.split('/').at(-1)!)
  const other = new Set(names('system'))
  assert.deepEqual(
    names('node').filter((name) => other.has(name)),
    [],
  )
})
