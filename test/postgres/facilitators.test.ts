/** Three replicas of a facilitator on one database behave as one: budgets, rates, one submission, and takeover. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Facilitator, Signer } from '@latchkey/x402/facilitator'
import { PostgresSettlements } from '@latchkey/x402/postgres'
import { Client } from 'pg'
import { emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'
import {
  type Made,
  type Market,
  newAccount,
  openMarket,
  possessions,
  price,
  sponsored,
  usdc,
} from '../x402/security/support/facilitator.test.helper.js'
import type { ReplicaSettings } from './facilitator-process.test.helper.js'

const server = await PostgresServer.start({ after }, { settings: { max_connections: '80' } })
const address = await emptyDatabase(server)
const program = fileURLToPath(new URL('./facilitator-process.test.helper.js', import.meta.url))
const timeout = 240_000
const feeMicroAlgos = 2_000n

/** A replica that can be stopped, killed and restarted on another port. */
class Replica {
  readonly #settings: ReplicaSettings
  #process: ChildProcess | undefined
  #url = ''

  constructor(t: TestContext, settings: ReplicaSettings) {
    this.#settings = settings
    t.after(() => this.end('SIGKILL'))
  }

  async start(): Promise<this> {
    const env = { ...process.env, REPLICA: JSON.stringify(this.#settings) }
    const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'ignore'] })
    this.#process = child
    const [text] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
    this.#url = `http://127.0.0.1:${text.trim()}`
    return this
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'close')
    child.kill(signal)
    await ended
  }

  /** Returns the response, or undefined if the replica is not running. */
  async ask(what: 'verify' | 'settle', { payload, requirements }: Made): Promise<Answer | undefined> {
    const body = JSON.stringify({ x402Version: 2, paymentPayload: payload, paymentRequirements: requirements })
    const headers = { 'content-type': 'application/json' }
    try {
      const response = await fetch(`${this.#url}/${what}`, { method: 'POST', headers, body })
      return (await response.json()) as Answer
    } catch {
      return undefined
    }
  }
}

type Answer = {
  isValid?: boolean
  invalidReason?: string
  success?: boolean
  errorReason?: string
  transaction?: string
}

let count = 0

async function openReplicas(t: TestContext, change: Partial<ReplicaSettings> = {}) {
  const market = await openMarket(t, { sponsorMicroAlgos: 10_000_000n })
  const schema = `facilitators_${++count}`
  const { proxy, sponsor } = market
  const sponsorSeed = Buffer.from(sponsor.seed).toString('base64')
  const settings = { address, schema, node: proxy.url, dollarAssetId: `${usdc}`, sponsorSeed, ...change }
  const first = await new Replica(t, settings).start()
  const others = await Promise.all([1, 2].map(() => new Replica(t, settings).start()))
  proxy.calls.length = 0
  return { market, schema, replicas: [first, ...others] }
}

/** Returns payments of funded buyers. */
function payments(market: Market, number: number): Made[] {
  const buyers = Array.from({ length: 6 }, () => {
    const buyer = newAccount()
    market.devnet.fund(buyer.address, { microDollars: 1_000_000n })
    return buyer
  })
  return Array.from({ length: number }, (_, index) => sponsored({ ...market, buyer: buyers[index % 6]! }))
}

test('a payment sent to three replicas at once is submitted once, with the same response from all', {
  timeout,
}, async (t) => {
  const { market, replicas } = await openReplicas(t)
  const before = await possessions(market)
  const one = sponsored(market)
  const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => replicas[index % 3]!.ask('settle', one)))
  for (const answer of answers) assert.deepEqual(answer, answers[0])
  assert.equal(answers[0]!.success, true)
  assert.equal(market.proxy.count('submit'), 1)
  assert.deepEqual(await possessions(market), {
    sponsor: before.sponsor - feeMicroAlgos,
    seller: before.seller + price,
  })

  // Killed between the record and the submission.
  const left = sponsored(market)
  const [killed, second, third] = replicas as [Replica, Replica, Replica]
  let ending: Promise<void> | undefined
  market.proxy.insteadOf = (what) => {
    if (what !== 'submit' || ending !== undefined) return undefined
    ending = killed.end('SIGKILL')
    return { status: 503, body: '{}', isForwarded: false }
  }
  assert.equal(await killed.ask('settle', left), undefined)
  await ending
  const taken = await Promise.all([second.ask('settle', left), third.ask('settle', left)])
  for (const answer of taken) assert.deepEqual([answer!.success, answer!.transaction], [true, left.id])
  const bodies = market.proxy.calls.filter(({ what }) => what === 'submit').map(({ body }) => body.toString('hex'))
  assert.equal(bodies.length, 3)
  assert.equal(bodies[1], bodies[2], 'exactly the recorded bytes')
  assert.deepEqual((await possessions(market)).seller, before.seller + 2n * price)
})

