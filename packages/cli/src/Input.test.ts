import assert from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openDescriptor, openFile } from './Input.js'

function file(t: TestContext, content: string | Uint8Array): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-input-'))
  t.after(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'file'), content)
  return join(directory, 'file')
}

const text = (line: Uint8Array | undefined): string | undefined =>
  line === undefined ? undefined : Buffer.from(line).toString('latin1')

test('lines come without their ends, until there are no more', (t) => {
  const input = openFile(file(t, 'one\r\n\ntwo\rhalf\nlast'))
  const lines = [input.line(), input.line(), input.line(), input.line(), input.line(), input.line()].map(text)
  assert.deepEqual(lines, ['one', '', 'two\rhalf', 'last', undefined, undefined])
  input.close()
})

test('bytes that are no text come as they are', (t) => {
  const input = openFile(file(t, Uint8Array.of(0xff, 0, 0x80, 0x0a)))
  assert.deepEqual(input.line(), Uint8Array.of(0xff, 0, 0x80))
  input.close()
})

test('two readers of one descriptor take line after line, and leave it open', (t) => {
  const descriptor = openSync(file(t, 'first\nsecond\n'), 'r')
  const [first, second] = [openDescriptor(descriptor), openDescriptor(descriptor)]
  assert.equal(text(first.line()), 'first')
  first.close()
  assert.equal(text(second.line()), 'second')
  second.close()
  closeSync(descriptor)
})

test('a line without an end has a limit', (t) => {
  const input = openFile(file(t, 'x'.repeat(65_536)))
  assert.throws(() => input.line(), /no line end within 65536 bytes/)
  input.close()
  const longest = openFile(file(t, `${'x'.repeat(65_535)}\n`))
  assert.equal(longest.line()!.length, 65_535)
  longest.close()
})
