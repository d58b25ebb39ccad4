/**
 * Tests the stack of `latchkey dev` over time: what a restart keeps, who finds it, and what it prints while it runs.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { latchkey, type Outcome } from '../support/latchkey.test.helper.js'
import { atEnd, temporaryDirectory, until } from './commands.test.helper.js'

type Facts = {
  kmd: { url: string; dataDir: string }
  seller: { url: string }
  facilitator: { url: string }
  devnet: { url: string; indexerUrl: string }
  buyer: { address: string }
  directory: { path: string; isEphemeral: boolean; isKept: boolean }
  takenPorts: { [part: string]: number }
}

type Running = {
  readonly child: ChildProcess
  readonly exited: Promise<number | null>
  readonly stdout: () => string
  readonly stderr: () => string
}

/** A separate home directory that contains the state directory. */
class Home {
  readonly path: string
  readonly #scope: TestContext

  constructor(t: TestContext) {
    this.#scope = t
    this.path = temporaryDirectory(t)
  }

  get state(): string {
    return join(this.path, '.local', 'state', 'latchkey')
  }

  run(...args: string[]): Promise<Outcome> {
    return latchkey(args, { home: this.path })
  }

  async start(...args: string[]): Promise<Running> {
    const { XDG_STATE_HOME: _, ...environment } = process.env
    const child = spawn(process.execPath, [latchkeyCommand, 'dev', ...args], {
      env: { ...environment, HOME: this.path, TMPDIR: this.path },
    })
    atEnd(this.#scope, () => child.kill('SIGKILL'))
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      stdout += piece
    })
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      stderr += piece
    })
    const exited = once(child, 'close').then(([code]) => code as number | null)
    const isUp = (): boolean => stdout.endsWith('To stop everything, press Ctrl-C.\n') || /^\{.*\}\n$/.test(stdout)
    await until('the stack', () => child.exitCode !== null || isUp())
    return { child, exited, stdout: () => stdout, stderr: () => stderr }
  }

  async startJson(...args: string[]): Promise<Running & { facts: Facts }> {
    const running = await this.start('--any-port', '--json', ...args)
    return { ...running, facts: JSON.parse(running.stdout()) as Facts }
  }
}

const using = (url: string, place: string): string =>
  `latchkey: using the dev stack at ${new URL(url).host} (${place})\n`

async function end({ child, exited }: Running, signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
  child.kill(signal)
  await exited
}

/** Listens on a port until the end of the test. If another program already uses the port, that has the same effect. */
async function occupy(t: TestContext, port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve).once('error', resolve))
  atEnd(t, () => server.close())
}

