/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/** Starts a daemon, a devnet and a browser for console tests, and drives the console. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Devnet } from '@latchkey/devnet'
import { Daemon, type Wire } from '@latchkey/kmd'
import algosdk from 'algosdk'
import { fastConfig, makeDataDir, removeDataDir } from '../support/daemon.test.helper.js'
import { type Browser, type Locator, launch, type Page, timeoutMs } from './chromium.test.helper.js'

export type Scope = { after: (work: () => unknown) => void }

export type Environment = {
  /** For cleanup of resources that the test itself starts. */
  scope: Scope
  dir: string
  devnet: Devnet
  daemon: Daemon
  browser: Browser
  algod: algosdk.Algodv2
}

export type EnvironmentOptions = { wire?: Wire; hasNode?: boolean; config?: object }

/** The command line that the daemon reports. */
export const latchkey = ['/opt/node', '/opt/latchkey.js'] as const

export const password = 'correct horse battery staple'

export async function startEnvironment(test: Scope, options: EnvironmentOptions = {}): Promise<Environment> {
  const t = inReverse(test)
  const dir = makeDataDir()
  t.after(() => removeDataDir(dir))
  writeFileSync(
    join(dir, 'kmd_config.json'),
    JSON.stringify({ ...fastConfig, session_lifetime_secs: 600, ...options.config }),
  )
  const devnet = await Devnet.start({ port: 0 })
  t.after(() => devnet.stop())
  const daemon = await startDaemon(t, dir, options.hasNode === false ? undefined : devnet, options.wire)
  const browser = await launch(t)
  const { origin, port } = new URL(devnet.url)
  const algod = new algosdk.Algodv2('', origin, port)
  return { scope: t, dir, devnet, daemon, browser, algod }
}

/** Runs cleanup in reverse order: the browser, then the daemon, then its data directory. */
function inReverse(test: Scope): Scope {
  const cleanups: (() => unknown)[] = []
  test.after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup()
  })
  return { after: (cleanup) => void cleanups.push(cleanup) }
}

export async function startDaemon(t: Scope, dir: string, devnet?: Devnet, wire: Wire = 'documented'): Promise<Daemon> {
  const node = devnet === undefined ? undefined : { url: devnet.url }
  const daemon = await Daemon.start({ dataDir: dir, wire, node, command: latchkey })
  t.after(() => daemon.stop())
  return daemon
}

/** Calls the daemon with the API token, as another program does. */
export async function call(daemon: Daemon, path: string, body: object): Promise<{ [name: string]: unknown }> {
  const token = readFileSync(daemon.tokenFile, 'utf8').split('\n')[0]!
  const response = await fetch(`http://${daemon.address}${path}`, {
    method: 'POST',
    headers: { 'X-KMD-API-Token': token },
    body: JSON.stringify(body),
  })
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as { [name: string]: unknown }
}

export type OpenedPage = {
  page: Page
  /** Fails if the page logged an error that the test does not expect, or loaded something from another origin. */
  assertClean: () => void
  /** Allows responses with this status: the browser logs each of them as an error. */
  expectStatus: (status: number) => void
}

/** Copies with a button and returns the clipboard's text once it has changed. */
export async function copyWith(page: Page, button: Locator): Promise<string> {
  await page.evaluate(() => navigator.clipboard.writeText(''))
  await button.click()
  await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== '')
  return page.evaluate(() => navigator.clipboard.readText())
}

/**
 * Opens the console in a new browser context and records errors and requests to other origins. `before` runs before
 * anything is loaded.
 */
