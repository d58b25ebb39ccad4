/** The API without a server: wallets in a temporary directory, the cheapest scrypt, and a fake clock. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Access, BodyError } from '@latchkey/http'
import * as Sqlite from '@latchkey/system/sqlite'
import { KeptSignatures } from '../activity/KeptSignatures.js'
import { SignatureLog } from '../activity/SignatureLog.js'
import type { Context } from '../api/Context.js'
import type { NodeClient } from '../api/NodeClient.js'
import type { AuditMode } from '../audit/AuditChain.js'
import { Recorder } from '../audit/Recorder.js'
import { Sessions } from '../console/Sessions.js'
import { Tickets } from '../console/Tickets.js'
import { Contacts } from '../contacts/Contacts.js'
import { ScryptPool } from '../derivation/ScryptPool.js'
import { Handles } from '../Handles.js'
import { Metrics } from '../Metrics.js'
import { openAgentParts } from '../process/agentParts.js'
import { RequestHandler, type RequestHandlerOptions } from '../RequestHandler.js'
import { openState } from '../state/openState.js'
import { PasswordThrottle } from '../wallet/PasswordThrottle.js'
import { PendingBackups } from '../wallet/PendingBackups.js'
import { Wallets } from '../wallet/Wallets.js'

// Like the daemon: tests that open many files stay below a limit of 256 open files. A collection takes long in a process
// that runs many test files, so most calls do nothing.
let collectGarbage: (() => void) | undefined
Sqlite.collectWith(() => {
  if (process.platform === 'linux' && readdirSync('/proc/self/fd').length < maxOpenFiles) return
  setFlagsFromString('--expose-gc')
  collectGarbage ??= runInNewContext('gc') as () => void
  collectGarbage()
})

/** The number of open files from which SQLite's are collected. */
const maxOpenFiles = 96

export const token = 'a'.repeat(64)
/** Derived on the calling thread, without starting a worker. */
export const cheapScrypt = { n: 2, r: 1, p: 1 }

