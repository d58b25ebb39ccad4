import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { withProgress } from './messages.js'

/** Captures the output on stderr, with or without a terminal. */
function captured(t: TestContext, isTTY: boolean): () => string {
  const before = Object.getOwnPropertyDescriptor(process.stderr, 'isTTY')
  Object.defineProperty(process.stderr, 'isTTY', { value: isTTY, configurable: true })
  t.after(() => {
    if (before === undefined) delete (process.stderr as { isTTY?: boolean }).isTTY
    else Object.defineProperty(process.stderr, 'isTTY', before)
  })
  let text = ''
  t.mock.method(process.stderr, 'write', (piece: string) => {
    text += piece
    return true
  })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  return () => text
}

test('shows slow work on a terminal and clears the message afterwards', async (t) => {
  const written = captured(t, true)
  let finish = (_: string): void => {}
  const work = withProgress(
    'Unlocking',
    new Promise<string>((resolve) => {
      finish = resolve
    }),
  )
  t.mock.timers.tick(299)
  assert.equal(written(), '')
  t.mock.timers.tick(1)
  assert.equal(written(), 'Unlocking...')
  finish('done')
  assert.equal(await work, 'done')
  assert.equal(written(), `Unlocking...\r${' '.repeat(12)}\r`)
})

test('shows nothing for quick work or without a terminal, and rethrows errors', async (t) => {
  const written = captured(t, true)
  assert.equal(await withProgress('Quick', Promise.resolve(1)), 1)
  await assert.rejects(withProgress('Failing', Promise.reject(new Error('no'))), /no/)
  t.mock.timers.tick(1_000)
  Object.defineProperty(process.stderr, 'isTTY', { value: false, configurable: true })
  assert.equal(await withProgress('Piped', Promise.resolve(2)), 2)
  t.mock.timers.tick(1_000)
  assert.equal(written(), '')
})
