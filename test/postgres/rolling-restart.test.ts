/**
 * Restarts two replicas of `latchkey facilitator` on one PostgreSQL alternately while buyers pay: every request is
 * answered, and every payment is settled once. The balancer works like those of operators: it polls /readyz and sends
 * new connections to a ready replica. The seller knows only the balancer's address.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { Devnet } from '@latchkey/devnet'
import { Buyer, Chain, payingFetch, Signer } from '@latchkey/x402/client'
import { paymentGate } from '@latchkey/x402/hono'
import { Gate } from '@latchkey/x402/server'
import { Hono } from 'hono'
import { Client } from 'pg'
import { atEnd, type Scope, temporaryDirectory, until } from '../process/commands.test.helper.js'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { freePort } from '../support/freePort.test.helper.js'
import { emptyDatabase, hasPostgres, PostgresServer } from '../support/postgres.test.helper.js'
import { newAddress } from '../x402/support/market.test.helper.js'

const dollar = 31566704n
const cent = 10_000n
const buyers = 8
const probeMs = 50
/** Twenty probes: like the ratio between an operator's probe interval and delay. */
const drainDelay = '1'
const skip = hasPostgres() ? false : 'PostgreSQL is not installed'

test('a rolling restart under load loses nothing', { skip, timeout: 240_000 }, async (t) => {
  const server = await PostgresServer.start(t)
  const database = await emptyDatabase(server)
  const devnet = await Devnet.start({ port: 0, accounts: buyers + 2, blocks: { everyMs: 300 } })
  atEnd(t, () => devnet.stop())
  const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId: dollar })
  const [first, second] = [await Replica.start(t, devnet, database), await Replica.start(t, devnet, database)]
  const balancer = await Balancer.start(t, [first, second])
  const seller = newAddress()
  devnet.fund(seller, { microAlgos: 1_000_000n })
  devnet.optIn(seller, dollar)
  const errors: unknown[] = []
  const gate = await Gate.open({
    routes: { 'GET /weather': { accepts: { payTo: seller, price: '$0.01' } } },
    chains: chain,
    facilitators: balancer.url,
    onError: (error) => errors.push(error),
  })
  const shop = new Hono().use(paymentGate(gate)).get('/weather', (context) => context.json({ weather: 'sunny' }))
  const feesBefore = await spendable(chain, devnet)

  let isOver = false
  const statuses: number[] = []
  const buy = async (number: number): Promise<void> => {
    const signer = Signer.fromMnemonic(devnet.accounts[number]!.mnemonic)
    const send = (input: RequestInfo | URL, init?: RequestInit) => Promise.resolve(shop.fetch(new Request(input, init)))
    const pay = payingFetch(new Buyer({ signer, chains: chain }), { fetch: send as typeof fetch })
    for (let count = 0; !isOver; count++) {
      statuses.push((await pay(`http://shop.example/weather?buyer=${number}&count=${count}`)).status)
    }
  }
  const load = Promise.all(Array.from({ length: buyers }, (_, number) => buy(number)))
  for (const replica of [first, second]) {
    const served = statuses.length
    await until('payments', () => statuses.length >= served + buyers)
    await replica.restart()
  }
  isOver = true
  await load

  assert.deepEqual(
    statuses.filter((status) => status !== 200),
    [],
    errors.map(String).join('\n'),
  )
  assert.deepEqual(errors.map(String), [])
  const count = BigInt(statuses.length)
  t.diagnostic(`${count} payments, 2 restarts`)
  assert.equal((await chain.algod.holding(seller, dollar))?.amount, count * cent, 'each is paid once')
  const { settled, others, fees } = await recorded(database)
  assert.deepEqual([settled, others], [count, 0n])
  assert.equal(feesBefore - (await spendable(chain, devnet)), fees, 'the budget counts what was paid, to the unit')
  for (const replica of [first, second]) await replica.stop()
})

/** Returns the spendable balance of the account that pays the fees. */
async function spendable(chain: Chain, devnet: Devnet): Promise<bigint> {
  return (await chain.algod.account(devnet.accounts[buyers]!.address)).microAlgos
}

