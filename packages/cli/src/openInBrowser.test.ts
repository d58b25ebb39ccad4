import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openInBrowser } from './openInBrowser.js'

/** An environment whose openers do nothing, so that no test opens a browser. */
function environment(t: TestContext, runtimeDirectory?: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-open-'))
  for (const opener of ['xdg-open', 'open']) writeFileSync(join(directory, opener), '#!/bin/sh\n', { mode: 0o755 })
  const before = { PATH: process.env['PATH'], XDG_RUNTIME_DIR: process.env['XDG_RUNTIME_DIR'] }
  t.after(() => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    rmSync(directory, { recursive: true, force: true })
  })
  process.env['PATH'] = `${directory}:${before.PATH}`
  process.env['XDG_RUNTIME_DIR'] = runtimeDirectory ?? directory
  return directory
}

test('the file redirects to the link, and is removed when the link has expired', async (t) => {
  const directory = environment(t)
  const url = 'http://127.0.0.1:7833/console/?a=1&b="<#ticket'
  const path = openInBrowser(url, { expiresSeconds: 1, onFailure: assert.fail })
  assert.ok(path.startsWith(directory))
  const page = readFileSync(path, 'utf8')
  assert.ok(page.includes('location.replace("http://127.0.0.1:7833/console/?a=1&b=\\"\\u003c#ticket")'), page)
  assert.ok(page.includes('href="http://127.0.0.1:7833/console/?a=1&amp;b=&quot;&lt;#ticket"'), page)
  while (existsSync(dirname(path))) await sleep(20)
})

test('the directory of an ended session is not needed', async (t) => {
  environment(t, '/nonexistent')
  const path = openInBrowser('http://127.0.0.1:1/', { expiresSeconds: 0, onFailure: assert.fail })
  assert.ok(path.startsWith(tmpdir()))
  while (existsSync(dirname(path))) await sleep(20)
})

test('an opener that cannot be started is reported', async (t) => {
  environment(t)
  process.env['PATH'] = '/nonexistent'
  const path = await new Promise<string>((resolve) => {
    const made: string = openInBrowser('http://127.0.0.1:1/', {
      expiresSeconds: 0,
      onFailure: (opener) => {
        assert.match(opener, /open$/)
        resolve(made)
      },
    })
  })
  rmSync(dirname(path), { recursive: true, force: true })
})
