/** Tests how test files are spread over processes, and how many processes run at once. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { root } from '../support/daemon.test.helper.js'

type Made = { readonly name: string; readonly path: string; readonly files: readonly string[] }

const timeout = 120_000
const testing = new URL('../../../scripts/testing/', import.meta.url)
const { cut, writeBatch } = await import(new URL('batches.mjs', testing).href)
const { runModules } = await import(new URL('runModules.mjs', testing).href)
const { filesOf } = await import(new URL('Outcome.mjs', testing).href)
const { expectedTimes } = await import(new URL('times.mjs', testing).href)

function directoryFor(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-batches-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

test('cuts files into parts of equal cost, with neighbours together and none lost', () => {
  const costs = new Map([1, 1, 1, 3, 2, 2, 2].map((cost, index) => [`file-${index}`, cost]))
  const costOf = (file: string): number => costs.get(file)!
  assert.deepEqual(cut([...costs.keys()], 3, costOf), [
    ['file-0', 'file-1', 'file-2'],
    ['file-3', 'file-4'],
    ['file-5', 'file-6'],
  ])
  assert.deepEqual(cut([...costs.keys()], 1, costOf), [[...costs.keys()]])
  assert.deepEqual(cut(['file-0'], 4, costOf), [['file-0']])
  assert.deepEqual(cut([], 0, costOf), [])
})

test('a file without expected times counts as short in `npm test`, and as long in the system tests', () => {
  const file = 'test/dist/no-such-folder/no-such-file.test.js'
  const [short, long] = [expectedTimes('node')(file), expectedTimes('system')(file)]
  assert.ok(short.cpuMs > 0 && short.wallMs < 1_000)
  assert.ok(long.cpuMs > 0 && long.wallMs > 10_000)
})

test('a file without expected times in a tier counts as in `npm test`', () => {
  const file = 'test/dist/process/key-commands.test.js'
  assert.deepEqual(expectedTimes('unit')(file), expectedTimes('node')(file))
})

/** Creates modules that log their start and their end, which comes only after the start of the given number of them. */
function logging(directory: string, count: number, started = 1): { modules: Made[]; log: () => string[] } {
  const log = join(directory, 'log')
  writeFileSync(log, '')
  const modules = Array.from({ length: count }, (_, index) => {
    const path = join(directory, `made-${index}.test.mjs`)
    const code = `
      import { appendFileSync, readFileSync } from 'node:fs'
      import { test } from 'node:test'
      const log = ${JSON.stringify(log)}
      const started = () => readFileSync(log, 'utf8').split('start').length - 1
      test('waits', async () => {
        appendFileSync(log, 'start\\n')
        do await new Promise((resolve) => setTimeout(resolve, 300))
        while (started() < ${started})
        appendFileSync(log, 'end\\n')
      })`
    writeFileSync(path, code)
    return { name: `made-${index}`, path, files: [path] }
  })
  return { modules, log: () => readFileSync(log, 'utf8').trim().split('\n') }
}

const settings = { environment: { NODE_TEST_CONTEXT: undefined }, onEnd: () => {} }

test('starts no other process while the cores are busy', { timeout }, async (t) => {
  const { modules, log } = logging(directoryFor(t), 3)
  const results = await runModules(modules, { ...settings, concurrency: 3, least: 1, load: 1, busyCores: () => 1 })
  assert.equal(results.length, 3)
  assert.deepEqual(log(), ['start', 'end', 'start', 'end', 'start', 'end'])
})

test('starts no process after the given time', { timeout }, async (t) => {
  const { modules } = logging(directoryFor(t), 1)
  assert.deepEqual(await runModules(modules, { ...settings, concurrency: 1, until: 0 }), [])
})

test('starts further processes while cores are idle, up to the given number', { timeout }, async (t) => {
  const { modules, log } = logging(directoryFor(t), 3, 2)
  await runModules(modules, { ...settings, concurrency: 2, least: 1, load: 1, busyCores: () => 0 })
  let running = 0
  const most = Math.max(...log().map((event) => (running += event === 'start' ? 1 : -1)))
  assert.equal(most, 2)
})

test('a batch runs work for its end once, after the tests of its last file', { timeout }, async (t) => {
  const directory = directoryFor(t)
  const before = process.env['LATCHKEY_CACHE']
  process.env['LATCHKEY_CACHE'] = directory
  t.after(() => {
    if (before === undefined) delete process.env['LATCHKEY_CACHE']
    else process.env['LATCHKEY_CACHE'] = before
  })
  const { modules, log } = logging(directory, 2)
  const shared = join(directory, 'shared.mjs')
  const helper = new URL('../support/batch.test.helper.js', import.meta.url).href
  writeFileSync(
    shared,
    `import { appendFileSync } from 'node:fs'
     import { atEndOfProcess } from ${JSON.stringify(helper)}
     atEndOfProcess(() => appendFileSync(${JSON.stringify(join(directory, 'log'))}, 'last\\n'))`,
  )
  for (const { path } of modules) {
    writeFileSync(path, `import ${JSON.stringify(shared)}\n${readFileSync(path, 'utf8')}`)
  }
  const files = modules.map(({ path }) => relative(root, path))
  const batch = { name: 'batch', path: writeBatch('made', files), files }
  const [result] = await runModules([batch], { ...settings, concurrency: 1 })
  assert.deepEqual(
    filesOf(result).map(({ passed }: { passed: number }) => passed),
    [1, 1],
  )
  assert.deepEqual(log(), ['start', 'end', 'start', 'end', 'last'])
  const [alone] = await runModules(modules.slice(0, 1), { ...settings, concurrency: 1 })
  assert.equal(alone.problem, undefined)
  assert.deepEqual(log().slice(5), ['start', 'end', 'last'])
})
