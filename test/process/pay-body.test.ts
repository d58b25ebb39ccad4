/** Tests the body that `latchkey pay` prints: as it arrives, with limits, to stdout or a file. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Devnet } from '@latchkey/devnet'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { hostedLatchkey } from '../support/latchkey.test.helper.js'
import { temporaryDirectory, until } from './commands.test.helper.js'

const timeout = 120_000

/** Serves a free resource, because the price makes no difference to the body. */
async function open(t: TestContext, respond: (response: ServerResponse) => void) {
  const devnet = await Devnet.start({ port: 0 })
  const server = createServer((_, response) => respond(response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const directory = temporaryDirectory(t)
  t.after(async () => {
    server.close()
    server.closeAllConnections()
    await devnet.stop()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const network = ['--network', 'local', '--node', devnet.url, '--log', join(directory, 'payments.jsonl')]
  const env = { AVM_MNEMONIC: devnet.accounts[0]!.mnemonic }
  return {
    directory,
    env: { PATH: process.env['PATH'], HOME: directory, ...env },
    command: ['pay', url, ...network],
    run: (...args: string[]) => hostedLatchkey(['pay', url, ...network, ...args], { home: directory, env }),
  }
}

test('M latchkey pay prints the body while it arrives', { timeout }, async (t) => {
  let goOn = (): void => {}
  const { command, env } = await open(t, (response) => {
    response.write('first,')
    goOn = () => void response.end('second')
  })
  const child = spawn(process.execPath, [latchkeyCommand, ...command], { env })
  t.after(() => child.kill('SIGKILL'))
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  await until('the first half', () => stdout === 'first,')
  goOn()
  const [code] = await once(child, 'close')
  assert.deepEqual([code, stdout], [0, 'first,second'])
})

test('M latchkey pay streams more than fits into memory, as fast as it is read', { timeout }, async (t) => {
  const piece = Buffer.alloc(1024 * 1024, 'x')
  let written = 0
  const { command, env } = await open(t, (response) => {
    const more = (): void => {
      while (!response.destroyed) {
        written += piece.length
        if (!response.write(piece)) return void response.once('drain', more)
      }
    }
    more()
  })
  const child = spawn(process.execPath, [latchkeyCommand, ...command], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  t.after(() => child.kill('SIGKILL'))
  // Nothing is read from the pipe, so the server has to wait, too.
  let before = -1
  await until('a standstill', async () => {
    const isStill = written > 0 && written === before
    before = written
    await new Promise((resolve) => setTimeout(resolve, 500))
    return isStill
  })
  assert.ok(written < 100 * 1024 * 1024, `${written} bytes`)
})

test('M latchkey pay gives up on a server that stops sending', { timeout }, async (t) => {
  const silent = await open(t, () => {})
  const nothing = await silent.run('--timeout', '1')
  assert.deepEqual([nothing.code, nothing.stdout], [3, ''])
  assert.equal(nothing.stderr, 'latchkey pay: the server sent no data for 1 s; try again, or raise --timeout\n')
  const stalls = await open(t, (response) => void response.writeHead(200).write('half'))
  const half = await stalls.run('--timeout', '1')
  assert.deepEqual([half.code, half.stdout], [3, 'half'])
  assert.match(half.stderr, /\nlatchkey pay: the server sent no data for 1 s; try again, or raise --timeout\n$/)
  const breaks = await open(t, (response) => {
    response.writeHead(200, { 'Content-Length': '100' }).write('half', () => response.destroy())
  })
  const broken = await breaks.run()
  assert.equal(broken.code, 3)
  assert.match(broken.stderr, /\nlatchkey pay: the response ended early, after 4 bytes/)
})

test('M latchkey pay receives no more than --max-bytes', { timeout }, async (t) => {
  const { run } = await open(t, (response) => void response.end('0123456789'))
  const whole = await run('--max-bytes', '10')
  assert.deepEqual([whole.code, whole.stdout], [0, '0123456789'])
  const cut = await run('--max-bytes', '4')
  assert.deepEqual([cut.code, cut.stdout], [3, '0123'])
  assert.match(cut.stderr, /\nlatchkey pay: the response is larger than 4 bytes and was truncated; raise --max-bytes/)
})

test('latchkey pay --output writes a new file, complete or not at all', { timeout }, async (t) => {
  const { run, directory } = await open(t, (response) => void response.end('0123456789'))
  const file = join(directory, 'goods')
  const { code, stdout } = await run('--output', file)
  assert.deepEqual([code, stdout, readFileSync(file, 'utf8')], [0, '', '0123456789'])
  const again = await run('-o', file)
  assert.deepEqual([again.code, again.stdout], [3, ''])
  assert.match(again.stderr, /^latchkey pay: \S+goods"? already exists; name another file\n$/)
  const other = join(directory, 'other')
  assert.equal((await run('-o', other, '--max-bytes', '4')).code, 3)
  assert.equal(existsSync(other), false)
  writeFileSync(join(directory, 'plain'), '')
  const nowhere = await run('-o', join(directory, 'plain', 'goods'))
  assert.equal(nowhere.code, 3)
  assert.match(nowhere.stderr, /cannot be written: ENOTDIR/)
})

test('latchkey pay reports a full disk for stdout in one line', { timeout }, async (t) => {
  const { command, env } = await open(t, (response) => void response.end('0123456789'))
  const child = spawn('sh', ['-c', 'exec "$0" "$@" > /dev/full', process.execPath, latchkeyCommand, ...command], {
    env,
  })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const [code] = await once(child, 'close')
  assert.equal(code, 3)
  assert.match(stderr, /\nlatchkey: stdout cannot be written: ENOSPC[^\n]*\n$/)
})
