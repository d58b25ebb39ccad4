/** Servers that tests run in shared processes. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { until } from './commands.test.helper.js'

const helper = new URL('../support/commandHost.test.helper.js', import.meta.url).href
const script = `
  import { startHosted } from ${JSON.stringify(helper)}
  const call = { command: 'latchkey', args: ['devnet', '--port', '0'], env: process.env }
  startHosted(call, (name, text) => process.stdout.write(text))`

test('a hosted server ends with the process of its test, even if that is killed', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  await until('the address', () => /http:\/\/127\.0\.0\.1:\d+/.test(text))
  const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(text)!
  const isListening = () =>
    fetch(`${url}/health`).then(
      () => true,
      () => false,
    )
  assert.equal(await isListening(), true)
  child.kill('SIGKILL')
  await until('the server to end', async () => !(await isListening()))
})
