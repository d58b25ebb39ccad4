/** Tests what the paywall loads and when, which account it selects, and what it offers to people without a wallet. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { after, afterEach, test } from 'node:test'
import { axeIssues } from './axe.test.helper.js'
import { takeScreenshot } from './chromium.test.helper.js'
import {
  connect,
  listen,
  type Products,
  pay,
  startEnvironment,
  type Visit,
  visit,
  waitForStatus,
} from './paywall.test.helper.js'

const environment = await startEnvironment({ after, afterEach })
const weather: Products = { '/weather': { type: 'text/plain', body: 'sunny' } }
const isPageFile = (url: string): boolean => /x402-page=.*\.(js|css)/.test(url)
const isConnector = (url: string): boolean => url.includes('x402-page=wallet-')
const daemonButton = ({ page }: Visit) => page.getByRole('button', { name: 'Local key daemon' })
const paidText = ({ page }: Visit): Promise<string> => page.locator('[data-content] pre').innerText()

/** Lists what moves without user input, starting at the first paint. */
const observeShifts = `
  globalThis.moved = []
  const place = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(' ')
  new PerformanceObserver((list) => {
    for (const { hadRecentInput, value, sources } of list.getEntries()) {
      if (hadRecentInput) continue
      const nodes = sources.map(({ node, previousRect, currentRect }) => {
        return (node?.className || node?.nodeName) + ' from ' + place(previousRect) + ' to ' + place(currentRect)
      })
      globalThis.moved.push(value.toFixed(4) + ': ' + nodes.join(', '))
    }
  }).observe({ type: 'layout-shift', buffered: true })
`

test('loads a wallet’s code once, when the wallet is chosen', async () => {
  await environment.sell(weather)
  const visitor = await environment.visit('/weather?city=Rome')
  await daemonButton(visitor).and(visitor.page.locator(':enabled')).waitFor()
  assert.equal(visitor.requests.filter(isPageFile).length, 2)
  assert.deepEqual(visitor.requests.filter(isConnector), [])
  await connect(visitor)
  await visitor.page.getByRole('button', { name: 'Use another wallet' }).click()
  await connect(visitor)
  assert.equal(visitor.requests.filter(isConnector).length, 1)
  assert.deepEqual(visitor.issues, [])
})

for (const [scheme, width] of [
  ['light', 1280],
  ['dark', 1280],
  ['light', 390],
  ['dark', 390],
] as const) {
  test(`nothing moves while the page loads, and axe-core finds nothing (${scheme}, ${width} px)`, async () => {
    await environment.sell(weather)
    const before = async (page: Visit['page']): Promise<void> => {
      await page.addInitScript(observeShifts)
      // The script arrives long after the first paint.
      await page.route(/x402-page=paywall-.*\.js/, async (route) => {
        await page.locator('.wallet').first().waitFor()
        await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
        await route.continue()
      })
    }
    const visitor = await environment.visit('/weather', { scheme, width, before })
    const { page } = visitor
    await daemonButton(visitor).and(page.locator(':enabled')).waitFor()
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
    assert.deepEqual(await page.evaluate('globalThis.moved'), [])
    await takeScreenshot(page, `loading-wallets-${scheme}-${width}`)
    assert.deepEqual(await axeIssues(page), [])
    await page.getByText('No wallet yet?').click()
    await takeScreenshot(page, `loading-help-${scheme}-${width}`)
    assert.deepEqual(await axeIssues(page), [])
    await connect(visitor)
    await page.getByRole('button', { name: 'Pay $0.01' }).waitFor()
    await takeScreenshot(page, `loading-accounts-${scheme}-${width}`)
    assert.deepEqual(await axeIssues(page), [])
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'))
    assert.deepEqual(visitor.issues, [])
  })
}

