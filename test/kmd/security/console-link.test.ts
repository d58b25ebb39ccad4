/** A local account reads the command lines of all processes and looks for the ticket of a console link. */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { launch, timeoutMs } from '../../browser/chromium.test.helper.js'
import { start, temporaryDirectory, until } from '../../process/commands.test.helper.js'
import { latchkey } from '../../support/latchkey.test.helper.js'

const skip = process.platform === 'linux' ? false : 'replaces xdg-open, and reads /proc'

/**
 * Runs `latchkey console --open` with an `xdg-open` that records its arguments and keeps running, as a browser does.
 */
async function openConsole(t: TestContext) {
  const kmd = await start(t)
  const home = temporaryDirectory(t)
  const bin = join(home, 'bin')
  mkdirSync(bin)
  const record = join(home, 'arguments')
  const opener = join(bin, 'xdg-open')
  writeFileSync(opener, `#!/bin/sh\nprintf '%s\\n' "$@" > "${record}.new"\nmv "${record}.new" "${record}"\nsleep 5\n`)
  chmodSync(opener, 0o755)
  const runtime = join(home, 'run')
  mkdirSync(runtime, { mode: 0o700 })
  const env = { PATH: `${bin}:${process.env['PATH']}`, XDG_RUNTIME_DIR: runtime }
  const { code, stdout, stderr } = await latchkey(['console', '--open'], { dataDir: kmd.dataDir, home, env })
  assert.deepEqual([code, stderr], [0, ''])
  await until('the browser is started', () => existsSync(record))
  const url = stdout.trim()
  const [path = '', ...more] = readFileSync(record, 'utf8').trim().split('\n')
  return { url, ticket: url.split('#')[1]!, path, more, runtime }
}

function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
      } catch {
        return ''
      }
    })
}

test('the ticket is in a file that only its owner can read, and in no command line', { skip }, async (t) => {
  const { ticket, path, more, runtime } = await openConsole(t)
  assert.ok(ticket.length > 40)
  assert.deepEqual(
    commandLines().filter((line) => line.includes(ticket)),
    [],
  )
  assert.deepEqual(more, [])
  assert.ok(path.startsWith(`${runtime}/`) && path.endsWith('.html'), path)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(statSync(dirname(path)).mode & 0o777, 0o700)
  assert.ok(readFileSync(path, 'utf8').includes(ticket))
})

test('Chromium follows the file to the console, and sends no referrer', { skip }, async (t) => {
  const { url, path } = await openConsole(t)
  const browser = await launch(t)
  const page = await browser.newPage()
  const referrers: (string | undefined)[] = []
  page.on('request', (request) => {
    if (request.isNavigationRequest()) referrers.push(request.headers()['referer'])
  })
  await page.goto(pathToFileURL(path).href).catch(() => {})
  await page
    .getByRole('button', { name: /wallet/i })
    .or(page.getByRole('link', { name: /wallet/i }))
    .first()
    .waitFor({ timeout: timeoutMs })
  assert.equal(new URL(page.url()).origin, new URL(url).origin)
  assert.ok(!page.url().includes(url.split('#')[1]!), 'the page removes the ticket from its address')
  assert.deepEqual(
    referrers.filter((referrer) => referrer !== undefined),
    [],
  )
  // The history contains the blank page and the console in place of the file, so going back does not lead to the file.
  assert.equal(await page.evaluate('history.length'), 2)
})
