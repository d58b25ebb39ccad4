import assert from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openDescriptor, openFile } from './LineReader.js'

function file(t: TestContext, content: string | Uint8Array): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-input-'))
  t.after(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'file'), content)
  return join(directory, 'file')
}

const text = (line: Uint8Array | undefined): string | undefined =>
  line === undefined ? undefined : Buffer.from(line).toString('latin1')

test('returns lines without their line breaks, then undefined', (t) => {
  const input = openFile(file(t, 'one\r\n\ntwo\rhalf\nlast'))
  const lines = [
    input.readLine(),
    input.readLine(),
    input.readLine(),
    input.readLine(),
    input.readLine(),
    input.readLine(),
  ].map(text)
  assert.deepEqual(lines, ['one', '', 'two\rhalf', 'last', undefined, undefined])
  input.close()
})

test('returns bytes that are not text unchanged', (t) => {
  const input = openFile(file(t, Uint8Array.of(0xff, 0, 0x80, 0x0a)))
  assert.deepEqual(input.readLine(), Uint8Array.of(0xff, 0, 0x80))
  input.close()
})

test('two readers of one descriptor read one line each and leave it open', (t) => {
  const descriptor = openSync(file(t, 'first\nsecond\n'), 'r')
  const [first, second] = [openDescriptor(descriptor), openDescriptor(descriptor)]
  assert.equal(text(first.readLine()), 'first')
  first.close()
  assert.equal(text(second.readLine()), 'second')
  second.close()
  closeSync(descriptor)
})

test('rejects a line beyond the limit', (t) => {
  const input = openFile(file(t, 'x'.repeat(65_536)))
  assert.throws(() => input.readLine(), /no line end within 65536 bytes/)
  input.close()
  const longest = openFile(file(t, `${'x'.repeat(65_535)}\n`))
  assert.equal(longest.readLine()!.length, 65_535)
  longest.close()
})
