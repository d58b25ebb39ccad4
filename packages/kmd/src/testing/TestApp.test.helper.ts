/** The whole API in memory: wallets in a directory of their own, scrypt at its cheapest, and a clock of our own. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Doors } from '@latchkey/http'
import { App, type AppOptions } from '../App.js'
import { ScryptPool } from '../derivation/index.js'
import { Handles } from '../Handles.js'
import { Metrics } from '../Metrics.js'
import { PasswordThrottle } from '../wallet/PasswordThrottle.js'
import { Wallets } from '../wallet/Wallets.js'

export const token = 'a'.repeat(64)
/** Derived on the spot: no thread is started for it. */
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

export type Answer = {
  status: number
  headers: Map<string, string>
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers are read member by member, and the assertions judge them
  json: any
}

export type TestApp = {
  directory: string
  wallets: Wallets
  handles: Handles
  throttle: PasswordThrottle
  metrics: Metrics
  /** What the operator would find in the log. */
  failures: string[]
  /** Moves the clock of handles and throttle. */
  advance: (ms: number) => void
  request: (method: string, target: string, options?: RequestOptions) => Promise<Answer>
  /** By the method that most operations have, and with the right token. */
  post: (path: string, body: unknown) => Promise<Answer>
  /** A new wallet and an open handle for it. */
  unlocked: (name?: string, password?: string) => Promise<{ id: string; handle: string }>
}

export type RequestOptions = { body?: unknown; headers?: Record<string, string> }

export type TestAppOptions = Partial<Pick<AppOptions, 'wire' | 'cors' | 'hosts' | 'onActivity'>> & {
  lifetimeMs?: number
}

export function createApp(t: Pick<TestContext, 'after'>, options: TestAppOptions = {}): TestApp {
  let nowMs = 1_000_000
  const now = (): number => nowMs
  const advance = (ms: number): void => {
    nowMs += ms
  }
  const throttle = new PasswordThrottle({ now, sleep: async (ms) => advance(ms) })
  const { wallets, directory } = openWallets(t, { throttle })
  const handles = new Handles({ lifetimeMs: options.lifetimeMs ?? 60_000, now })
  t.after(() => handles.close())
  const metrics = new Metrics()
  const failures: string[] = []
  const app = new App({
    services: { wallets, handles, throttle, startedAtMs: Date.now(), version: '0.0.0' },
    wire: 'reference',
    token: new Doors.TokenCheck(token),
    cors: { allowedOrigins: [], allowPrivateNetwork: false },
    hosts: new Set(),
    metrics,
    onFailure: (operation, error) => failures.push(`${operation}: ${String(error)}`),
    ...options,
  })
  const request: TestApp['request'] = async (method, target, { body, headers = {} } = {}) => {
    const all: Record<string, string> = { host: 'localhost', 'x-kmd-api-token': token, ...headers }
    const response = await app.handle({
      method,
      target,
      header: (name) => all[name],
      body: () => toBytes(body),
    })
    const pairs = Array.from({ length: response.headers.length / 2 }, (_, i) =>
      response.headers.slice(2 * i, 2 * i + 2),
    )
    const isJson = response.body.startsWith('{')
    return {
      status: response.status,
      headers: new Map(pairs.map(([name, value]) => [name!.toLowerCase(), value!])),
      text: response.body,
      json: isJson ? JSON.parse(response.body) : undefined,
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
  return { directory, wallets, handles, throttle, metrics, failures, advance, request, post, unlocked }
}

/** A string is a body as it is; anything else is written as JSON. */
function toBytes(body: unknown): Buffer {
  if (body === undefined) return Buffer.alloc(0)
  if (body instanceof Uint8Array) return Buffer.from(body)
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

/** How often a property is tried: `usual`, or as often as LATCHKEY_FUZZ says. */
export function fuzzRuns(usual: number): number {
  return Number(process.env['LATCHKEY_FUZZ'] ?? usual)
}
