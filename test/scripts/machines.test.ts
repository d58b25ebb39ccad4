/** Runs both commands of the README on machines that differ from this one: a few of those in `scripts/machines.mjs`. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('../../../scripts/machines.mjs', import.meta.url))

/** These machines download nothing, and Node parses certificates at each start. */
const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env

/** Differences that do not hide each other are on one machine, because each machine starts a stack and runs tests. */
for (const name of ['few-programs+ports', 'no-home+few-files+tmpdir', 'no-flock']) {
  test(`the two commands on a machine with: ${name}`, { timeout: 900_000 }, async () => {
    const child = spawn(process.execPath, [script, '--here', name], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    const [code] = await once(child, 'close')
    assert.equal(code, 0, output)
  })
}
