import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const sources = fileURLToPath(new URL('../src/', import.meta.url))

test('only one file writes to stdout and stderr', () => {
  const writers = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .filter((path) => /std(out|err)\s*\.\s*write|console\s*\.\s*\w+\(/.test(readFileSync(`${sources}${path}`, 'utf8')))
  assert.deepEqual(writers, ['messages.ts'])
})

test('uncaught errors and warnings are printed without control characters', () => {
  const run = (code: string) => {
    const script = `import { reportCrashes } from ${JSON.stringify(new URL('./messages.js', import.meta.url).href)}
reportCrashes('latchkey', 3)
${code}`
    return spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  }
  const text = "'a' + String.fromCharCode(27, 93, 0x9b, 0x202e, 10) + 'latchkey: FAKE'"
  const crashed = run(`setTimeout(() => { throw new Error(${text}) })`)
  assert.equal(crashed.status, 3)
  assert.match(crashed.stderr, /^latchkey: Error: a\?\]\?\?$/m)
  const rejected = run(`Promise.reject(new Error(${text}))`)
  assert.equal(rejected.status, 3)
  const warned = run(`process.emitWarning(${text})`)
  assert.equal(warned.stderr, 'latchkey: Warning: a?]???latchkey: FAKE\n')
  for (const { stderr } of [crashed, rejected, warned]) {
    assert.doesNotMatch(stderr.replaceAll('\n', ''), /\p{C}/u)
    assert.doesNotMatch(stderr, /^latchkey: FAKE/m)
  }
})
