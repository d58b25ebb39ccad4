/** Replicas of a facilitator and of a seller, their database, two nodes of one ledger, and buyers, each on a machine. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Signer } from '@latchkey/x402/client'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'
import { RedisServer } from '../support/redis.test.helper.js'
import { type Host, hubAddress, Network } from './Network.test.helper.js'
import type { NodeFault } from './node-process.test.helper.js'
import { Clock, Service } from './Service.test.helper.js'
import { dollarAssetId, port } from './settings.test.helper.js'

export type Scope = { after: (work: () => unknown) => void }

export type ClusterOptions = {
  /** Of the logs; it is created. */
  readonly directory: string
  readonly claims: 'postgres' | 'redis'
  readonly replicas: number
  readonly gates: number
  /** Processes of buyers, and how many buyers are in each. */
  readonly buyers: readonly [processes: number, each: number]
  /** How many settlements the budget of each seller pays for. */
  readonly budget: number
}

const ledgerPort = 4_001
const blockMs = 400
const sellerCount = 12
/** Of a group of two transactions, on a network that is not busy. */
export const feeMicroAlgos = 2_000n

export type Cluster = {
  readonly options: ClusterOptions
  readonly network: Network
  readonly ledger: string
  readonly database: {
    readonly server: PostgresServer
    readonly host: Host
    readonly clock: Clock
    readonly url: string
  }
  readonly redis: { readonly server: RedisServer; readonly host: Host } | undefined
  readonly nodes: readonly Service[]
  readonly replicas: readonly Service[]
  readonly gates: readonly Service[]
  readonly buyers: readonly Service[]
  readonly sponsor: string
  readonly payTos: readonly string[]
  readonly payers: readonly string[]
}

export async function openCluster(t: Scope, options: ClusterOptions): Promise<Cluster> {
  const { directory } = options
  mkdirSync(directory, { recursive: true })
  const network = new Network()
  const ledger = await openLedger(t, directory)
  const database = await openDatabase(t, network, directory)
  const redis = options.claims === 'redis' ? await openRedis(t, network) : undefined
  const [sponsor, payTos, payers] = [newKey(), keys(sellerCount), keys(options.buyers[0] * options.buyers[1])]
  await Promise.all([
    post(ledger, '/devnet/fund', { address: sponsor.address, microAlgos: 1_000_000_000 }),
    ...payTos.map(async ({ address }) => {
      await post(ledger, '/devnet/fund', { address, microAlgos: 1_000_000 })
      await post(ledger, '/devnet/opt-in', { address, assetId: Number(dollarAssetId) })
    }),
    ...payers.map(({ address }) => post(ledger, '/devnet/fund', { address, dollars: 100 })),
  ])
  const service = (name: string, number: number, module: string, env: { [name: string]: string }): Service => {
    const host = network.add(name, number)
    const file = fileURLToPath(new URL(`./${module}-process.test.helper.js`, import.meta.url))
    const shared = { FAULTS_NAME: name, FAULTS_DIRECTORY: directory, FAULTS_HOST: host.address }
    const made = new Service(name, {
      ...{ host, directory, command: [process.execPath, '--enable-source-maps', file] },
      env: { ...shared, FAULTS_PAY_TOS: payTos.map(({ address }) => address).join(','), ...env },
    })
    t.after(() => made.kill())
    return made
  }
  const urlOf = ({ host }: Service): string => `http://${host.address}:${port}`
  const nodes = [1, 2].map((number) =>
    service(`node-${number}`, 40 + number, 'node', { FAULTS_LEDGER: `http://${hubAddress}:${ledgerPort}` }),
  )
  const FAULTS_NODES = nodes.map(urlOf).join(',')
  const replicas = count(options.replicas).map((number) =>
    service(`replica-${number}`, 10 + number, 'replica', {
      FAULTS_NODES: (number % 2 === 0 ? [...nodes].reverse() : nodes).map(urlOf).join(','),
      FAULTS_STORE: database.url,
      FAULTS_SPONSOR: sponsor.seed,
      FAULTS_FEES_PER_PAY_TO: String(feeMicroAlgos * BigInt(options.budget)),
      FAULTS_FEES_IN_ALL: String(feeMicroAlgos * BigInt(options.budget) * BigInt(sellerCount)),
    }),
  )
  const gates = count(options.gates).map((number) =>
    service(`gate-${number}`, 20 + number, 'gate', {
      FAULTS_NODES,
      FAULTS_CLAIMS: redis?.server.url ?? database.url,
      FAULTS_REPLICAS: replicas.map(urlOf).join(','),
      FAULTS_TRUSTS: number % 2 === 1 ? 'yes' : 'no',
    }),
  )
  const buyers = count(options.buyers[0]).map((number) => {
    const own = payers.slice((number - 1) * options.buyers[1], number * options.buyers[1])
    return service(`buyers-${number}`, 50 + number, 'buyers', {
      FAULTS_NODES,
      FAULTS_GATES: gates.map(urlOf).join(','),
      FAULTS_SEEDS: own.map(({ seed }) => seed).join(','),
      FAULTS_MODE: 'load',
    })
  })
  const addresses = (list: readonly Key[]): string[] => list.map(({ address }) => address)
  return {
    ...{ options, network, ledger, database, redis, nodes, replicas, gates, buyers },
    ...{ sponsor: sponsor.address, payTos: addresses(payTos), payers: addresses(payers) },
  }
}

