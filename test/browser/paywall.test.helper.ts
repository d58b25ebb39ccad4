/** Starts a seller, a key daemon that accepts the seller's origin, a devnet and a browser, and drives the paywall. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Daemon } from '@latchkey/kmd'
import { Kmd } from '@latchkey/kmd-client'
import { paymentGate } from '@latchkey/x402/node'
import type { Gate, GateOptions, PaywallOptions, Route } from '@latchkey/x402/server'
import { dollar, type Market, openMarket } from '../x402/support/market.test.helper.js'
import { type Browser, launch, type Page, timeoutMs } from './chromium.test.helper.js'

export const walletName = 'shopper'
export const password = 'open sesame'
const token = 'b'.repeat(64)

type Scope = { after: (work: () => unknown) => void }

/** The hooks of a file. */
type FileScope = Scope & { afterEach: (work: () => unknown) => void }

export type Environment = Awaited<ReturnType<typeof startEnvironment>>

/** Starts everything once for the tests of a file. The pages that a test opens are closed at its end. */
export async function startEnvironment(scope: FileScope) {
  const browser = await launch(scope)
  // Each open page slows the browser down for the tests that follow.
  scope.afterEach(() => Promise.all(browser.contexts().map((context) => context.close())))
  const market = await openMarket(scope)
  const server = createServer()
  const url = await listen(server, scope)
  const secondServer = createServer()
  const secondUrl = await listen(secondServer, scope)
  const { kmdUrl, wallet } = await startKmd(scope, [url, secondUrl])
  const [funded, empty, notOptedIn] = [
    await wallet.generateKey(),
    await wallet.generateKey(),
    await wallet.generateKey(),
  ]
  market.devnet.fund(funded, { microAlgos: 1_000_000n, microDollars: 1_000_000n })
  market.devnet.fund(empty, { microAlgos: 1_000_000n })
  market.devnet.optIn(empty, dollar)
  market.devnet.fund(notOptedIn, { microAlgos: 1_000_000n })
  return {
    browser,
    market,
    url,
    /** Sets up a second seller, whose origin the daemon accepts too. */
    second: { server: secondServer, url: secondUrl },
    funded,
    empty,
    notOptedIn,
    kmd: { url: kmdUrl, token, wallet: walletName },
    sell: (products: Products, overrides?: Partial<GateOptions>) =>
      sell({ server, market, kmdUrl }, products, overrides),
    visit: (path: string, options?: VisitOptions) => visit(browser, url + path, { kmdUrl, ...options }),
  }
}

export async function listen(server: Server, scope: Scope): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  scope.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function startKmd(scope: Scope, origins: readonly string[]) {
  const dataDir = mkdtempSync(join(tmpdir(), 'kmd-test-'))
  scope.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const scrypt = { scrypt: { scrypt_n: 2, scrypt_r: 1, scrypt_p: 1 }, allow_unsafe_scrypt: true }
  const settings = { address: '127.0.0.1:0', allowed_origins: origins, drivers: { sqlite: scrypt } }
  writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify(settings), { mode: 0o600 })
  writeFileSync(join(dataDir, 'kmd.token'), token, { mode: 0o600 })
  const daemon = await Daemon.start({ dataDir, wire: 'reference' })
  scope.after(() => daemon.stop())
  const kmd = await Kmd.connect({ dataDir })
  await kmd.wallets.create({ name: walletName, password })
  return { kmdUrl: `http://${daemon.address}`, wallet: await kmd.unlock({ name: walletName, password }) }
}

export type Products = { readonly [path: string]: { type: string; body: string | Buffer; status?: number } }
type Seller = { server: Server; market: Market; kmdUrl: string }

/** Sells each product for one cent, replacing the previous products. */
async function sell({ server, market, kmdUrl }: Seller, products: Products, overrides: Partial<GateOptions> = {}) {
  const served: string[] = []
  const listener: RequestListener = (request, response) => {
    const path = request.url!.split('?')[0]!
    const { type, body, status = 200 } = products[path] ?? { type: 'text/plain', body: 'not found', status: 404 }
    if (products[path] !== undefined) served.push(path)
    response.writeHead(status, { 'Content-Type': type }).end(body)
  }
  const gate = await gateFor(market, products, { url: kmdUrl, token, wallet: walletName }, overrides)
  server.removeAllListeners('request')
  server.on('request', paymentGate(gate, listener, { onError: () => {} }))
  return { served, gate }
}

export function gateFor(
  market: Market,
  products: Products,
  kmd: NonNullable<PaywallOptions['kmd']>,
  overrides: Partial<GateOptions> = {},
): Promise<Gate> {
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
  const route = (path: string): [string, Route] => [`GET ${path}`, { accepts, description: 'The weather, now' }]
  const routes = Object.fromEntries(Object.keys(products).map(route))
  return market.gate({ routes, paywall: { kmd }, ...overrides })
}

export type VisitOptions = {
  scheme?: 'light' | 'dark'
  width?: number
  kmdUrl?: string
  before?: (page: Page) => Promise<void>
}
export type Visit = { page: Page; issues: string[]; requests: string[] }

/** Opens a page and records browser errors and requests; requests to other origins count as issues. */
export async function visit(
  browser: Browser,
  url: string,
  { scheme, width, kmdUrl, before }: VisitOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({
    colorScheme: scheme ?? 'light',
    viewport: { width: width ?? 1280, height: width === undefined ? 900 : 780 },
  })
  const page = await context.newPage()
  page.setDefaultTimeout(timeoutMs)
  const issues: string[] = []
  const requests: string[] = []
  const origins = [new URL(url).origin, ...(kmdUrl === undefined ? [] : [kmdUrl])]
  page.on('console', (message) => {
    // The browser logs the status 402, and every response that a test blocks, as an error.
    const isExpected = /status of 402|ERR_FAILED|status of (401|500|502|503|524)/.test(message.text())
    if (['error', 'warning'].includes(message.type()) && !isExpected) issues.push(message.text())
  })
  page.on('pageerror', (error) => issues.push(String(error)))
  page.on('request', (request) => {
    requests.push(request.url())
    const { protocol, origin } = new URL(request.url())
    if (!['data:', 'blob:', 'about:'].includes(protocol) && !origins.includes(origin)) issues.push(request.url())
  })
  await before?.(page)
  await page.goto(url)
  return { page, issues, requests }
}

/** Connects the key daemon with the wallet's password, and selects an account. */
export async function connect({ page }: Visit, account?: string, walletPassword = password): Promise<void> {
  await page.getByRole('button', { name: 'Local key daemon' }).click()
  await page.getByLabel('Password', { exact: true }).fill(walletPassword)
  await page.getByRole('button', { name: 'Unlock' }).click()
  if (account !== undefined) await page.getByLabel('From your local key daemon').selectOption(account)
}

export async function pay(visit: Visit, account: string): Promise<void> {
  await connect(visit, account)
  await visit.page.getByRole('button', { name: 'Pay $0.01' }).click()
}

export const statusOf = async ({ page }: Visit): Promise<string> => (await page.getByRole('status').innerText()).trim()

export async function waitForStatus(visit: Visit, text: RegExp): Promise<void> {
  await visit.page.getByRole('status').filter({ hasText: text }).waitFor()
  assert.match(await statusOf(visit), text)
}

/** Returns the amount that the seller has received, in millionths of a dollar. */
export async function received({ market }: Environment): Promise<bigint> {
  return market.dollars(market.seller)
}
