/**
 * Sets up everything a soak needs: the processes, the proxies in front of them, a seller on each adapter, and buyers.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Network } from '@latchkey/algorand'
import { Kmd } from '@latchkey/kmd-client'
import { Chain, fromKmd } from '@latchkey/x402/client'
import { type ClaimStore, Gate, httpFacilitator } from '@latchkey/x402/server'
import * as algosdk from 'algosdk'
import { fastConfig } from '../support/daemon.test.helper.js'
import { freePort } from '../support/freePort.test.helper.js'
import { type Counters, LatchkeyShopper, PublishedShopper, type Shopper } from './soakBuyers.test.helper.js'
import { openFaultyLine, openFaultyNode } from './soakFaults.test.helper.js'
import { http2Fetch } from './soakHttp2.test.helper.js'
import { Service } from './soakProcesses.test.helper.js'
import type { Storefront } from './soakPurchases.test.helper.js'
import { Counter, Random } from './soakRandom.test.helper.js'
import { type Adapter, adapters } from './soakSellers.test.helper.js'
import { routesFor, Shop } from './soakShop.test.helper.js'
import { type ClaimsDatabase, type Engine, openStores, type Stores } from './soakStores.test.helper.js'
import { note } from './soakTimeline.test.helper.js'

type Scope = { after: (work: () => unknown) => void }

/** The published client knows only public networks, so the devnet has the genesis hash of TestNet. */
const network = 'testnet'
const { genesisHash } = Network.testnet
export const dollar = 10458941n
const buyerCount = 4
/** How many concurrent purchases each of our buyers makes. */
export const lanes = 2
const buyerMicroDollars = 100_000_000n
const sponsorMicroAlgos = 1_000_000_000n
const password = 'a password'
const blockMs = 500

export type SoakOptions = { directory: string; engine: Engine; seed: number; isOver: () => boolean }

export type Seller = { name: string; payTo: string; shop: Shop; database: ClaimsDatabase }

export type Market = Counters & {
  random: Random
  kills: Counter
  faults: Counter
  work: Counter
  devnet: Service
  kmd: Service
  facilitator: Service
  /** Without a proxy, for the books. */
  chain: Chain
  /** The chain that the parties use, through a proxy. */
  faultyChain: Chain
  nodeUrl: string
  facilitatorUrl: string
  stores: Stores
  sponsor: string
  sellers: Seller[]
  shoppers: Shopper[]
  /** Payments for which a seller recorded that it has sent the answer. */
  served: Set<string>
  /** The initial balances: dollars by address, and the sponsor's microAlgos. */
  before: { microDollars: Map<string, bigint>; sponsorMicroAlgos: bigint }
}

export async function openMarket(t: Scope, { directory, engine, seed, isOver }: SoakOptions): Promise<Market> {
  const random = new Random(seed)
  const counters = { aborts: new Counter(), repeats: new Counter(), outcomes: new Counter(), work: new Counter() }
  const faultOptions = { random, faults: new Counter(), isOver }
  const nodePort = await freePort()
  const nodeUrl = `http://127.0.0.1:${nodePort}`
  const devnet = startable(
    t,
    'devnet',
    ['--port', `${nodePort}`, '--block-time', `${blockMs}`, '--history', '100000', '--genesis-hash', genesisHash],
    {
      '--state': join(directory, 'ledger.log'),
    },
  )
  await devnet.start()
  const kmdDirectory = join(directory, 'kmd-v0.5')
  const kmd = startable(t, 'kmd', [], { '--data-dir': kmdDirectory })
  const keys = await openWallets(kmd, kmdDirectory)
  const faultyNodes = [await openFaultyNode(t, nodePort, faultOptions), await openFaultyNode(t, nodePort, faultOptions)]
  const chain = await Chain.open({ network, nodes: nodeUrl })
  const faultyChain = await openUntil(() => Chain.open({ network, nodes: faultyNodes[0]! }))
  await fund(nodeUrl, keys.sponsor, { microAlgos: Number(sponsorMicroAlgos) })
  const stores = await openStores(t, engine, directory)
  const facilitatorPort = await freePort()
  const facilitatorUrl = `http://127.0.0.1:${facilitatorPort}`
  const passwordFile = join(directory, 'password')
  writeFileSync(passwordFile, password, { mode: 0o600 })
  const facilitator = startable(
    t,
    'facilitator',
    [
      ...['--port', `${facilitatorPort}`, '--network', network],
      ...faultyNodes.flatMap((url) => ['--node', url]),
      ...['--wallet', 'sponsor', '--key', keys.sponsor, '--password-file', passwordFile],
      ...stores.facilitator.args,
    ],
    { '--data-dir': kmdDirectory },
    stores.facilitator.env,
  )
  await facilitator.start()
  const sellers: Market['sellers'] = []
  const storefronts: Storefront[] = []
  for (const adapter of chosenAdapters()) {
    const payTo = String(algosdk.generateAccount().addr)
    await fund(nodeUrl, payTo, { microAlgos: 1_000_000 })
    await post(nodeUrl, '/devnet/opt-in', { address: payTo, assetId: Number(dollar) })
    const shop = new Shop(adapter.name, random, counters.work)
    const database = await stores.openClaims(`claims-${sellers.length}`)
    const seller = { name: adapter.name, payTo, shop, database }
    const gate = await openUntil(() => openGate({ faultyChain, facilitatorUrl }, seller, database.claims))
    storefronts.push(await openStorefront(t, adapter, await adapter.open(t, { gate, shop }), faultOptions))
    sellers.push(seller)
  }
  const shared = { random, chain: faultyChain, ...counters }
  const shoppers: Shopper[] = keys.buyers.map((address, index) => {
    const signer = fromKmd({ kmd: { dataDir: kmdDirectory, timeoutMs: 5_000 }, wallet: 'buyers', address, password })
    const logFile = join(directory, `payments-${index}.jsonl`)
    return new LatchkeyShopper({ ...shared, name: `buyer ${index}`, sellers: storefronts, signer, logFile })
  })
  const account = algosdk.generateAccount()
  const http1 = storefronts.filter(({ fetch: used }) => used === fetch)
  const published = { name: 'published buyer', account, nodeUrl: faultyNodes[1]!, sellers: http1 }
  shoppers.push(new PublishedShopper({ ...shared, ...published }))
  for (const { address } of shoppers) await fund(nodeUrl, address, { dollars: Number(buyerMicroDollars / 1_000_000n) })
  const microDollars = new Map<string, bigint>()
  for (const address of [...shoppers.map(({ address }) => address), ...sellers.map(({ payTo }) => payTo)]) {
    microDollars.set(address, (await chain.algod.holding(address, dollar))!.amount)
  }
  return {
    ...counters,
    ...faultOptions,
    kills: new Counter(),
    devnet,
    kmd,
    facilitator,
    chain,
    faultyChain,
    nodeUrl,
    facilitatorUrl,
    stores,
    sponsor: keys.sponsor,
    sellers,
    shoppers,
    served: new Set(),
    before: { microDollars, sponsorMicroAlgos: await microAlgosOf(chain, keys.sponsor) },
  }
}

