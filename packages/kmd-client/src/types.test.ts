import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

test('declarations that use disposal reference its library, for projects without it', () => {
  const names = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.d.ts'))
  const texts = names.map((name) => readFileSync(join(import.meta.dirname, name), 'utf8'))
  const disposing = texts.filter((text) => /Symbol\.(async)?Dispose/i.test(text))
  assert.ok(disposing.length > 0)
  for (const text of disposing) assert.match(text, /^\/\/\/ <reference lib="esnext\.disposable"/)
})
