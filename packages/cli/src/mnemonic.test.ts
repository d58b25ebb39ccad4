import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Mnemonic } from '@latchkey/algorand'
import fc from 'fast-check'
import { CommandError } from './errors.js'
import { mnemonicGrid, readMnemonic } from './mnemonic.js'
import '../../../test/seed.mjs'

const directory = mkdtempSync(join(tmpdir(), 'latchkey-words-'))
const path = join(directory, 'words')
after(() => rmSync(directory, { recursive: true }))

function readFrom(content: string): Promise<Uint8Array> {
  writeFileSync(path, content)
  return readMnemonic({ 'mnemonic-file': path })
}

test('decodes a mnemonic with any whitespace and case', async () => {
  const key = fc.uint8Array({ minLength: 32, maxLength: 32 })
  const gap = fc.constantFrom(' ', '\n', '\r\n', '\t', '  \n\n ')
  await fc.assert(
    fc.asyncProperty(key, gap, async (bytes, between) => {
      const words = Mnemonic.encode(bytes).replaceAll(' ', between)
      assert.deepEqual(await readFrom(words), bytes)
      assert.deepEqual(await readFrom(words.toUpperCase()), bytes)
    }),
    { numRuns: 50 },
  )
})

test('suggests the nearest word of the list', async () => {
  const good = Mnemonic.encode(new Uint8Array(32)).split(' ')
  const slips = { abot: 'about', zeor: 'zero', gaurd: 'guard', resuce: 'rescue', wintr: 'winter', abilitty: 'ability' }
  for (const [slip, meant] of Object.entries(slips)) {
    await assert.rejects(readFrom(good.with(11, slip).join(' ')), (error: CommandError) => {
      assert.equal(error.message, `word 12 is not in the word list (nearest: ${meant})`)
      return error instanceof CommandError && error.code === 'invalid_mnemonic'
    })
  }
})

test('errors quote none of the given words', async () => {
  const swapped = Mnemonic.encode(new Uint8Array(32).fill(5)).split(' ')
  const [first, second] = swapped
  swapped.splice(0, 2, second!, first!)
  await assert.rejects(readFrom(swapped.join(' ')), (error: Error) => {
    assert.match(error.message, /checksum does not match/)
    return !swapped.slice(0, 20).some((word) => word.length > 5 && error.message.includes(word))
  })
})

test('the words are shown in numbered rows of five, which can be read back', async () => {
  const seed = new Uint8Array(32).fill(7)
  const words = Mnemonic.encode(seed)
  const grid = mnemonicGrid(words)
  const rows = grid.trimEnd().split('\n')
  assert.deepEqual([rows.length, Math.max(...rows.map(({ length }) => length)) <= 80], [5, true])
  assert.match(rows[0]!, /^ {3}1 [a-z]+ +2 [a-z]+ +3 [a-z]+ +4 [a-z]+ +5 [a-z]+$/)
  assert.deepEqual(await readFrom(grid), seed)
})
