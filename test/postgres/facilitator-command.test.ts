/**
 * Tests `latchkey facilitator` on PostgreSQL: its addresses, its migrations, and its behaviour while the database is
 * down.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { before, suite, type TestContext, test } from 'node:test'
import { Devnet } from '@latchkey/devnet'
import { Buyer, Chain, Signer } from '@latchkey/x402/client'
import { Client } from 'pg'
import { atEnd, suiteScope, temporaryDirectory, until } from '../process/commands.test.helper.js'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { latchkey } from '../support/latchkey.test.helper.js'
import { asRole, emptyDatabase, forCommand, hasPostgres, PostgresServer } from '../support/postgres.test.helper.js'

type Ready = { status: string; checks: { name: string; status: string; reason?: string }[]; warnings: string[] }
type Running = {
  child: ChildProcess
  exited: Promise<number | null>
  facts: { [name: string]: unknown }
  url: string
  log: () => string
}

const skip = hasPostgres() ? false : 'PostgreSQL is not installed'

suite('latchkey facilitator on PostgreSQL', { skip, timeout: 300_000, concurrency: 4 }, () => {
  const scope = suiteScope()
  let server: PostgresServer
  let devnet: Devnet

  before(async () => {
    server = await PostgresServer.start(scope)
    devnet = await Devnet.start({ port: 0 })
    atEnd(scope, () => devnet.stop())
  })

  const chain = (args: readonly string[] = []): string[] => {
    const node = args.includes('--node') ? [] : ['--node', devnet.url]
    return ['--network', 'local', ...node, '--dollar', '31566704']
  }

  /** Returns the number of rows. */
  async function query(address: string, text: string): Promise<number> {
    const client = new Client({ connectionString: address })
    await client.connect()
    const { rowCount } = await client.query(text)
    await client.end()
    return rowCount ?? 0
  }

  /** Runs a command with the password of its database in the environment. */
  function run(given: readonly string[]): ReturnType<typeof latchkey> {
    const { args, env } = forCommand(given)
    return latchkey(args, { env })
  }

  async function start(t: TestContext, args: string[], env: { [name: string]: string } = {}): Promise<Running> {
    const given = ['facilitator', '--port', '0', '--json', '--drain-delay', '0', ...chain(args), ...args]
    const command = forCommand(given)
    const child = spawn(process.execPath, [latchkeyCommand, ...command.args], {
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: temporaryDirectory(t),
        AVM_MNEMONIC: devnet.accounts[0]!.mnemonic,
        ...command.env,
        ...env,
      },
    })
    atEnd(t, () => child.kill('SIGKILL'))
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    const exited = once(child, 'close').then(([code]) => code as number | null)
    await until('its first line', () => {
      assert.equal(child.exitCode, null, stderr)
      return stdout.includes('\n')
    })
    const facts = JSON.parse(stdout) as { url: string }
    return { child, exited, facts, url: facts.url, log: () => stderr }
  }

  async function readiness(url: string): Promise<{ code: number; body: Ready }> {
    const response = await fetch(`${url}/readyz`)
    return { code: response.status, body: (await response.json()) as Ready }
  }

  const storeOf = ({ checks }: Ready) => checks.find(({ name }) => name === 'store')!

  test('migrates ahead, reports whether a migration is due, and lets another role work', async (t) => {
    const address = await emptyDatabase(server)
    await server.createRole('runtime')
    const migrate = (...args: string[]) => run(['facilitator', 'migrate', '--store', address, ...args])
    const due = await migrate('--check', '--json')
    assert.equal(due.code, 8, due.stderr)
    const { version, needed, due: isDue, mayMigrate } = JSON.parse(due.stdout) as { [name: string]: unknown }
    assert.deepEqual([version, isDue, mayMigrate], [0, true, true])
    const runtime = asRole(address, 'runtime')
    const early = await run(['facilitator', '--port', '0', ...chain(), '--store', runtime])
    assert.equal(early.code, 8)
    assert.match(early.stderr, /has no tables .* this role may not create it; run latchkey facilitator migrate/)

    const done = await migrate('--grant-to', 'runtime', '--json')
    assert.equal(done.code, 0, done.stderr)
    assert.deepEqual(JSON.parse(done.stdout), { schema: 'latchkey', from: 0, to: needed })
    const again = await migrate()
    assert.deepEqual(
      [again.code, again.stdout],
      [0, `The tables in schema latchkey are up to date (version ${needed}).\n`],
    )
    const checked = await migrate('--check')
    assert.deepEqual([checked.code, /are up to date/.test(checked.stdout)], [0, true])

    // Simulates a migration that did not name the role: with the earlier tables, everything would seem fine until the
    // new ones are needed.
    await query(address, 'REVOKE DELETE ON latchkey.replicas FROM runtime')
    const withoutRight = await run(['facilitator', '--port', '0', ...chain(), '--store', runtime])
    assert.equal(withoutRight.code, 8, withoutRight.stderr)
    assert.match(
      withoutRight.stderr,
      /this role lacks the rights to use replicas .* run latchkey facilitator migrate --grant-to/,
    )
    const check = () => run(['facilitator', 'migrate', '--check', '--json', '--store', runtime])
    const missing = await check()
    assert.deepEqual([missing.code, JSON.parse(missing.stdout).notGranted], [8, ['replicas']])
    assert.equal((await migrate('--grant-to', 'runtime')).code, 0)
    assert.equal((await check()).code, 0)

    const running = await start(t, ['--store', runtime])
    assert.equal(running.facts['store'], `PostgreSQL, 127.0.0.1:${server.port}/${new URL(address).pathname.slice(1)}`)
    assert.equal((await readiness(running.url)).code, 200)
    running.child.kill('SIGTERM')
    assert.equal(await running.exited, 0, running.log())
  })

  test('migrates at start if permitted; migrates the previous version, and refuses a later one', async (t) => {
    const address = await emptyDatabase(server)
    await start(t, ['--store', address])
    await query(address, `DELETE FROM latchkey.migrations WHERE version > 1; DROP TABLE latchkey.replicas`)
    const older = await run(['facilitator', 'migrate', '--check', '--store', address])
    assert.deepEqual(
      [older.code, /The tables are of version 1 .* this role may migrate them/.test(older.stdout)],
      [8, true],
    )
    await start(t, ['--store', address])
    await query(address, `INSERT INTO latchkey.migrations (component, version) VALUES ('facilitator', 99)`)
    const newer = await run(['facilitator', '--port', '0', ...chain(), '--store', address])
    assert.equal(newer.code, 3)
    assert.match(newer.stderr, /were written by a later version/)
  })

  test('takes the address from a file or the environment, never a password from the arguments, and prints none', async (t) => {
    const address = await emptyDatabase(server)
    const refused = await latchkey(['facilitator', 'migrate', '--store', address])
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /--store contains a password.*--store-file.*LATCHKEY_FACILITATOR_STORE.*PGPASSWORD/)
    const file = join(temporaryDirectory(t), 'store')
    writeFileSync(file, `${address}\n`)
    const fromFile = await start(t, ['--store-file', file])
    const fromEnvironment = await start(t, [], { LATCHKEY_FACILITATOR_STORE: address })
    const wrong = await latchkey(['facilitator', 'migrate'], {
      env: { LATCHKEY_FACILITATOR_STORE: address.replace(`:${server.port}`, ':9') },
    })
    assert.equal(wrong.code, 5, wrong.stderr)
    const texts = [fromFile, fromEnvironment].map(({ facts, log }) => JSON.stringify(facts) + log())
    for (const text of [refused.stderr, wrong.stderr, wrong.stdout, ...texts])
      assert.ok(!text.includes(server.password))
    const sqlite = await latchkey(['facilitator', 'migrate', '--store', 'file.db'])
    assert.deepEqual([sqlite.code, /only a PostgreSQL database needs this command/.test(sqlite.stderr)], [2, true])
  })

  test('exits with 6 if the server does not accept the role or password', async (t) => {
    const address = await emptyDatabase(server)
    const { code, stderr } = await run([
      ...['facilitator', '--port', '0', ...chain(), '--store', asRole(address, 'nobody_like_this')],
    ])
    assert.equal(code, 6, stderr)
    assert.match(stderr, /does not accept the role or the password/)
    t.diagnostic(stderr.trim())
  })

  test('exits with 6 immediately without the password that the server requires', async (t) => {
    const { args: withoutPassword } = forCommand(['--store', server.url()])
    const started = performance.now()
    const home = temporaryDirectory(t)
    for (const args of [
      ['facilitator', '--port', '0', ...chain()],
      ['facilitator', 'migrate', '--check'],
    ]) {
      const { code, stderr } = await latchkey([...args, ...withoutPassword], { home })
      assert.equal(code, 6, stderr)
      assert.match(stderr, /asks for a password/)
    }
    assert.ok(performance.now() - started < 55_000, 'not when the server gave up, after 60 seconds')
  })

  test('is not ready while the database is down, and recovers automatically', async (t) => {
    const own = await PostgresServer.start(scope)
    const running = await start(t, ['--store', own.url()])
    assert.equal((await readiness(running.url)).code, 200)
    await own.kill()
    await until('not ready', async () => {
      const { code, body } = await readiness(running.url)
      return code === 503 && storeOf(body).status === 'failed'
    })
    assert.equal((await fetch(`${running.url}/livez`)).status, 200, 'starting it again would not help')
    const metrics = await (await fetch(`${running.url}/metrics`)).text()
    assert.match(metrics, /^latchkey_facilitator_store_up 0$/m)
    await own.restart()
    await until('ready again', async () => (await readiness(running.url)).code === 200)
    const after = await (await fetch(`${running.url}/metrics`)).text()
    assert.match(after, /^latchkey_facilitator_store_up 1$/m)
    assert.match(after, /^latchkey_facilitator_store_connections\{state="in_use"\} \d+$/m)
    assert.match(after, /^latchkey_facilitator_store_max_connections 10$/m)
  })

  test('is not ready within seconds if the database hangs, and can still stop', async (t) => {
    const proxy = new StallingProxy(server.port)
    await proxy.listen()
    atEnd(t, () => proxy.close())
    const address = (await emptyDatabase(server)).replace(`:${server.port}`, `:${proxy.port}`)
    const running = await start(t, ['--store', address, '--drain-timeout', '3'])
    assert.equal((await readiness(running.url)).code, 200)
    proxy.isStalled = true
    const red = await until('not ready', async () => {
      const { code, body } = await readiness(running.url)
      return code === 503 && storeOf(body)
    })
    assert.match(red.reason!, /the settlements database (takes too long to respond|does not respond)/)
    proxy.isStalled = false
    await until('ready again', async () => (await readiness(running.url)).code === 200)
    proxy.isStalled = true
    running.child.kill('SIGTERM')
    const code = await running.exited
    assert.ok(code === 0 || code === 3, `${code}`)
  })

  test('a replica that may not wait for a block leaves the settlement to another, which completes the same payment', async (t) => {
    const slow = await Devnet.start({ port: 0, blocks: 'manual' })
    atEnd(t, () => slow.stop())
    const address = await emptyDatabase(server)
    const args = ['--store', address, '--node', slow.url, '--drain-timeout', '2']
    const env = { AVM_MNEMONIC: slow.accounts[4]!.mnemonic }
    const [first, second] = [await start(t, args, env), await start(t, args, env)]
    const body = await paymentFor(slow)
    const settle = async (url: string): Promise<{ success: boolean; errorReason?: string }> => {
      const headers = { 'content-type': 'application/json' }
      return (await (await fetch(`${url}/settle`, { method: 'POST', headers, body })).json()) as { success: boolean }
    }
    const settling = settle(first.url)
    await until('the payment at the node', async () => {
      const response = await fetch(`${slow.url}/v2/transactions/pending`)
      return ((await response.json()) as { 'total-transactions': number })['total-transactions'] > 0
    })
    first.child.kill('SIGTERM')
    assert.equal((await settling).errorReason, 'settlement_pending')
    assert.equal(await first.exited, 0, first.log())
    const held = await query(
      address,
      `SELECT 1 FROM latchkey.pending_settlements WHERE lease_owner LIKE '% ${first.child.pid} %' AND lease_until > clock_timestamp()`,
    )
    assert.equal(held, 0, 'its leases are given back')
    const again = settle(second.url)
    slow.mine()
    assert.equal((await again).success, true)
    assert.equal(await query(address, `SELECT 1 FROM latchkey.settlements WHERE state = 'settled'`), 1)
  })

  test('reports replicas with different settings in the log and in the readiness response, and stays ready', async (t) => {
    const address = await emptyDatabase(server)
    const first = await start(t, ['--store', address, '--fee-budget', '1000000'])
    const second = await start(t, ['--store', address, '--fee-budget', '2000000'])
    const warned = await until('the warning', async () => {
      const { code, body } = await readiness(second.url)
      assert.equal(code, 200)
      return body.warnings[0]
    })
    assert.match(
      warned,
      new RegExp(`the replica \\S+ ${first.child.pid} \\w+ has different settings: feeMicroAlgosPerDay$`),
    )
    await until('the log', () => second.log().includes('has different settings'))
    await until('the other one', async () => (await readiness(first.url)).body.warnings.length > 0)
  })
})

