/** Tests `npm run test:repeat`: the order of the runs, and the record that a later run continues. */
import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

const { missingRuns, Repeats, roundsOf, tableLines } = await import(
  new URL('../../../scripts/testing/Repeats.mjs', import.meta.url).href
)

type Run = { readonly file: string; readonly mode: string }
type Round = { readonly mode: string; readonly files: readonly string[] }

const files = ['packages/a/dist/A.test.js', 'test/dist/b/b.test.js']
const [a, b] = files as [string, string]
const passed = (file: string) => ({ file, failures: [], passed: 1, skips: [], ms: 1_500 })
const failed = (file: string) => ({ ...passed(file), failures: [{ name: 'fails', error: 'on purpose' }] })

function recordFor(t: TestContext): { directory: string; path: string } {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-repeats-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return { directory, path: join(directory, 'record.jsonl') }
}

test('every file runs once before any runs again, and busy rounds spread over the others', (t) => {
  const repeats = new Repeats(recordFor(t).path)
  const order: string[] = []
  for (const { file, mode } of missingRuns(repeats, files, { alone: 4, busy: 2 }) as Iterable<Run>) {
    repeats.add(mode, passed(file))
    order.push(`${file === a ? 'a' : 'b'} ${mode}`)
  }
  const alone = ['a alone', 'b alone']
  const busy = ['a busy', 'b busy']
  assert.deepEqual(order, [...alone, ...alone, ...busy, ...alone, ...alone, ...busy])
})

test('a round has one mode and no file twice', (t) => {
  const repeats = new Repeats(recordFor(t).path)
  repeats.add('alone', passed(a))
  const rounds = []
  for (const round of roundsOf(missingRuns(repeats, files, { alone: 2, busy: 1 })) as Iterable<Round>) {
    rounds.push([round.mode, ...round.files])
    for (const file of round.files) repeats.add(round.mode, passed(file))
  }
  assert.deepEqual(rounds, [
    ['alone', b, a],
    ['alone', b],
    ['busy', a, b],
  ])
})

test('a record continues after its process was killed, and a file that failed starts over', (t) => {
  const { directory, path } = recordFor(t)
  const first = new Repeats(path)
  first.add('alone', passed(a))
  first.add('busy', failed(b))
  appendFileSync(path, '{"file":"packages/a/dis')
  const second = new Repeats(path)
  assert.deepEqual([second.count(a, 'alone'), second.count(b, 'busy')], [1, 0])
  assert.deepEqual(second.failedBefore, [{ file: b, failures: 1 }])
  const [saved] = readdirSync(join(directory, 'record-failures'))
  assert.match(readFileSync(join(directory, 'record-failures', saved!), 'utf8'), /test\/b\/b: fails\n +on purpose/)
  second.add('busy', passed(b))
  assert.deepEqual(new Repeats(path).failedBefore, [])
  assert.equal(new Repeats(path).count(b, 'busy'), 1)
})

test('the table has the runs, failures and seconds of each file, failures first', (t) => {
  const repeats = new Repeats(recordFor(t).path)
  for (const run of [passed(a), passed(a), failed(b)]) repeats.add('alone', run)
  const lines = tableLines(repeats.rows(files)).slice(2)
  assert.match(lines[0], /^ +1 +1 +1\.5 +1\.5 +0 +0 +0\.0 +0\.0 {2}test\/b\/b$/)
  assert.match(lines[1], /^ +2 +0 +3\.0 +1\.5 +0 +0 +0\.0 +0\.0 {2}packages\/a\/src\/A$/)
})
