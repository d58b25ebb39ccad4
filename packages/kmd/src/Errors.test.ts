import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { KmdError, registry } from './Errors.js'

type Row = { code: string; status: number; text: string; cure: string }

/** The rows of every table on the page, whose columns are code, status, text and what to do. */
function rowsOfPage(): Row[] {
  const page = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
  return [...page.matchAll(/^\| `(\w+)` \| (\d+) \| (.+?) \| (.+?) \|$/gm)].map(([, code, status, text, cure]) => ({
    code: code!,
    status: Number(status),
    text: text!.replaceAll('`', ''),
    cure: cure!,
  }))
}

test('docs/errors.md lists every error once, with the status and text it has', () => {
  const onPage = rowsOfPage()
  const listed = Object.fromEntries(onPage.map(({ code, status, text }) => [code, [status, text]]))
  assert.deepEqual(listed, registry)
  assert.equal(onPage.length, Object.keys(registry).length, 'a code is listed twice')
})

test('docs/errors.md says of every error what to do', () => {
  for (const { code, cure } of rowsOfPage()) assert.match(cure, /^[A-Z].* .*\.$/, code)
})

test('an error carries what the registry says of its code', () => {
  for (const [code, [status, text]] of Object.entries(registry)) {
    const error = new KmdError(code as keyof typeof registry)
    assert.deepEqual([error.code, error.status, error.message, error.name], [code, status, text, 'KmdError'])
    assert.equal(error.retryAfterSeconds, undefined)
    assert.ok(!('cause' in error))
  }
})

test('an error may say more: its own text, when to come again, what it came from', () => {
  const cause = new Error('disk')
  const error = new KmdError('database', { message: 'open x: denied', retryAfterSeconds: 3, cause })
  assert.deepEqual(
    [error.message, error.retryAfterSeconds, error.cause, error.status],
    ['open x: denied', 3, cause, 500],
  )
})
