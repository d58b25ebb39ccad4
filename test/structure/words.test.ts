/** Checks that each concept has one word; see CONTRIBUTING.md for the rules. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeOf, commentsOf, isTest, read, sources } from './sources.test.helper.js'

const files = ['packages', 'examples', 'bench', 'test'].flatMap(sources).filter((file) => !file.includes('structure/'))

/** Names that were replaced by standard terms. */
const oldNames =
  /\b(?:Doors|Tale|Estate|entrust\w*|caretaker\w*|holdBack|maxInAll|Selling|Facilitating|Signings|Asked|Kept|Lot|Refusal|Trouble|slowly|hush|expectLeave|fate)\b/

const oldPhrases = /\b(?:nobody|whoever|somebody|anew|unless told|overhears)\b/i

test('identifiers use standard terms', () => {
  const found = files.flatMap((file) =>
    [...codeOf(file).matchAll(new RegExp(oldNames, 'g'))].map(([word]) => `${file}: ${word}`),
  )
  assert.deepEqual(found, [])
})

test('comments are plain statements', () => {
  const found = files.flatMap((file) => oldPhrases.exec(commentsOf(file))?.map((phrase) => `${file}: ${phrase}`) ?? [])
  assert.deepEqual(found, [])
})

test('test files use test, not describe and it', () => {
  const found = files
    .filter(isTest)
    .filter((file) => /import \{[^}]*\b(?:describe|it)\b[^}]*\} from 'node:test'/.test(read(file)))
  assert.deepEqual(found, [])
})

test('helpers of tests end with .test.helper.ts', () => {
  const helpers = files.filter((file) => /\.(?:support|helper|fixture)\.tsx?$/.test(file) || /\/testing\//.test(file))
  assert.deepEqual(
    helpers.filter((file) => !file.endsWith('.test.helper.ts')),
    [],
  )
  // A program that runs on any algod, not only under the test runner.
  const isProgram = (file: string): boolean => file === 'test/devnet/scenario.ts'
  assert.deepEqual(
    files.filter((file) => file.startsWith('test/') && !isTest(file) && !isProgram(file)),
    [],
  )
  // A file that imports the test runner is a test or a test helper.
  const using = files.filter((file) => /from 'node:test'/.test(read(file)) && file.startsWith('packages/'))
  assert.deepEqual(
    using.filter((file) => !isTest(file)),
    [],
  )
})
