/** Runs a replica in a separate process: a facilitator on the devnet, or only its store. */
import { randomBytes } from 'node:crypto'
import { Buyer } from '@latchkey/x402/client'
import { Chain, Facilitator, type Settlement, type SettlementStore, Signer } from '@latchkey/x402/facilitator'
import { PostgresSettlements } from '@latchkey/x402/postgres'
import { SqliteSettlements } from '@latchkey/x402/sqlite'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import type { Facts } from '../devnet/Process.js'
import { newAccounts } from '../paid/newAccounts.js'
import { dollar, network, priceMicroDollars } from '../paid/setting.js'

export type ReplicaOptions = {
  /** A `postgres://` address, or an SQLite file. */
  readonly store: string
  readonly devnet: Facts
  /** The number of buyers of this replica. */
  readonly buyers: number
}

export type ReplicaRequest =
  | { readonly type: 'open'; readonly options: ReplicaOptions }
  /** Signs payments before the measurement starts. */
  | { readonly type: 'prepare'; readonly count: number }
  /** Verifies and settles the prepared payments. */
  | { readonly type: 'settle'; readonly at: number }
  /** Performs only the store's work for as many settlements. */
  | { readonly type: 'record'; readonly count: number; readonly at: number; readonly budget: string | undefined }

let store: SettlementStore
let facilitator: Facilitator
let requirements: PaymentRequirements
let buyers: Buyer[]
let payments: PaymentPayload[] = []

async function open({ store: place, devnet, buyers: count }: ReplicaOptions): Promise<void> {
  const isPostgres = place.startsWith('postgres://')
  store = isPostgres
    ? await PostgresSettlements.open({ address: place, environment: {} })
    : new SqliteSettlements(place)
  const { url: nodes, genesisHash, accounts } = devnet
  const chain = await Chain.open({ network, nodes, genesisHash })
  const [sponsor, seller] = accounts
  facilitator = new Facilitator({ chains: [chain], feePayer: Signer.fromSecretKey(sponsor!.secretKey), store })
  requirements = {
    scheme: 'exact',
    network,
    asset: dollar,
    amount: String(priceMicroDollars),
    payTo: seller!.address,
    maxTimeoutSeconds: 300,
    extra: { feePayer: sponsor!.address },
  }
  const keys = await newAccounts(nodes, count)
  buyers = keys.map((key) => new Buyer({ signer: Signer.fromSecretKey(key), chains: chain }))
}

async function prepare(count: number): Promise<void> {
  const resource = { url: 'http://localhost/weather' }
  payments = []
  for (let index = 0; index < count; index++) {
    const { payload } = await buyers[index % buyers.length]!.pay({ x402Version: 2, resource, accepts: [requirements] })
    payments.push(payload)
  }
}

async function settle(at: number): Promise<void> {
  await concurrently(payments.length, at, async (index) => {
    const payment = payments[index]!
    const verdict = await facilitator.verify(payment, requirements)
    if (!verdict.isValid) throw new Error(`not verified: ${verdict.invalidReason} ${verdict.invalidMessage}`)
    const done = await facilitator.settle(payment, requirements)
    if (!done.success) throw new Error(`not settled: ${done.errorReason} ${done.errorMessage}`)
  })
}

/** Performs only the store changes of a facilitator: verified, recorded, ended. */
async function record(count: number, at: number, budget: string | undefined): Promise<void> {
  const limits =
    budget === undefined ? {} : { feesInAll: BigInt(budget), feesPerPayTo: BigInt(budget), payToPerMinute: 1e9 }
  await concurrently(count, at, async (index) => {
    const one = settlementOf(index)
    const { transactionId, payer, payTo, feeMicroAlgos } = one
    const costs = [{ asset: dollar, amount: 1_000n }]
    const hold = {
      transactionId,
      network,
      payer,
      payTo,
      claimant: one.claimant!,
      lastValid: one.lastValid,
      isPaidAfterwards: false,
      costs,
      feeMicroAlgos,
      feePayer: 'F',
      holdMs: 60_000,
    }
    await store.holds.hold(hold, limits)
    const { type } = await store.claim(one, limits)
    if (type !== 'recorded') throw new Error(type)
    await store.finish(transactionId, { state: 'settled', round: 1n })
  })
}

function settlementOf(index: number): Settlement {
  const random = randomBytes(400)
  return {
    transactionId: random.toString('hex', 0, 26).toUpperCase(),
    state: 'pending',
    network,
    payer: `PAYER${process.pid}${index % 500}`.padEnd(58, 'A'),
    payTo: 'SELLER'.padEnd(58, 'A'),
    asset: dollar,
    amount: '1000',
    group: [random.subarray(0, 234), random.subarray(234, 373)],
    firstValid: 50_000_000n,
    lastValid: 50_001_000n,
    feeMicroAlgos: 2_000n,
    claimant: random.toString('hex', 0, 32),
    createdMs: Date.now(),
  }
}

async function concurrently(count: number, at: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const run = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index)
  }
  await Promise.all(Array.from({ length: at }, run))
}

function handle(request: ReplicaRequest): Promise<void> {
  if (request.type === 'open') return open(request.options)
  if (request.type === 'prepare') return prepare(request.count)
  if (request.type === 'settle') return settle(request.at)
  return record(request.count, request.at, request.budget)
}

process.on('disconnect', () => process.exit())
process.on('message', (request: ReplicaRequest) => {
  const before = process.cpuUsage()
  handle(request).then(
    () => {
      const { user, system } = process.cpuUsage(before)
      process.send!({ cpuMs: (user + system) / 1000 })
    },
    (error: Error) => process.send!({ error: error.stack }),
  )
})