/** A directory that is removed after the test. */
export function temporaryDirectory(t: Pick<TestContext, 'after'>): string {
  const directory = mkdtempSync(join(tmpdir(), 'kmd-test-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export function openWallets(
  t: Pick<TestContext, 'after'>,
  options: Partial<ConstructorParameters<typeof Wallets>[0]> = {},
): { wallets: Wallets; directory: string; throttle: PasswordThrottle } {
  const directory = options.directory ?? temporaryDirectory(t)
  const throttle = options.throttle ?? new PasswordThrottle({ sleep: async () => {} })
  const derivation = new ScryptPool()
  const wallets = new Wallets({ directory, scrypt: cheapScrypt, derivation, throttle, ...options })
  t.after(async () => {
    wallets.close()
    await derivation.close()
  })
  return { wallets, directory, throttle }
}

/** The parameters that a node returns for its network. */
export function parametersOf(genesisHash: Uint8Array, { genesisId = 'test-v1', lastRound = 1n } = {}) {
  return { genesisId, genesisHash, lastRound, minFee: 1000n, feePerByte: 0n }
}

const unexpected = async (): Promise<never> => {
  throw new Error('unexpected query to the node')
}

/** A node that must not be queried. A test overrides the queries that it expects. */
export const unusedNode: NodeClient = {
  ...{ parameters: unexpected, lastRound: unexpected, account: unexpected, accountWithHoldings: unexpected },
  ...{ holding: unexpected, asset: unexpected, transaction: unexpected, simulate: unexpected, submit: unexpected },
  ...{ devnet: unexpected, fund: unexpected, blockTransactionIds: unexpected, leasesInBlock: unexpected },
}

/** A devnet that knows every account and no transaction, and accepts all transactions. */
export const quietNode: NodeClient = {
  devnet: async () => ({ genesisHash: new Uint8Array(32), dollarAssetIds: [] }),
  fund: async () => ({ microAlgos: 1n, round: 1n }),
  lastRound: async () => 1n,
  account: async () => ({ microAlgos: 1n, minBalance: 0n, authAddress: undefined }),
  holding: async () => undefined,
  simulate: async () => undefined,
  submit: async () => ({ type: 'accepted' }),
  parameters: async () => parametersOf(new Uint8Array(32)),
  accountWithHoldings: async () => ({
    ...{ microAlgos: 1n, minBalance: 0n, authAddress: undefined },
    ...{ holdings: [], holdingCount: 0 },
  }),
  asset: async () => ({ decimals: 0, unitName: undefined }),
  transaction: async () => ({ type: 'unknown' }),
  blockTransactionIds: async () => [],
  leasesInBlock: async () => [],
}

export type TestResponse = {
  status: number
  headers: Map<string, string>
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses member by member
  json: any
}

export type TestApp = {
  directory: string
  wallets: Wallets
  handles: Handles
  throttle: PasswordThrottle
  tickets: Tickets
  sessions: Sessions
  context: Context
  metrics: Metrics
  recorder: Recorder
  /** The directory of the daemon's own state. */
  stateDirectory: string
  /** The errors that the daemon would log. */
  failures: string[]
  /** Moves the clock of handles, throttle, tickets and sessions. */
  advance: (ms: number) => void
  request: (method: string, target: string, options?: RequestOptions) => Promise<TestResponse>
  /** Sends a POST with the correct token. */
  post: (path: string, body: unknown) => Promise<TestResponse>
  /** Creates a wallet and opens a handle for it. */
  unlocked: (name?: string, password?: string) => Promise<{ id: string; handle: string }>
}

export type RequestOptions = { body?: unknown; headers?: Record<string, string>; localAddress?: string }

export type TestAppOptions = Partial<
  Pick<RequestHandlerOptions, 'wire' | 'cors' | 'hosts' | 'onActivity' | 'consoleFile'>
> & {
  lifetimeMs?: number
  maxLifetimeMs?: number
  node?: NodeClient
  derivation?: Pick<ScryptPool, 'derive'>
  mode?: AuditMode
}

export function createApp(
  t: Pick<TestContext, 'after'>,
  { lifetimeMs = 60_000, maxLifetimeMs, node, derivation, mode, ...options }: TestAppOptions = {},
): TestApp {
  let nowMs = 1_000_000
  const now = (): number => nowMs
  const advance = (ms: number): void => {
    nowMs += ms
  }
  const throttle = new PasswordThrottle({ now, sleep: async (ms) => advance(ms) })
  const { wallets, directory } = openWallets(t, { throttle, ...(derivation === undefined ? {} : { derivation }) })
  const handles = new Handles({ lifetimeMs, maxLifetimeMs, now })
  t.after(() => handles.close())
  const [tickets, sessions, signatureLog] = [new Tickets({ now }), new Sessions({ now }), new SignatureLog()]
  const keptSignatures = new KeptSignatures({ log: signatureLog })
  const stateDirectory = temporaryDirectory(t)
  const { audit, agents, approvals, close } = openState({
    directory: stateDirectory,
    wallets,
    now,
    elapsed: now,
  })
  t.after(close)
  const context: Context = {
    ...{ wallets, handles, throttle, tickets, sessions, signatureLog, keptSignatures, node, audit, agents, approvals },
    ...{ contacts: new Contacts(), pendingBackups: new PendingBackups() },
    ...openAgentParts({ agents, lifetimes: { lifetimeMs, maxLifetimeMs }, now }),
    startedAtMs: Date.now(),
    version: '0.0.0',
    lostLogLines: () => 0,
    command: [],
  }
  const metrics = new Metrics()
  const failures: string[] = []
  const recorder = new Recorder({ log: audit, context, mode, now })
  const app = new RequestHandler({
    context,
    wire: 'reference',
    token: new Access.TokenCheck(token),
    cors: { allowedOrigins: [], allowPrivateNetwork: false },
    hosts: new Set(),
    metrics,
    recorder,
    onFailure: (operation, error) => failures.push(`${operation}: ${String(error)}`),
    ...options,
  })
  const request: TestApp['request'] = async (method, target, { body, headers = {}, localAddress } = {}) => {
    const all: Record<string, string> = { host: 'localhost', 'x-kmd-api-token': token, ...headers }
    const response = await app.handle({
      method,
      target,
      header: (name) => all[name],
      localAddress: () => localAddress,
      body: (limit) => toBytes(body, limit),
    })
    const pairs = Array.from({ length: response.headers.length / 2 }, (_, i) =>
      response.headers.slice(2 * i, 2 * i + 2),
    )
    const text = String(response.body)
    const isJson = text.startsWith('{')
    return {
      status: response.status,
      headers: new Map(pairs.map(([name, value]) => [name!.toLowerCase(), value!])),
      text,
      json: isJson ? JSON.parse(text) : undefined,
    }
  }
  const post: TestApp['post'] = (path, body) => request('POST', path, { body })
  const unlocked: TestApp['unlocked'] = async (name = 'one', password = 'secret') => {
    const created = await post('/v1/wallet', {
      wallet_name: name,
      wallet_driver_name: 'sqlite',
      wallet_password: password,
    })
    const { id } = created.json.wallet
    const opened = await post('/v1/wallet/init', { wallet_id: id, wallet_password: password })
    return { id, handle: opened.json.wallet_handle_token }
  }
  return {
    directory,
    wallets,
    handles,
    throttle,
    tickets,
    sessions,
    context,
    metrics,
    recorder,
    stateDirectory,
    failures,
    advance,
    request,
    post,
    unlocked,
  }
}

/** A string is sent unchanged; anything else is written as JSON. */
function toBytes(body: unknown, limit = 2 ** 20): Buffer {
  const bytes = encode(body)
  if (bytes.length > limit) throw new BodyError('body_too_large')
  return bytes
}

function encode(body: unknown): Buffer {
  if (body === undefined) return Buffer.alloc(0)
  if (body instanceof Uint8Array) return Buffer.from(body)
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

/** The number of runs of a property: `usual`, or LATCHKEY_FUZZ. */
export function fuzzRuns(usual: number): number {
  return Number(process.env['LATCHKEY_FUZZ'] ?? usual)
}
