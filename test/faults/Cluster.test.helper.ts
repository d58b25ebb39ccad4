/**
 * Runs replicas of a facilitator and of a seller, their database, two nodes of one ledger, and buyers, each on its own
 * host.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Network as Networks } from '@latchkey/algorand'
import * as Sqlite from '@latchkey/system/sqlite'
import { Signer } from '@latchkey/x402/client'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import { emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'
import { RedisServer } from '../support/redis.test.helper.js'
import { type Host, hubAddress, Network } from './Network.test.helper.js'
import type { NodeFault } from './node-process.test.helper.js'
import { bundlePrograms, commandOf, type Program } from './programs.test.helper.js'
import { Clock, Service } from './Service.test.helper.js'
import { dollarAssetId, port, untilItWorks } from './settings.test.helper.js'

export type Scope = { after: (work: () => unknown) => void }

/**
 * Resources that several clusters can use one after the other: the network, the ledger and its nodes, and the database
 * server.
 */
export type Ground = {
  readonly scope: Scope
  readonly network: Network
  readonly ledger: string
  readonly nodes: readonly Service[]
  readonly postgres: { readonly server: PostgresServer; readonly host: Host; readonly clock: Clock }
  /** By name. */
  readonly hosts: Map<string, Host>
  /** The directory of the bundled programs. */
  readonly programs: string
}

/** The store of the gates' claims. */
export type ClaimsEngine = 'postgres' | 'redis' | 'sqlite'

export type ClusterOptions = {
  /** The directory of the logs, which is created. */
  readonly directory: string
  readonly claims: ClaimsEngine
  readonly replicas: number
  readonly gates: number
  /** The number of buyer processes, and of buyers in each. */
  readonly buyers: readonly [processes: number, each: number]
  /** How many settlements the budget of each seller pays for. */
  readonly budget: number
  /** Additional environment variables of all processes. */
  readonly env?: { readonly [name: string]: string } | undefined
}

export type Cluster = Ground & {
  readonly options: ClusterOptions
  readonly databaseUrl: string
  readonly redis: { readonly server: RedisServer; readonly host: Host } | undefined
  readonly replicas: readonly Service[]
  readonly gates: readonly Service[]
  readonly buyers: readonly Service[]
  readonly sponsor: string
  readonly payTos: readonly string[]
  readonly payers: readonly string[]
}

const ledgerPort = 4_001
const controlMs = 15_000
const blockMs = 400
const sellerCount = 12
/** The fee of a group of two transactions on a network without congestion. */
export const feeMicroAlgos = 2_000n

export async function openGround(scope: Scope, directory: string): Promise<Ground> {
  mkdirSync(directory, { recursive: true })
  const network = new Network()
  const hosts = new Map<string, Host>()
  const [ledger, postgres, programs] = await Promise.all([
    openLedger(scope, directory),
    openPostgres(scope, hostOf({ network, hosts }, 'database', 31), directory),
    bundlePrograms(scope),
  ])
  const nodes = [1, 2].map((number) => {
    const host = hostOf({ network, hosts }, `node-${number}`, 40 + number)
    const env = { FAULTS_HOST: host.address, FAULTS_LEDGER: `http://${hubAddress}:${ledgerPort}` }
    return openService(scope, host.name, { host, directory, command: commandOf(programs, 'node'), env })
  })
  await Promise.all(nodes.map((node) => node.start()))
  return { scope, network, ledger, nodes, postgres, hosts, programs }
}

/** Opens a cluster without starting its processes. */
export async function openCluster(ground: Ground, options: ClusterOptions): Promise<Cluster> {
  const { directory } = options
  mkdirSync(directory, { recursive: true })
  const databaseUrl = await emptyDatabase(ground.postgres.server)
  const redis = options.claims === 'redis' ? await openRedis(ground) : undefined
  const [sponsor, payTos, payers] = [newKey(), keys(sellerCount), keys(options.buyers[0] * options.buyers[1])]
  await fund(ground.ledger, sponsor, payTos, payers)
  const nodes = ground.nodes.map(urlOf)
  const service = (name: string, number: number, program: Program, env: { [name: string]: string }): Service => {
    const host = hostOf(ground, name, number)
    const shared = {
      FAULTS_NAME: name,
      FAULTS_DIRECTORY: directory,
      FAULTS_HOST: host.address,
      FAULTS_NODES: (number % 2 === 0 ? [...nodes].reverse() : nodes).join(','),
      FAULTS_PAY_TOS: payTos.map(({ address }) => address).join(','),
    }
    const all = { ...shared, ...env, ...options.env }
    return openService(ground.scope, name, { host, directory, command: commandOf(ground.programs, program), env: all })
  }
  const replicas = count(options.replicas).map((number) =>
    service(`replica-${number}`, 10 + number, 'replica', {
      FAULTS_STORE: databaseUrl,
      FAULTS_SPONSOR: sponsor.seed,
      FAULTS_FEES_PER_PAY_TO: String(feeMicroAlgos * BigInt(options.budget)),
      FAULTS_FEES_IN_ALL: String(feeMicroAlgos * BigInt(options.budget) * BigInt(sellerCount)),
    }),
  )
  const gates = count(options.gates).map((number) =>
    service(`gate-${number}`, 20 + number, 'gate', {
      FAULTS_CLAIMS: redis?.server.url ?? (options.claims === 'sqlite' ? claimsFile(directory) : databaseUrl),
      FAULTS_REPLICAS: replicas.map(urlOf).join(','),
      FAULTS_LEASES: process.env['FAULTS_LEASES'] ?? 'renewed',
      FAULTS_TRUSTS: number % 2 === 1 ? 'yes' : 'no',
    }),
  )
  const buyers = count(options.buyers[0]).map((number) => {
    const own = payers.slice((number - 1) * options.buyers[1], number * options.buyers[1])
    return service(`buyers-${number}`, 50 + number, 'buyers', {
      FAULTS_GATES: gates.map(urlOf).join(','),
      FAULTS_SEEDS: own.map(({ seed }) => seed).join(','),
      FAULTS_MODE: 'load',
    })
  })
  const addresses = (list: readonly Key[]): string[] => list.map(({ address }) => address)
  const parties = { sponsor: sponsor.address, payTos: addresses(payTos), payers: addresses(payers) }
  return { ...ground, options, databaseUrl, redis, replicas, gates, buyers, ...parties }
}