/** Verifies at one replica and settles at another, until the response is final. */
async function pay(replicas: readonly Replica[], one: Made, place: number): Promise<string> {
  const isFinal = (reason: string | undefined): boolean =>
    reason !== undefined && !/busy|pending|unexpected|unavailable/.test(reason)
  for (let time = place; ; time++) {
    const verified = await replicas[time % 3]!.ask('verify', one)
    if (verified?.isValid) break
    if (isFinal(verified?.invalidReason)) return verified!.invalidReason!
    await sleep(20)
  }
  for (let time = place + 1; ; time++) {
    const settled = await replicas[time % 3]!.ask('settle', one)
    if (settled?.success) return 'settled'
    if (isFinal(settled?.errorReason)) return settled!.errorReason!
    await sleep(20)
  }
}

test('a shared budget of three replicas holds to the unit under load, a rolling restart and a kill', {
  timeout,
}, async (t) => {
  const budget = 25n * feeMicroAlgos
  const { market, replicas, schema } = await openReplicas(t, { totalFeeMicroAlgosPerDay: `${budget}` })
  const before = await possessions(market)
  const waiting = payments(market, 60).entries()
  const results: string[] = []
  const work = async (): Promise<void> => {
    for (const [place, one] of waiting) results.push(await pay(replicas, one, place))
  }
  const workers = Promise.all(Array.from({ length: 8 }, work))
  const half = async (): Promise<void> => {
    while (results.length < 5) await sleep(10)
  }
  await half()
  for (const [index, replica] of replicas.entries()) {
    await replica.end(index === 1 ? 'SIGKILL' : 'SIGTERM')
    await replica.start()
  }
  await workers
  assert.equal(results.length, 60)
  assert.equal(results.filter((result) => result === 'settled').length, 25, JSON.stringify(results))
  assert.equal(results.filter((result) => result === 'facilitator_policy_refused').length, 35)
  const possessed = { sponsor: before.sponsor - budget, seller: before.seller + 25n * price }
  assert.deepEqual(await possessions(market), possessed, 'on the ledger')
  assert.deepEqual(await statesOf(schema), { settled: 25 })
})

async function query<Row>(sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: address })
  await client.connect()
  try {
    return (await client.query(sql)).rows as Row[]
  } finally {
    await client.end()
  }
}

async function statesOf(schema: string): Promise<{ [state: string]: number }> {
  const sql = `SELECT state, count(*)::int AS count FROM ${schema}.settlements GROUP BY 1`
  const rows = await query<{ state: string; count: number }>(sql)
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}

test('rates of three replicas hold to the unit in every minute', { timeout }, async (t) => {
  const market = await openMarket(t)
  const schema = `facilitators_${++count}`
  const facilitators: Facilitator[] = []
  for (let number = 0; number < 3; number++) {
    const store = await PostgresSettlements.open({ address, environment: {}, schema, maxConnections: 3 })
    const policy = { requestsPerMinute: 15, payerRequestsPerMinute: 4 }
    const feePayer = Signer.fromSeed(market.sponsor.seed)
    const facilitator = new Facilitator({ chains: [market.chain], feePayer, store, policy, pollMs: 20 })
    t.after(() => facilitator.stop())
    facilitators.push(facilitator)
  }
  const results = await Promise.all(
    payments(market, 48).map(async ({ payload, requirements }, index) => {
      const { success, errorReason } = await facilitators[index % 3]!.settle(payload, requirements)
      return success ? 'settled' : errorReason!
    }),
  )
  assert.deepEqual(new Set(results), new Set(['settled', 'facilitator_policy_refused']))
  const inMinute = (column: string) => `SELECT max(count)::int AS count FROM (
    SELECT count(*) FROM ${schema}.settlements a JOIN ${schema}.settlements b ON a.${column} = b.${column}
      AND b.created_at <= a.created_at AND b.created_at > a.created_at - interval '60 seconds'
    GROUP BY a.transaction_id) AS counts`
  const [sellers] = await query<{ count: number }>(inMinute('pay_to'))
  const [payers] = await query<{ count: number }>(inMinute('payer'))
  // Each of six buyers may have four, and the seller fifteen.
  assert.ok(payers!.count <= 4)
  assert.equal(sellers!.count, 15)
})
