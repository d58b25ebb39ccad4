import assert from 'node:assert/strict'
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