/** Opens a gate of a seller. */
export function openGate(
  { faultyChain, facilitatorUrl }: Pick<Market, 'faultyChain' | 'facilitatorUrl'>,
  { name, payTo }: Pick<Seller, 'name' | 'payTo'>,
  claims: ClaimStore,
): Promise<Gate> {
  const routes = routesFor(faultyChain.caip2, payTo)
  const facilitators = httpFacilitator({ url: facilitatorUrl, timeoutMs: 5_000 })
  const onError = (error: unknown): void => note(`error at ${name}: ${String(error)}`)
  return Gate.open({ routes, facilitators, claims, chains: faultyChain, onError })
}

export async function microAlgosOf(chain: Chain, address: string): Promise<bigint> {
  return (await chain.algod.account(address)).microAlgos
}

/** LATCHKEY_SOAK_ADAPTERS selects adapters by name, to examine one alone. */
function chosenAdapters(): readonly Adapter[] {
  const names = process.env['LATCHKEY_SOAK_ADAPTERS']?.split(',')
  return adapters.filter(({ name }) => names === undefined || names.includes(name))
}

function startable(
  t: Scope,
  name: string,
  args: readonly string[],
  files: { [option: string]: string },
  env: NodeJS.ProcessEnv = {},
): Service {
  return new Service(t, name, [name, '--json', ...args, ...Object.entries(files).flat()], env)
}

/** Opens two wallets of one daemon: the sponsor's, which the facilitator uses, and the buyers'. */
async function openWallets(kmd: Service, dataDir: string): Promise<{ sponsor: string; buyers: string[] }> {
  mkdirSync(dataDir, { mode: 0o700 })
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify(fastConfig), { mode: 0o600 })
  await kmd.start()
  const client = await Kmd.connect({ dataDir })
  const keysIn = async (name: string, count: number): Promise<string[]> => {
    await client.wallets.create({ name, password })
    const wallet = await client.unlock({ name, password })
    const keys: string[] = []
    while (keys.length < count) keys.push(await wallet.generateKey())
    await wallet.release()
    return keys
  }
  const [sponsor] = await keysIn('sponsor', 1)
  return { sponsor: sponsor!, buyers: await keysIn('buyers', buyerCount) }
}

async function openStorefront(
  t: Scope,
  { name, isHttp2 }: Adapter,
  port: number,
  faultOptions: Parameters<typeof openFaultyLine>[2],
): Promise<Storefront> {
  const url = `http://127.0.0.1:${await openFaultyLine(t, port, faultOptions)}`
  return { name, url, fetch: isHttp2 ? http2Fetch(t, url) : fetch }
}

/** Retries, because the proxies fail from the beginning. */
async function openUntil<T>(open: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await open()
    } catch (error) {
      if (attempt === 50) throw error
    }
  }
}

async function fund(nodeUrl: string, address: string, amounts: { microAlgos?: number; dollars?: number }) {
  await post(nodeUrl, '/devnet/fund', { address, ...amounts })
}

export async function post(nodeUrl: string, path: string, body: unknown): Promise<void> {
  const response = await fetch(`${nodeUrl}${path}`, { method: 'POST', body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  await response.arrayBuffer()
}