export async function openPage(
  environment: Environment,
  link: string,
  before: (page: Page) => Promise<void> = async () => {},
): Promise<OpenedPage> {
  const context = await environment.browser.newContext({
    viewport: { width: 1280, height: 860 },
    reducedMotion: 'reduce',
  })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: new URL(link).origin })
  const page = await context.newPage()
  page.setDefaultTimeout(timeoutMs)
  const errors: string[] = []
  const expected = new Set<number>()
  const foreign: string[] = []
  page.on('pageerror', (error) => errors.push(String(error.stack)))
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return
    const failed = /the server responded with a status of (\d+)/.exec(message.text())
    if (failed === null || !expected.has(Number(failed[1]))) errors.push(message.text())
  })
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.protocol !== 'blob:' && url.origin !== new URL(link).origin) foreign.push(request.url())
  })
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective}`))
  })
  await before(page)
  await page.goto(link)
  return {
    page,
    expectStatus: (status) => expected.add(status),
    assertClean: () => {
      assert.deepEqual(errors, [])
      assert.deepEqual(foreign, [])
    },
  }
}

const sections = {
  Overview: 'Overview',
  Wallets: 'Wallets',
  Send: 'Pay',
  Sign: 'Pay',
  'Address book': 'Pay',
  'All agents': 'Agents',
  Approvals: 'Agents',
  Payments: 'Activity',
  'Audit log': 'Activity',
  Settings: 'Settings',
} as const

/** Opens a view with the navigation: its section, then the view itself. */
export async function openView(page: Page, view: keyof typeof sections): Promise<void> {
  const section = sections[view]
  // The number of waiting approvals follows the name.
  const named = (name: string) => new RegExp(`^${name}(?: \\d+ waiting)?$`)
  // On a phone.
  const menu = page.getByRole('button', { name: /^Menu/ })
  if (await menu.isVisible()) await menu.click()
  const all = page.getByRole('navigation', { name: 'Sections', exact: true })
  await all.getByRole('link', { name: named(section) }).click()
  if (section === 'Overview' || section === 'Wallets' || section === 'Settings') return
  const views = page.getByRole('navigation', { name: section, exact: true })
  await views.getByRole('link', { name: named(view) }).click()
}

/** Creates a wallet and postpones its backup. The wallet is then unlocked. */
export async function createWallet(page: Page, name: string): Promise<void> {
  await startWallet(page, name)
  await page.getByRole('button', { name: 'Later', exact: true }).click()
  await page.getByRole('heading', { name, exact: true }).waitFor()
  await page.getByRole('button', { name: 'Lock', exact: true }).waitFor()
}

/** Creates a wallet and waits for its backup dialog. */
export async function startWallet(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Create wallet' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByLabel('Password', { exact: true }).fill(password)
  await dialog.getByLabel('Confirm password', { exact: true }).fill(password)
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('heading', { name: `Back up ${name}` }).waitFor()
}

export async function unlock(page: Page, text = password): Promise<void> {
  await page.getByLabel('Password', { exact: true }).fill(text)
  await page.getByRole('button', { name: 'Unlock' }).click()
}

/** Creates a wallet with keys and returns their addresses in the order of the page. */
export async function walletWithKeys(page: Page, name: string, count: number): Promise<string[]> {
  await createWallet(page, name)
  for (let index = 0; index < count; index++) {
    await page.getByRole('button', { name: 'Generate key' }).click()
    await page
      .getByRole('listitem')
      .getByRole('link', { name: /^Receive with/ })
      .nth(index)
      .waitFor()
  }
  return page.locator('.rows .address').allTextContents()
}

export async function payment(
  { algod }: Environment,
  options: { from: string; to: string; microAlgos: number; rekeyTo?: string; closeTo?: string },
): Promise<algosdk.Transaction> {
  const { from, to, microAlgos, rekeyTo, closeTo } = options
  return algosdk.makePaymentTxnWithSuggestedParamsFromObject({
    sender: from,
    receiver: to,
    amount: microAlgos,
    suggestedParams: await algod.getTransactionParams().do(),
    ...(rekeyTo === undefined ? {} : { rekeyTo }),
    ...(closeTo === undefined ? {} : { closeRemainderTo: closeTo }),
  })
}

export function toBase64(...transactions: algosdk.Transaction[]): string {
  return Buffer.concat(transactions.map((one) => algosdk.encodeUnsignedTransaction(one))).toString('base64')
}

/** Enters a transaction and waits until the page shows what it does. */
export async function review(page: Page, base64: string): Promise<void> {
  await openView(page, 'Sign')
  const another = page.getByRole('button', { name: 'Sign another' })
  const input = page.getByLabel('Transaction or group, as base64')
  await another.or(input).first().waitFor()
  if (await another.isVisible()) await another.click()
  await input.fill(base64)
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByRole('button', { name: 'Do not sign' }).waitFor()
}

/** Signs and returns the signed bytes that the page shows. */
export async function sign(page: Page, wallet: string): Promise<Buffer> {
  await page.getByLabel(`Password of ${wallet}`, { exact: true }).fill(password)
  await page.getByRole('button', { name: /^Sign( \d+ transactions)?$/ }).click()
  return Buffer.from(await page.getByLabel(/^Signed (transaction|group), base64$/).inputValue(), 'base64')
}

/** Creates an asset with two decimals, held by the dispenser. */
export async function createAsset({ algod, devnet }: Environment, total: bigint): Promise<bigint> {
  const { addr, sk } = algosdk.mnemonicToSecretKey(devnet.dispenser.mnemonic)
  const transaction = algosdk.makeAssetCreateTxnWithSuggestedParamsFromObject({
    sender: addr,
    total,
    decimals: 2,
    unitName: 'CENT',
    suggestedParams: await algod.getTransactionParams().do(),
  })
  await algod.sendRawTransaction(transaction.signTxn(sk)).do()
  const { assetIndex } = await algod.pendingTransactionInformation(transaction.txID()).do()
  return assetIndex!
}

/** Returns the text of the focused element. */
export function focusedText(page: Page): Promise<string> {
  return page.evaluate(() => document.activeElement?.textContent?.trim() ?? '')
}

/** Finds text with less contrast than WCAG 2 requires (4.5), and horizontal overflow. */
export function layoutIssues(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const channels = (color: string): number[] => (color.match(/[\d.]+/g) ?? []).map(Number)
    const luminance = (color: string): number => {
      const [r, g, b] = channels(color).map((value) => {
        const share = value / 255
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
      })
      return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!
    }
    const backgroundOf = (element: Element | null): string => {
      for (let at = element; at !== null; at = at.parentElement) {
        const { backgroundColor } = getComputedStyle(at)
        if (channels(backgroundColor)[3] !== 0) return backgroundColor
      }
      return 'rgb(255, 255, 255)'
    }
    const issues: string[] = []
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth > clientWidth) issues.push(`${scrollWidth - clientWidth} pixels wider than the window`)
    for (const element of document.querySelectorAll('body *')) {
      const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim() !== '')
      if (!hasText || element.closest('svg') !== null || !element.checkVisibility()) continue
      const [a, b] = [luminance(getComputedStyle(element).color), luminance(backgroundOf(element))].sort(
        (x, y) => y - x,
      )
      const contrast = (a! + 0.05) / (b! + 0.05)
      if (contrast < 4.5) issues.push(`${contrast.toFixed(2)}: ${element.className} ${element.textContent}`)
    }
    return issues
  })
}