async function recorded(database: string): Promise<{ settled: bigint; others: bigint; fees: bigint }> {
  const client = new Client({ connectionString: database })
  await client.connect()
  try {
    const { rows } = await client.query<{ settled: string; others: string; fees: string }>(
      `SELECT count(*) FILTER (WHERE state = 'settled') AS settled, count(*) FILTER (WHERE state <> 'settled') AS others,
         (SELECT coalesce(sum(micro_algos), 0) FROM latchkey.settlement_fees WHERE pay_to = '') AS fees
       FROM latchkey.settlements`,
    )
    const { settled, others, fees } = rows[0]!
    return { settled: BigInt(settled), others: BigInt(others), fees: BigInt(fees) }
  } finally {
    await client.end()
  }
}

/** Runs the command on a fixed port. */
class Replica {
  readonly port: number
  readonly #args: readonly string[]
  readonly #environment: NodeJS.ProcessEnv
  #child!: ChildProcess
  #stderr = ''

  private constructor(port: number, args: readonly string[], environment: NodeJS.ProcessEnv) {
    this.port = port
    this.#args = args
    this.#environment = environment
  }

  static async start(t: Scope, devnet: Devnet, database: string): Promise<Replica> {
    const port = await freePort()
    const chain = ['--network', 'local', '--node', devnet.url, '--dollar', `${dollar}`]
    const drain = ['--drain-delay', drainDelay, '--drain-timeout', '60', '--log-level', 'warning']
    const args = ['facilitator', '--port', `${port}`, '--json', ...chain, ...drain]
    const replica = new Replica(port, args, {
      PATH: process.env['PATH'],
      HOME: temporaryDirectory(t),
      AVM_MNEMONIC: devnet.accounts[buyers]!.mnemonic,
      LATCHKEY_FACILITATOR_STORE: database,
    })
    atEnd(t, () => replica.#child.kill('SIGKILL'))
    await replica.#run()
    return replica
  }

  async #run(): Promise<void> {
    const child = spawn(process.execPath, [latchkeyCommand, ...this.#args], { env: this.#environment })
    this.#child = child
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
    })
    child.stdout.resume()
    await until('a replica that is ready', async () => {
      assert.equal(child.exitCode, null, this.#stderr)
      return this.isReady()
    })
  }

  async isReady(): Promise<boolean> {
    try {
      return (await fetch(`http://127.0.0.1:${this.port}/readyz`)).status === 200
    } catch {
      return false
    }
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    const [code] = (await exited) as [number | null]
    assert.equal(code, 0, this.#stderr)
  }

  async restart(): Promise<void> {
    await this.stop()
    await this.#run()
  }
}

/** New connections go to a replica that was ready at the last probe; existing connections stay where they are. */
class Balancer {
  readonly #replicas: readonly Replica[]
  readonly #ready = new Set<Replica>()
  readonly #sockets = new Set<Socket>()
  readonly #server
  #next = 0

  private constructor(replicas: readonly Replica[]) {
    this.#replicas = replicas
    this.#server = createServer((client) => this.#carry(client))
  }

  static async start(t: Scope, replicas: readonly Replica[]): Promise<Balancer> {
    const balancer = new Balancer(replicas)
    await balancer.#probe()
    const timer = setInterval(() => void balancer.#probe(), probeMs)
    balancer.#server.listen(0, '127.0.0.1')
    await once(balancer.#server, 'listening')
    atEnd(t, () => {
      clearInterval(timer)
      balancer.#server.close()
      for (const socket of balancer.#sockets) socket.destroy()
    })
    return balancer
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`
  }

  async #probe(): Promise<void> {
    for (const replica of this.#replicas) {
      if (await replica.isReady()) this.#ready.add(replica)
      else this.#ready.delete(replica)
    }
  }

  #carry(client: Socket): void {
    const ready = [...this.#ready]
    const upstream = connect(ready[this.#next++ % ready.length]!.port, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      this.#sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
    }
  }
}
