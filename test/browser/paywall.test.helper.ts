/** A shop, a key daemon that lets its pages in, a ledger, and a person at a browser. */
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
import { dollar, type Market, openMarket } from '../x402/support/market.js'
import { type Browser, launch, type Page } from './chromium.test.helper.js'

export const walletName = 'shopper'
export const password = 'open sesame'
const token = 'b'.repeat(64)

type Scope = { after: (work: () => unknown) => void }

export type Town = Awaited<ReturnType<typeof openTown>>

export async function openTown(scope: Scope) {
  const browser = await launch(scope)
  const market = await openMarket(scope)
  const door = createServer()
  const url = await open(door, scope)
  const annex = createServer()
  const annexUrl = await open(annex, scope)
  const { kmdUrl, wallet } = await startKmd(scope, [url, annexUrl])
  const [rich, poor, stranger] = [await wallet.generateKey(), await wallet.generateKey(), await wallet.generateKey()]
  market.devnet.fund(rich, { microAlgos: 1_000_000n, microDollars: 1_000_000n })
  market.devnet.fund(poor, { microAlgos: 1_000_000n })
  market.devnet.optIn(poor, dollar)
  market.devnet.fund(stranger, { microAlgos: 1_000_000n })
  return {
    browser,
    market,
    url,
    /** For another shop, whose pages the daemon lets in too. */
    annex: { server: annex, url: annexUrl },
    rich,
    poor,
    stranger,
    kmd: { url: kmdUrl, token, wallet: walletName },
    sell: (goods: Goods, more?: Partial<GateOptions>) => sell({ door, market, kmdUrl }, goods, more),
    visit: (path: string, options?: VisitOptions) => visit(browser, url + path, { kmdUrl, ...options }),
  }
}

async function open(server: Server, scope: Scope): Promise<string> {
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

export type Goods = { readonly [path: string]: { type: string; body: string | Buffer; status?: number } }
type Selling = { door: Server; market: Market; kmdUrl: string }

/** Everything for a cent, from now on and in place of what was sold before. */
async function sell({ door, market, kmdUrl }: Selling, goods: Goods, more: Partial<GateOptions> = {}) {
  const served: string[] = []
  const listener: RequestListener = (request, response) => {
    const path = request.url!.split('?')[0]!
    const { type, body, status = 200 } = goods[path] ?? { type: 'text/plain', body: 'not here', status: 404 }
    if (goods[path] !== undefined) served.push(path)
    response.writeHead(status, { 'Content-Type': type }).end(body)
  }
  const gate = await gateFor(market, goods, { url: kmdUrl, token, wallet: walletName }, more)
  door.removeAllListeners('request')
  door.on('request', paymentGate(gate, listener, { onError: () => {} }))
  return { served, gate }
}

export function gateFor(
  market: Market,
  goods: Goods,
  kmd: NonNullable<PaywallOptions['kmd']>,
  more: Partial<GateOptions> = {},
): Promise<Gate> {
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
  const route = (path: string): [string, Route] => [`GET ${path}`, { accepts, description: 'The weather, now' }]
  const routes = Object.fromEntries(Object.keys(goods).map(route))
  return market.gate({ routes, paywall: { kmd }, ...more })
}

export type VisitOptions = {
  scheme?: 'light' | 'dark'
  width?: number
  kmdUrl?: string
  before?: (page: Page) => Promise<void>
}
export type Visit = { page: Page; faults: string[]; requests: string[] }

/** Opens a page as a person does, and writes down whatever the browser finds wrong and whomever it asks. */
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
  page.setDefaultTimeout(15_000)
  const faults: string[] = []
  const requests: string[] = []
  const origins = [new URL(url).origin, ...(kmdUrl === undefined ? [] : [kmdUrl])]
  page.on('console', (message) => {
    // That a page is answered with 402 is told as a fault, and so is what a test takes away.
    const isExpected = /status of 402|ERR_FAILED|status of (401|500|502|503)/.test(message.text())
    if (['error', 'warning'].includes(message.type()) && !isExpected) faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('request', (request) => {
    requests.push(request.url())
    const { protocol, origin } = new URL(request.url())
    if (!['data:', 'blob:', 'about:'].includes(protocol) && !origins.includes(origin)) faults.push(request.url())
  })
  await before?.(page)
  await page.goto(url)
  return { page, faults, requests }
}

/** Connects the key daemon with the wallet's password, and chooses an account. */
export async function connect({ page }: Visit, account?: string, word = password): Promise<void> {
  await page.getByRole('button', { name: 'Local key daemon' }).click()
  await page.getByLabel('Password', { exact: true }).fill(word)
  await page.getByRole('button', { name: 'Unlock' }).click()
  if (account !== undefined) await page.getByLabel('From Local key daemon').selectOption(account)
}

export async function pay(visit: Visit, account: string): Promise<void> {
  await connect(visit, account)
  await visit.page.getByRole('button', { name: 'Pay $0.01' }).click()
}

export const statusOf = async ({ page }: Visit): Promise<string> => (await page.getByRole('status').innerText()).trim()

export async function says(visit: Visit, words: RegExp): Promise<void> {
  await visit.page.getByRole('status').filter({ hasText: words }).waitFor()
  assert.match(await statusOf(visit), words)
}

/** What the account paid in all, and in how many payments to the seller. */
export async function spent(town: Town): Promise<bigint> {
  return town.market.dollars(town.market.seller)
}