/** Everything but the buyers. */
export async function startServers({ nodes, replicas, gates }: Cluster): Promise<void> {
  for (const services of [nodes, replicas, gates]) await Promise.all(services.map((service) => service.start()))
}

export async function setNodeFault({ host }: Service, fault: NodeFault): Promise<void> {
  const response = await fetch(`http://${host.address}:${port}/fault`, { method: 'PUT', body: fault })
  await response.arrayBuffer()
}

/** How many requests a gate works on. */
export async function unfinishedAt({ host }: Service): Promise<number> {
  return Number(await (await fetch(`http://${host.address}:${port}/unfinished`)).text())
}

async function openLedger(t: Scope, directory: string): Promise<string> {
  const hub = { name: 'hub', address: hubAddress, prefix: [] }
  const args = ['--port', `${ledgerPort}`, '--host', '0.0.0.0', '--block-time', `${blockMs}`, '--history', '100000']
  const command = [process.execPath, latchkeyCommand, 'devnet', '--json', '--log-level', 'error', ...args]
  const devnet = new Service('ledger', { host: hub, directory, command })
  t.after(() => devnet.kill())
  await devnet.start()
  // Balances are set on this machine only.
  return `http://127.0.0.1:${ledgerPort}`
}

async function openDatabase(t: Scope, network: Network, directory: string): Promise<Cluster['database']> {
  const host = network.add('database', 31)
  const clock = new Clock(directory, 'database')
  const { prefix, address } = host
  const server = await PostgresServer.start(t, { host: address, port: 5_432, prefix, environment: clock.env })
  return { server, host, clock, url: await emptyDatabase(server) }
}

async function openRedis(t: Scope, network: Network): Promise<Cluster['redis']> {
  const host = network.add('redis', 32)
  const settings = { appendonly: 'yes', appendfsync: 'always', 'protected-mode': 'no' }
  const server = await RedisServer.start(t, { host: host.address, port: 6_379, settings, prefix: host.prefix })
  return { server, host }
}

type Key = { readonly seed: string; readonly address: string }

function newKey(): Key {
  const seed = randomBytes(32)
  return { seed: seed.toString('hex'), address: Signer.fromSeed(seed).address }
}

const count = (length: number): number[] => Array.from({ length }, (_, index) => index + 1)
const keys = (length: number): Key[] => Array.from({ length }, newKey)

export async function post(url: string, path: string, body: unknown): Promise<void> {
  const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  await response.arrayBuffer()
}