/** Starts everything except the buyers. */
export async function startServers({ replicas, gates }: Cluster): Promise<void> {
  for (const services of [replicas, gates]) await Promise.all(services.map((service) => service.start()))
}

export async function setNodeFault(node: Service, fault: NodeFault): Promise<void> {
  await control(`${urlOf(node)}/fault`, { method: 'PUT', body: fault })
}

/** Returns how many requests a gate is processing. */
export async function unfinishedAt(gate: Service): Promise<number> {
  return Number(await control(`${urlOf(gate)}/unfinished`))
}

/**
 * Sends a request from the test itself, with retries, because an idle connection may be closed or a cable unplugged.
 */
export function control(url: string, init: RequestInit = {}): Promise<string> {
  return untilItWorks(async () => (await fetch(url, { ...init, signal: AbortSignal.timeout(controlMs) })).text())
}

export const urlOf = ({ host }: Service): string => `http://${host.address}:${port}`

function openService(scope: Scope, name: string, options: ConstructorParameters<typeof Service>[1]): Service {
  const service = new Service(name, options)
  scope.after(() => service.kill())
  return service
}

function hostOf({ network, hosts }: Pick<Ground, 'network' | 'hosts'>, name: string, number: number): Host {
  const host = hosts.get(name) ?? network.add(name, number)
  hosts.set(name, host)
  return host
}

async function openLedger(scope: Scope, directory: string): Promise<string> {
  const hub = { name: 'hub', address: hubAddress, prefix: [] }
  const args = ['--port', `${ledgerPort}`, '--host', '0.0.0.0', '--block-time', `${blockMs}`, '--history', '100000']
  const genesis = ['--genesis-hash', Networks.testnet.genesisHash]
  const command = [process.execPath, latchkeyCommand, 'devnet', '--json', '--log-level', 'error', ...args, ...genesis]
  await openService(scope, 'ledger', { host: hub, directory, command }).start()
  // Balances can be set only from this machine.
  return `http://127.0.0.1:${ledgerPort}`
}

async function openPostgres(scope: Scope, host: Host, directory: string): Promise<Ground['postgres']> {
  const clock = new Clock(directory, 'database')
  const { prefix, address } = host
  const server = await PostgresServer.start(scope, { host: address, port: 5_432, prefix, environment: clock.env })
  return { server, host, clock }
}

async function openRedis(ground: Ground): Promise<Cluster['redis']> {
  const host = hostOf(ground, 'redis', 32)
  const { address, prefix } = host
  const settings = { appendonly: 'yes', appendfsync: 'always', 'protected-mode': 'no' }
  return { server: await RedisServer.start(ground.scope, { host: address, port: 6_379, settings, prefix }), host }
}

/** Simulates the minutes after which the claims of killed gates expire. No request is being served now. */
export async function endClaims({ databaseUrl, redis, options }: Cluster): Promise<void> {
  if (options.claims === 'sqlite') {
    const database = Sqlite.open(claimsFile(options.directory))
    database.exec("PRAGMA busy_timeout = 10000; UPDATE claims SET until_ms = 0 WHERE state = 'serving'")
    database.close()
    return
  }
  if (redis === undefined) {
    await query(databaseUrl, "UPDATE latchkey.claims SET until_at = 'epoch' WHERE state = 'serving'")
    return
  }
  const client = new Redis(redis.server.url)
  await client.eval("for _, key in ipairs(redis.call('KEYS', '*}:c:*')) do redis.call('HSET', key, 'until', 0) end", 0)
  client.disconnect()
}

/** The SQLite claims file, which all gates can reach. */
export const claimsFile = (directory: string): string => join(directory, 'claims.db')

/** Returns the rows of a statement. */
export async function query(databaseUrl: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return (await client.query(sql)).rows as unknown[]
  } finally {
    await client.end()
  }
}

type Key = { readonly seed: string; readonly address: string }

function newKey(): Key {
  const seed = randomBytes(32)
  return { seed: seed.toString('hex'), address: Signer.fromSeed(seed).address }
}

const count = (length: number): number[] => Array.from({ length }, (_, index) => index + 1)
const keys = (length: number): Key[] => Array.from({ length }, newKey)

async function fund(ledger: string, sponsor: Key, payTos: readonly Key[], payers: readonly Key[]): Promise<void> {
  await Promise.all([
    post(ledger, '/devnet/fund', { address: sponsor.address, microAlgos: 1_000_000_000 }),
    ...payTos.map(async ({ address }) => {
      await post(ledger, '/devnet/fund', { address, microAlgos: 1_000_000 })
      await post(ledger, '/devnet/opt-in', { address, assetId: Number(dollarAssetId) })
    }),
    ...payers.map(({ address }) => post(ledger, '/devnet/fund', { address, dollars: 100 })),
  ])
}

export async function post(url: string, path: string, body: unknown): Promise<void> {
  const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  await response.arrayBuffer()
}