test('a page that arrives in pieces is shown when it is complete, so nothing moves', async (t) => {
  await environment.sell(weather)
  let sendRest = (): void => {}
  const slow = createServer(async (request, response) => {
    const { accept } = request.headers
    // Not `fetch`, whose requests are no navigation.
    const [answer] = (await once(get(environment.url + request.url, { headers: { accept } }), 'response')) as [
      IncomingMessage,
    ]
    const body = await buffer(answer)
    const type = answer.headers['content-type']!
    response.writeHead(answer.statusCode!, { 'content-type': type })
    if (!type.startsWith('text/html')) return void response.end(body)
    const middle = body.indexOf('<div data-pay>')
    response.write(body.subarray(0, middle))
    sendRest = () => void response.end(body.subarray(middle))
  })
  const url = await listen(slow, t)
  let opened: Visit['page'] | undefined
  const before = async (page: Visit['page']): Promise<void> => {
    await page.addInitScript(observeShifts)
    opened = page
  }
  const visiting = visit(environment.browser, `${url}/weather`, { width: 390, before })
  while (opened === undefined) await new Promise((resolve) => setTimeout(resolve, 10))
  const card = opened.locator('.card')
  await card.waitFor({ state: 'attached' })
  await opened.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
  assert.equal(await card.isVisible(), false)
  sendRest()
  const visitor = await visiting
  await daemonButton(visitor).and(visitor.page.locator(':enabled')).waitFor()
  assert.deepEqual(await visitor.page.evaluate('globalThis.moved'), [])
})

test('selects an account that can pay, and shows each balance', async () => {
  await environment.sell(weather)
  const visitor = await environment.visit('/weather')
  const { page } = visitor
  await connect(visitor)
  const account = page.getByLabel('From your local key daemon')
  assert.equal(await account.inputValue(), environment.funded)
  assert.match(await page.locator('.balance').innerText(), /^Balance: [\d.]+ USDC$/)
  const texts = await account.locator('option').allInnerTexts()
  const textOf = (address: string): string => texts.find((text) => text.startsWith(address.slice(0, 6)))!
  assert.match(textOf(environment.empty), /· 0 USDC$/)
  assert.match(textOf(environment.notOptedIn), /· not opted in to USDC$/)
  await account.selectOption(environment.empty)
  assert.equal(await page.locator('.balance').innerText(), 'Cannot pay $0.01: 0 USDC')
  await account.selectOption(environment.funded)
  await page.getByRole('button', { name: 'Pay $0.01' }).click()
  assert.equal(await paidText(visitor), 'sunny')
  assert.deepEqual(visitor.issues, [])
})

test('pays without balances if the seller’s node does not provide them', async () => {
  await environment.sell(weather)
  const visitor = await environment.visit('/weather')
  await visitor.page.route(/x402-page=balances/, (route) => route.fulfill({ status: 503, body: 'no' }))
  await connect(visitor, environment.funded)
  assert.equal(await visitor.page.locator('.balance').innerText(), 'Balance unknown')
  await visitor.page.getByRole('button', { name: 'Pay $0.01' }).click()
  assert.equal(await paidText(visitor), 'sunny')
})

test('reports a page from before an update, and a reload repairs it', async () => {
  await environment.sell(weather)
  const visitor = await environment.visit('/weather')
  const { page } = visitor
  // The seller's response for a file that it no longer has.
  await page.route(/x402-page=wallet-/, (route) =>
    route.continue({ url: route.request().url().replace('wallet-', 'old-') }),
  )
  await daemonButton(visitor).click()
  await waitForStatus(visitor, /This page is out of date.*Nothing was signed/s)
  await takeScreenshot(page, 'loading-outdated')
  assert.deepEqual(await axeIssues(page), [])
  await page.unroute(/x402-page=wallet-/)
  await page.getByRole('button', { name: 'Reload the page' }).click()
  await page.getByText('This page is out of date').waitFor({ state: 'detached' })
  await pay(visitor, environment.funded)
  assert.equal(await paidText(visitor), 'sunny')
})

