/** `latchkey listen` shows the events of a running dev stack's seller live, and `latchkey trigger` makes each happen. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { hostedLatchkey } from '../support/latchkey.test.helper.js'
import { atEnd, temporaryDirectory, until } from './commands.test.helper.js'

type Running = { readonly child: ChildProcess; readonly stdout: () => string; readonly stderr: () => string }

function start(t: TestContext, home: string, args: readonly string[]): Running {
  const { XDG_STATE_HOME: _, ...environment } = process.env
  const child = spawn(process.execPath, [latchkeyCommand, ...args], {
    env: { ...environment, HOME: home, TMPDIR: home },
  })
  atEnd(t, () => child.kill('SIGKILL'))
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    stdout += piece
  })
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    stderr += piece
  })
  return { child, stdout: () => stdout, stderr: () => stderr }
}

/** The lines that have arrived whole. */
const linesOf = ({ stdout }: Running): string[] => stdout().split('\n').slice(0, -1)

type Forwarded = { readonly event: string; readonly body: { readonly [name: string]: unknown } }

async function serve(t: TestContext): Promise<{ url: string; forwarded: readonly Forwarded[] }> {
  const forwarded: Forwarded[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request.setEncoding('utf8')) text += piece
    forwarded.push({ event: String(request.headers['latchkey-event']), body: JSON.parse(text) })
    response.writeHead(204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`, forwarded }
}

test('each triggered event is shown live and forwarded, and a stack that stops ends the listener', {
  timeout: 300_000,
}, async (t) => {
  const home = temporaryDirectory(t)
  const stack = start(t, home, ['dev', '--any-port', '--json'])
  await until('the stack', () => stack.child.exitCode !== null || /^\{.*\}\n$/.test(stack.stdout()))
  assert.equal(stack.child.exitCode, null, stack.stderr())
  const { url, forwarded } = await serve(t)
  const shown = start(t, home, ['listen', '--forward-to', url])
  await until('the listener', () => shown.stderr().includes('Listening at http://127.0.0.1:'))
  const settledOnly = start(t, home, ['listen', '--only', 'settled', '--json'])

  const trigger = (event: string) => hostedLatchkey(['trigger', event, '--json'], { home })
  for (const [event, status] of [
    ['required', 402],
    ['refused', 402],
    ['settled', 200],
  ] as const) {
    const { code, stdout, stderr } = await trigger(event)
    assert.equal(code, 0, stderr)
    assert.equal(JSON.parse(stdout).status, status, event)
    await until(`the event ${event}`, () => forwarded.some((one) => one.event === event))
  }
  // The second listener may have connected after the first payment.
  while (linesOf(settledOnly).length === 0) assert.equal((await trigger('verified')).code, 0)

  // A listener prints an event after its receiver has answered.
  const line = (type: string): string => linesOf(shown).find((one) => one.includes(`  ${type} `)) ?? ''
  for (const type of ['required', 'refused', 'verified', 'settled']) {
    await until(`the line of ${type}`, () => line(type) !== '')
  }
  assert.match(line('required'), /^\d\d:\d\d:\d\d {2}required {2}GET "\/weather" {2}402 sent: 0\.01 USDC {2}-> 204$/)
  assert.match(line('refused'), / refused {3}GET "\/weather" {2}refused: \w+, .* {2}-> 204$/)
  assert.match(line('verified'), / 0\.01 USDC from [A-Z2-7]{8}… is valid {2}-> 204$/)
  assert.match(line('settled'), / 0\.01 USDC from [A-Z2-7]{8}… is paid: [A-Z2-7]{52} {2}-> 204$/)
  const settled = forwarded.find(({ event }) => event === 'settled')!
  assert.equal(settled.body['type'], 'settled')
  assert.equal(settled.body['path'], '/weather')
  for (const one of linesOf(settledOnly)) assert.equal(JSON.parse(one).type, 'settled')

  const ended = once(shown.child, 'close')
  stack.child.kill('SIGTERM')
  const [code] = await ended
  assert.equal(code, 5)
  assert.match(shown.stderr(), /the dev stack has stopped/)
})

test('without a stack both commands say so, and events stay on this machine', { timeout: 300_000 }, async (t) => {
  const home = temporaryDirectory(t)
  const run = (...args: string[]) => hostedLatchkey(args, { home })
  const triggered = await run('trigger', 'settled')
  assert.match(triggered.stderr, /no dev stack is running; start one with latchkey dev/)
  const listened = await run('listen', '--seller', 'http://127.0.0.1:9')
  assert.equal(listened.code, 5)
  assert.match(listened.stderr, /no dev stack responds at http:\/\/127\.0\.0\.1:9\/events/)
  const foreign = await run('listen', '--forward-to', 'https://example.com/events')
  assert.equal(foreign.code, 2)
  assert.match(foreign.stderr, /--forward-to takes a URL on this machine/)
})