/**
 * Returns the body of a settlement request for a payment from the first account to the second, with fees of the last
 * one.
 */
async function paymentFor(devnet: Devnet): Promise<string> {
  const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId: 31566704n })
  const buyer = new Buyer({ signer: Signer.fromMnemonic(devnet.accounts[0]!.mnemonic), chains: chain })
  const requirements = {
    scheme: 'exact',
    network: chain.caip2,
    amount: '1000',
    asset: '31566704',
    payTo: devnet.accounts[1]!.address,
    maxTimeoutSeconds: 60,
    extra: { feePayer: devnet.accounts[4]!.address },
  }
  const resource = { url: 'http://shop.example/weather' }
  const { payload } = await buyer.pay({ x402Version: 2, resource, accepts: [requirements] } as never)
  return JSON.stringify({ x402Version: 2, paymentPayload: payload, paymentRequirements: requirements })
}

/** Simulates a network that can stop carrying data without closing a connection. */
class StallingProxy {
  isStalled = false
  readonly #sockets = new Set<Socket>()
  readonly #server
  readonly #target: number

  constructor(target: number) {
    this.#target = target
    this.#server = createServer((client) => this.#carry(client))
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  async close(): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #carry(client: Socket): void {
    const upstream = connect(this.#target, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(from)
      // Data that arrives during a stall is lost, as on a network that is cut.
      from.on('data', (chunk) => this.isStalled || to.write(chunk))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
    }
  }
}