test('a page whose script does not load offers a reload, and shows nothing before', async () => {
  await environment.sell(weather)
  const isScript = /x402-page=paywall-.*\.js/
  const visitor = await environment.visit('/weather', {
    before: async (page) => {
      await page.addInitScript(observeShifts)
      await page.route(isScript, (route) => route.abort('failed'))
    },
  })
  const { page } = visitor
  const reload = page.getByRole('link', { name: 'reload the page' })
  await daemonButton(visitor).and(page.locator(':disabled')).waitFor()
  assert.equal(await reload.isVisible(), false)
  await page.evaluate('for (const animation of document.getAnimations()) animation.finish()')
  await reload.waitFor()
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
  assert.deepEqual(await page.evaluate('globalThis.moved'), [], 'nothing moves when the notice appears')
  await takeScreenshot(page, 'loading-late')
  assert.deepEqual(await axeIssues(page), [])
  await page.unroute(isScript)
  await reload.click()
  await pay(visitor, environment.funded)
  assert.equal(await paidText(visitor), 'sunny')
})

test('a page from before an update resends a signed payment without loading anything', async () => {
  await environment.sell(weather)
  const visitor = await environment.visit('/weather')
  const { page } = visitor
  await page.route('**/weather', (route) =>
    route.request().headers()['payment-signature'] === undefined ? route.continue() : route.abort('failed'),
  )
  await pay(visitor, environment.funded)
  await waitForStatus(visitor, /No response from the seller/)
  await page.unroute('**/weather')
  await page.route(/x402-page=/, (route) => route.abort('failed'))
  await page.getByRole('button', { name: 'Send the payment again' }).click()
  assert.equal(await paidText(visitor), 'sunny')
})

test('loads a wallet’s code again after a failed connection', async () => {
  await environment.sell(weather)
  const visitor = await environment.visit('/weather')
  const { page } = visitor
  await page.route(/x402-page=wallet-/, (route) => route.abort('failed'))
  await daemonButton(visitor).click()
  await waitForStatus(visitor, /The code for Local key daemon could not be loaded.*Nothing was signed/s)
  await page.unroute(/x402-page=wallet-/)
  await pay(visitor, environment.funded)
  assert.equal(await paidText(visitor), 'sunny')
  // Some browsers remember that a URL failed.
  const loads = visitor.requests.filter((url) => url.includes('x402-page=wallet-kmd'))
  assert.ok(loads.at(-1)!.endsWith('&retry=1'), loads.join(' '))
})

test('does not ask for a password after the wallet is cancelled', async () => {
  await environment.sell(weather)
  const visitor = await environment.visit('/weather')
  const { page } = visitor
  let proceed = (): void => {}
  const held = new Promise<void>((resolve) => {
    proceed = resolve
  })
  await page.route(/x402-page=wallet-/, async (route) => {
    await held
    await route.continue()
  })
  await daemonButton(visitor).click()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await waitForStatus(visitor, /You declined/)
  const loaded = page.waitForResponse(/x402-page=wallet-/)
  proceed()
  await (await loaded).finished()
  await page.evaluate('new Promise((resolve) => setTimeout(resolve, 0))')
  assert.equal(await page.getByRole('dialog').count(), 0)
  await pay(visitor, environment.funded)
  assert.equal(await paidText(visitor), 'sunny')
})

test('copies the terminal payment command, and shows help for the selected offer only', async () => {
  const dollars = { network: environment.market.chain.caip2, price: '$0.01', payTo: environment.market.seller }
  const algos = { ...dollars, price: { asset: '0', amount: '250000' } }
  const routes = { 'GET /weather': { accepts: [dollars, algos], description: 'The weather, now' } }
  await environment.sell(weather, { routes, paywall: { kmd: environment.kmd } })
  const visitor = await environment.visit('/weather?city=New%20York&unit=F')
  const { page } = visitor
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByLabel('0.25 ALGO on a local network').check()
  const help = page.locator('[data-help]:visible')
  assert.equal(await help.count(), 1)
  assert.equal(await help.getAttribute('data-help'), '1')
  await page.getByText('No wallet yet?').and(page.locator(':visible')).click()
  await help.getByRole('button', { name: 'Copy' }).click()
  await help.getByRole('button', { name: 'Copied' }).waitFor()
  const command = `latchkey pay "${environment.url}/weather?city=New%20York&unit=F"`
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), command)
  await connect(visitor)
  assert.equal(await help.count(), 0)
})
