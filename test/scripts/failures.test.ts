/** Tests how a failed test is reported: with source lines, although Node runs the compiled modules without maps. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

const timeout = 120_000
const testing = new URL('../../../scripts/testing/', import.meta.url)
const { withSources } = await import(new URL('sources.mjs', testing).href)
const { runModules } = await import(new URL('runModules.mjs', testing).href)
const { failureLines, filesOf } = await import(new URL('Outcome.mjs', testing).href)

/** Maps the start of each of the first three lines to lines 11, 12 and 13 of the source. */
const map = { version: 3, sources: ['../src/made.ts'], names: [], mappings: 'AAUA;AACA;AACA' }

function directoryFor(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-failures-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

test('maps a position in a compiled module to its source, as a path or as a URL', (t) => {
  const directory = directoryFor(t)
  writeFileSync(join(directory, 'made.js.map'), JSON.stringify(map))
  const source = join(directory, '..', 'src', 'made.ts')
  const stack = `Error: no\n    at fail (file://${directory}/made.js:2:1)\n    at ${directory}/made.js:3:5`
  assert.equal(withSources(stack), `Error: no\n    at fail (${source}:12:1)\n    at ${source}:13:1`)
})

test('positions without a readable map stay unchanged', (t) => {
  const directory = directoryFor(t)
  writeFileSync(join(directory, 'broken.js.map'), '{')
  for (const name of ['broken.js', 'plain.js', 'no%ZZ.mjs']) {
    const stack = `Error: see https://example.com/a.js:1:2\n    at file://${directory}/${name}:1:1`
    assert.equal(withSources(stack), stack)
  }
})

test('the report of a failed file names the line of its source', { timeout }, async (t) => {
  const directory = directoryFor(t)
  const path = join(directory, 'made.test.mjs')
  writeFileSync(path, `import { test } from 'node:test'\n\ntest('fails', () => { throw new Error('on purpose') })\n`)
  writeFileSync(`${path}.map`, JSON.stringify(map))
  const results = await runOne(path)
  const report = failureLines(results.flatMap(filesOf)).join('\n')
  assert.match(report, /fails\n +Error: on purpose\n/)
  assert.match(report, /src\/made\.ts:13:1/)
  assert.doesNotMatch(report, /made\.test\.mjs:3/)
})

test('tests and hooks belong to the suite that defines them, and late errors to the test that causes them', {
  timeout,
}, async (t) => {
  const path = join(directoryFor(t), 'made.test.mjs')
  const code = `
    import assert from 'node:assert/strict'
    import { once } from 'node:events'
    import { createServer } from 'node:http'
    import { before, suite, test } from 'node:test'
    import { setTimeout as sleep } from 'node:timers/promises'
    const order = []
    await suite('first', async () => {
      await sleep(5)
      before(() => order.push('before first'))
      await import('node:zlib')
      test('in first', () => order.push('in first'))
    })
    await suite('second', () => {
      before(() => order.push('before second'))
      suite('inner', { concurrency: true }, () => {
        test('throws in a timer', () => new Promise(() => setTimeout(() => { throw new Error('timer') }, 20)))
        test('waits', () => sleep(60))
        test('rejects', async () => {
          const server = createServer((_, response) => {
            Promise.reject(new Error('request'))
            response.end()
          }).listen(0, '127.0.0.1')
          await once(server, 'listening')
          await fetch('http://127.0.0.1:' + server.address().port)
          server.close()
          await sleep(60)
        })
      })
      test('in second', async (t) => {
        await sleep(5)
        await t.test('part', () => order.push('part'))
      })
    })
    test('order', () => assert.deepEqual(order, ['before first', 'in first', 'before second', 'part']))
  `
  writeFileSync(path, code)
  const [result] = await runOne(path)
  assert.equal(result.problem, undefined)
  const records = result.records.filter(({ type }: Record) => type === 'test' || type === 'suite')
  assert.deepEqual(
    records.map(({ name, nesting, isPassed, error }: Record) => [
      nesting,
      name,
      isPassed || /\w+: \w+/.exec(error)?.[0],
    ]),
    [
      [1, 'in first', true],
      [0, 'first', true],
      [2, 'throws in a timer', 'Error: timer'],
      [2, 'waits', true],
      [2, 'rejects', 'Error: request'],
      [1, 'inner', undefined],
      [2, 'part', true],
      [1, 'in second', true],
      [0, 'second', undefined],
      [0, 'order', true],
    ],
  )
})

type Record = { type: string; name: string; nesting: number; isPassed: boolean; error: string }

test('only tests that download run with the extra certificates of the machine', { timeout }, async (t) => {
  const directory = directoryFor(t)
  const path = join(directory, 'made.test.mjs')
  writeFileSync(
    path,
    `import { test } from 'node:test'\ntest(\`certificates: \${process.env.NODE_EXTRA_CA_CERTS}\`, () => {})\n`,
  )
  const { NODE_EXTRA_CA_CERTS: before } = process.env
  t.after(() => {
    if (before === undefined) delete process.env['NODE_EXTRA_CA_CERTS']
    else process.env['NODE_EXTRA_CA_CERTS'] = before
  })
  process.env['NODE_EXTRA_CA_CERTS'] = '/dev/null'
  const namesFor = async (file: string): Promise<string[]> => {
    const [{ records }] = await runOne(path, file)
    return records.filter(({ type }: { type: string }) => type === 'test').map(({ name }: { name: string }) => name)
  }
  assert.deepEqual(await namesFor('test/dist/process/send.test.js'), ['certificates: undefined'])
  assert.deepEqual(await namesFor('test/dist/publish/outside.test.js'), ['certificates: /dev/null'])
})

/** Isolates the started process from the runner of this test. */
const environment = { NODE_TEST_CONTEXT: undefined }

function runOne(path: string, file = path) {
  return runModules([{ name: 'made', path, files: [file] }], { concurrency: 1, environment, onEnd: () => {} })
}
