/** Checks that primitives shared by several packages exist once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isTest, read, sources } from './sources.test.helper.js'

const files = sources('packages').filter((file) => !isTest(file))

/** The name of a primitive, a pattern that reveals a copy of it, and its home. */
const primitives: readonly (readonly [name: string, trace: RegExp, home: string])[] = [
  ['the check for an object', /function isObject\b|const isObject =/, 'packages/algorand/src/Json.ts'],
  ['base32', /ABCDEFGHIJKLMNOPQRSTUVWXYZ234567/, 'packages/algorand/src/internal/Bytes.ts'],
  ['the bounded map', /class BoundedMap\b/, 'packages/algorand/src/BoundedMap.ts'],
  ['the file lock', /'flock', \['-x'/, 'packages/system/src/Lock.ts'],
  [
    'the opener of SQLite',
    /import\('@photostructure\/sqlite'\)|from '@photostructure\/sqlite'/,
    'packages/system/src/Sqlite.ts',
  ],
  ['the Prometheus writer', /# HELP/, 'packages/system/src/Prometheus.ts'],
  ['the loader of sodium', /\('sodium-native'\)|from 'sodium-native'/, 'packages/algorand/src/platform/sodium.ts'],
  // Combined with `AbortSignal.timeout`, it may never abort.
  ['the signal of several sources', /AbortSignal\.any\(/, 'packages/algorand/src/TimeLimit.ts'],
  ['the edit distance', /function (?:editDistance|levenshtein|distance)\b/i, 'packages/algorand/src/Suggestion.ts'],
]

for (const [name, trace, home] of primitives) {
  test(`${name} exists once`, () => {
    assert.deepEqual(
      files.filter((file) => trace.test(read(file))),
      [home],
    )
  })
}

test('errors extend the one base', () => {
  // The HTTP host imports none of our packages, and the pages are separate programs.
  const others = files.filter((file) => !/^packages\/(?:http|pages)\//.test(file))
  assert.deepEqual(
    others.filter((file) => /class \w+(?:<.*>)? extends (?:Type|Range)?Error\b/.test(read(file))),
    ['packages/algorand/src/LatchkeyError.ts'],
  )
})

test('only VisibleText decides which characters are invisible', () => {
  // Whole labels are refused, and spreadsheet cells are quoted: neither replaces characters.
  const own = ['algorand/src/VisibleText.ts', 'kmd/src/contacts/Contacts.ts', 'x402/src/server/sales/salesCsv.ts']
  const found = files
    .filter((file) => !own.some((one) => file.endsWith(one)))
    .filter((file) => /\\p\{(?:C|Cf|Zl|DI|Default_Ignorable_Code_Point)\}/.test(read(file)))
  assert.deepEqual(found, ['packages/algorand/src/internal/description/format.ts'])
})