suite('the stack of latchkey dev', { timeout: 600_000 }, () => {
  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    test(`a restart after ${signal} keeps directory, keys and balances`, async (t) => {
      const home = new Home(t)
      const first = await home.startJson()
      assert.deepEqual(
        [first.facts.directory, first.facts.kmd.dataDir],
        [{ path: join(home.state, 'dev'), isEphemeral: false, isKept: false }, join(home.state, 'dev', 'kmd-v0.5')],
      )
      const created = await home.run('wallet', 'new', 'savings', '--no-password')
      assert.equal(created.code, 0, created.stderr)
      assert.equal((await home.run('pay', first.facts.seller.url, '--yes')).code, 0)
      await end(first, signal)
      const pointers = join(home.state, 'stacks')
      await until('the file of the stack to be gone', () => readdirSync(pointers).length === 0)
      const second = await home.startJson()
      assert.equal(second.facts.directory.isKept, true)
      assert.equal(second.facts.buyer.address, first.facts.buyer.address)
      const { stdout, stderr } = await home.run('wallet', 'list')
      assert.match(stdout, /^savings |\nsavings /)
      assert.equal(stderr, using(second.facts.seller.url, '~/.local/state/latchkey/dev'))
      const keys = await home.run('key', 'list')
      assert.match(keys.stdout, new RegExp(`^${first.facts.buyer.address} .*\\$4\\.97\n$`), 'three payments of a cent')
      await end(second)
    })
  }

  test('--fresh starts over, and keeps the earlier state in previous', async (t) => {
    const home = new Home(t)
    const first = await home.startJson()
    await end(first)
    const second = await home.startJson('--fresh')
    assert.equal(second.facts.directory.isKept, false)
    assert.notEqual(second.facts.buyer.address, first.facts.buyer.address)
    assert.ok(existsSync(join(home.state, 'dev', 'previous', 'ledger.log')))
    await end(second)
  })

  test('--ephemeral runs alongside another stack, is the one found while it runs, and leaves nothing', async (t) => {
    const home = new Home(t)
    const kept = await home.startJson()
    const refused = await home.start('--any-port')
    assert.equal(await refused.exited, 4)
    assert.match(
      refused.stderr(),
      /^latchkey dev: a dev stack is already running in \S+\/latchkey\/dev at http:\S+ \(process [0-9]+\)\..*To start another, run latchkey dev --ephemeral\.\n$/,
    )
    const other = await home.startJson('--ephemeral')
    const { path } = other.facts.directory
    assert.deepEqual([other.facts.directory.isEphemeral, existsSync(path)], [true, true])
    const newest = await home.run('wallet', 'list')
    assert.match(newest.stderr, new RegExp(`at ${new URL(other.facts.seller.url).host} .*the newest of 2`))
    const chosen = await latchkey(['wallet', 'list'], {
      home: home.path,
      env: { LATCHKEY_STACK: join(home.state, 'dev') },
    })
    assert.equal(chosen.stderr, using(kept.facts.seller.url, '~/.local/state/latchkey/dev'))
    await end(other)
    assert.equal(existsSync(path), false)
    assert.equal((await home.run('wallet', 'list')).stderr, using(kept.facts.seller.url, '~/.local/state/latchkey/dev'))
    assert.equal((await home.run('wallet', 'list', '--json')).stderr, '')
    await end(kept)
    const none = await home.run('wallet', 'list')
    assert.deepEqual([none.code, none.stderr.includes('no key daemon is running in')], [5, true])
  })

  test('a stack that runs around a program is found only by that program', async (t) => {
    const home = new Home(t)
    const inside = [process.execPath, '-e', 'console.log("up"); setInterval(() => {}, 1000)']
    const child = spawn(process.execPath, [latchkeyCommand, 'dev', '--any-port', '--', ...inside], {
      env: { PATH: process.env['PATH'], HOME: home.path },
    })
    atEnd(t, () => child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    const { code, stderr } = await home.run('wallet', 'list')
    assert.deepEqual([code, stderr.includes('using')], [5, false])
    child.kill('SIGTERM')
    await once(child, 'close')
    assert.equal(existsSync(home.state), false)
  })

  test('a stranger at the address of a killed stack gets neither token nor password', async (t) => {
    const home = new Home(t)
    const { facts, child } = await home.startJson()
    const file = join(home.state, 'stacks', `${child.pid}.json`)
    const [pointer, kmdNet] = [readFileSync(file), readFileSync(join(facts.kmd.dataDir, 'kmd.net'))]
    child.kill('SIGKILL')
    await until('the cleanup', () => !existsSync(file))
    let received = ''
    const { port } = new URL(facts.kmd.url)
    const stranger = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (bytes) => {
        received += bytes
      })
    }).listen(Number(port), '127.0.0.1')
    atEnd(t, () => stranger.close())
    await once(stranger, 'listening')
    // Simulates a power failure: everything is there except the process, whose id may belong to another program by now.
    const reused = JSON.parse(pointer.toString()) as { pid: number }
    writeFileSync(file, JSON.stringify({ ...reused, pid: process.pid }), { mode: 0o600 })
    writeFileSync(join(facts.kmd.dataDir, 'kmd.net'), kmdNet)
    writeFileSync(join(facts.kmd.dataDir, 'kmd.pid'), String(process.pid))
    const { code, stderr } = await home.run('wallet', 'list')
    assert.equal(code, 5)
    assert.match(stderr, /^latchkey: the dev stack in \S+ has stopped; to restart it: latchkey dev\n/)
    assert.equal(received, '')
  })

  test('prints each event on a line; --quiet prints none', async (t) => {
    const home = new Home(t)
    const stack = await home.start('--any-port')
    const [, url] = /Seller +(\S+)/.exec(stack.stdout())!
    assert.equal(stack.stderr(), '', 'the first request is the story, not an event')
    assert.equal((await home.run('pay', url!, '--yes')).code, 0)
    await fetch(url!, { headers: { 'PAYMENT-SIGNATURE': 'e30=' } })
    await until('the events', () => /refused.*\n/.test(stack.stderr()) && stack.stderr().split('\n').length > 5)
    const lines = stack
      .stderr()
      .replaceAll(/^[0-9:]{8} {2}/gm, '')
      .replaceAll(/[A-Z2-7]{8}…/g, 'ID')
      .trimEnd()
      .split('\n')
    const refused = lines.filter((line) => line.includes('refused'))
    assert.deepEqual(lines.filter((line) => !refused.includes(line)).sort(), [
      'facilitator  settled ID in round 2: $0.01 from ID',
      'key daemon   signed ID: ID sends $0.01 to ID',
      'seller       402 sent for GET /weather: 0.01 USDC',
      'seller       paid 0.01 USDC by ID for GET /weather',
    ])
    assert.equal(refused.length, 1)
    assert.match(refused[0]!, /^seller {7}refused for GET \/weather: invalid_payload, "/)
    await end(stack)
    const quiet = await home.start('--any-port', '--quiet')
    const [, again] = /Seller +(\S+)/.exec(quiet.stdout())!
    assert.equal((await home.run('pay', again!, '--yes')).code, 0)
    await end(quiet)
    assert.equal(quiet.stderr(), '')
  })

  test('names each default port that is in use with its replacement', async (t) => {
    const defaults = { Seller: 4021, 'Key daemon': 4002, Facilitator: 4022, Devnet: 4001, Indexer: 8980 }
    for (const port of Object.values(defaults)) await occupy(t, port)
    const stack = await new Home(t).start('--ephemeral')
    for (const [part, port] of Object.entries(defaults)) {
      const row = new RegExp(`^  ${part} +http://127\\.0\\.0\\.1:(?!${port}\\b)\\S+  \\(port ${port} is in use\\b`, 'm')
      assert.match(stack.stdout(), row)
    }
    const lines = stack.stdout().split('\n')
    assert.ok(lines.length - 1 <= 18, `${lines.length} lines: with npm's own, the screen has 24`)
    for (const line of lines) assert.ok(line.length <= 80, line)
    await end(stack)
  })

  test('leaves the directory of another program alone', async (t) => {
    const home = new Home(t)
    const path = join(home.path, 'thesis')
    mkdirSync(path)
    writeFileSync(join(path, 'chapter'), '1')
    for (const more of [[], ['--fresh']]) {
      const { code, stderr } = await home.run('dev', '--any-port', '--dir', path, ...more)
      assert.equal(code, 3)
      assert.match(
        stderr,
        /^latchkey dev: .+ is not a dev stack's directory; give a new or empty directory with --dir\n$/,
      )
    }
    assert.deepEqual(readdirSync(path), ['chapter'])
    const both = await home.run('dev', '--ephemeral', '--fresh')
    assert.equal(both.code, 2)
  })
})
