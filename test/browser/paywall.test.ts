/** Pays for a page in Chromium with a key in the daemon, on a devnet. */
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { paymentGate } from '@latchkey/x402/express'
import { MemoryClaims, type Route } from '@latchkey/x402/server'
import express from 'express'
import { altered } from '../x402/support/market.test.helper.js'
import { axeIssues } from './axe.test.helper.js'
import { type Page, takeScreenshot, takeScreenshots } from './chromium.test.helper.js'
import {
  connect,
  gateFor,
  type Products,
  pay,
  received,
  startEnvironment,
  type Visit,
  visit,
  waitForStatus,
} from './paywall.test.helper.js'

const environment = await startEnvironment({ after, afterEach })
const cent = 10_000n
const report = { report: { weather: 'sunny', temperature: 70 } }
const json = { type: 'application/json', body: JSON.stringify(report) }
const weather: Products = { '/weather': json }
const screens = [
  { scheme: 'light', width: 1280 },
  { scheme: 'dark', width: 1280 },
  { scheme: 'light', width: 320 },
  { scheme: 'dark', width: 320 },
] as const

const paidText = ({ page }: Visit): Promise<string> => page.locator('[data-content] pre').innerText()

/** No browser errors, no policy violations, no requests to other origins. */
function assertNoIssues({ issues }: Visit): void {
  assert.deepEqual(issues, [])
}

/** Nothing scrolls sideways. */
async function assertFits({ page }: Visit): Promise<void> {
  assert.ok(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'))
}

for (const { scheme, width } of screens) {
  test(`shows the price, takes the payment and shows the content (${scheme}, ${width} px)`, async () => {
    // The computer in light colours stands for the usual sizes.
    const photograph = (page: Page, step: string): Promise<void> =>
      width === 1280 && scheme === 'light'
        ? takeScreenshots(page, step)
        : takeScreenshot(page, `${step}-${scheme}-${width}`)
    const { served } = await environment.sell(weather)
    const before = await received(environment)
    const visitor = await environment.visit('/weather?city=Rome', { scheme, width })
    const { page } = visitor
    assert.equal(await page.locator('h1').innerText(), 'The weather, now')
    assert.equal(await page.locator('[data-price]').innerText(), '$0.01')
    assert.match(await page.locator('main').innerText(), /0\.01 USDC on a local network\s+Test money/)
    await page.getByRole('button', { name: 'Local key daemon' }).waitFor()
    await photograph(page, '1-price')
    await assertFits(visitor)
    await page.getByRole('button', { name: 'Local key daemon' }).click()
    await page.getByLabel('Password', { exact: true }).waitFor()
    await photograph(page, '2-password')
    await assertFits(visitor)
    await page.keyboard.press('Escape')
    await connect(visitor, environment.funded)
    await photograph(page, '3-account')
    await assertFits(visitor)
    await page.getByRole('button', { name: 'Pay $0.01' }).click()
    assert.deepEqual(JSON.parse(await paidText(visitor)), report)
    await photograph(page, '4-paid')
    await waitForStatus(visitor, /Payment complete/)
    const transaction = await page.locator('[data-receipt] dd').last().innerText()
    assert.equal((await environment.market.chain.algod.transaction(transaction)).type, 'confirmed')
    assert.equal((await received(environment)) - before, cent)
    assert.deepEqual(served, ['/weather'])
    await assertFits(visitor)
    assert.deepEqual(await axeIssues(page), [])
    assertNoIssues(visitor)
  })
}

test('works with only the keyboard', async () => {
  await environment.sell(weather)
  const visitor = await environment.visit('/weather')
  const { page } = visitor
  await page.getByRole('button', { name: 'Local key daemon' }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByLabel('Password', { exact: true }).waitFor()
  await page.keyboard.type('open sesame')
  await page.keyboard.press('Enter')
  const account = page.getByLabel('From your local key daemon')
  await account.waitFor()
  await account.selectOption(environment.funded)
  await page.getByRole('button', { name: 'Pay $0.01' }).focus()
  await page.keyboard.press('Enter')
  assert.deepEqual(JSON.parse(await paidText(visitor)), report)
  assertNoIssues(visitor)
})

test('reports a wrong password, then accepts the right one', async () => {
  await environment.sell(weather)
  const visitor = await environment.visit('/weather')
  await connect(visitor, undefined, 'wrong')
  await waitForStatus(visitor, /Wrong password.*Nothing was signed/s)
  await takeScreenshots(visitor.page, '5-wrong-password')
  await pay(visitor, environment.funded)
  assert.deepEqual(JSON.parse(await paidText(visitor)), report)
  assertNoIssues(visitor)
})

test('treats a closed dialog as declined, and pays nothing', async () => {
  await environment.sell(weather)
  const before = await received(environment)
  const visitor = await environment.visit('/weather')
  await visitor.page.getByRole('button', { name: 'Local key daemon' }).click()
  await visitor.page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await waitForStatus(visitor, /You declined.*nothing was paid/s)
  await takeScreenshots(visitor.page, '6-declined')
  assert.equal(await received(environment), before)
  assertNoIssues(visitor)
})

test('reports an insufficient balance and a missing opt-in', async () => {
  const { served } = await environment.sell(weather)
  const visitor = await environment.visit('/weather')
  await pay(visitor, environment.empty)
  await waitForStatus(visitor, /Insufficient balance.*Nothing was paid.*has 0 USDC and needs 0\.01/s)
  await takeScreenshots(visitor.page, '7-no-money')
  // A command is copied, so its address is not shortened.
  await waitForStatus(visitor, new RegExp(`latchkey fund ${environment.empty} '0\\.01 #31566704'\\.`))
  await assertFits(visitor)
  await visitor.page.getByLabel('From your local key daemon').selectOption(environment.notOptedIn)
  await visitor.page.getByRole('button', { name: 'Pay $0.01' }).click()
  await waitForStatus(visitor, /has not opted in to the asset/s)
  assert.deepEqual(served, [])
  await visitor.page.getByLabel('From your local key daemon').selectOption(environment.funded)
  await visitor.page.getByRole('button', { name: 'Pay $0.01' }).click()
  assert.deepEqual(JSON.parse(await paidText(visitor)), report)
  assertNoIssues(visitor)
})

/** Blocks requests with a payment, or only their responses. Returns a function that ends the block. */
async function block({ page }: Visit, what: 'request' | 'response'): Promise<() => Promise<void>> {
  await page.route('**/weather', async (route) => {
    if (route.request().headers()['payment-signature'] === undefined) return route.continue()
    if (what === 'response') await route.fetch()
    return route.abort('failed')
  })
  return () => page.unroute('**/weather')
}

test('resends a payment without a response, also after a reload, and pays once', async () => {
  const { served } = await environment.sell(weather)
  const before = await received(environment)
  const visitor = await environment.visit('/weather')
  const unblock = await block(visitor, 'request')
  await pay(visitor, environment.funded)
  await waitForStatus(visitor, /No response from the seller.*saved/s)
  await takeScreenshots(visitor.page, '8-no-response')
  await unblock()
  await visitor.page.reload()
  await waitForStatus(visitor, /A payment for this page is open.*You signed a payment of \$0\.01/s)
  await takeScreenshots(visitor.page, '9-open')
  await visitor.page.getByRole('button', { name: 'Send the payment again' }).click()
  assert.deepEqual(JSON.parse(await paidText(visitor)), report)
  assert.equal((await received(environment)) - before, cent)
  assert.deepEqual(served, ['/weather'])
  await visitor.page.reload()
  await visitor.page.getByRole('button', { name: 'Local key daemon' }).waitFor()
  assertNoIssues(visitor)
})

for (const status of [502, 524]) {
  test(`keeps the payment after an error ${status} of a proxy, and resends it`, async () => {
    await environment.sell(weather)
    const before = await received(environment)
    const visitor = await environment.visit('/weather')
    const { page } = visitor
    await page.route('**/weather', (route) => {
      const isPaid = route.request().headers()['payment-signature'] !== undefined
      return isPaid ? route.fulfill({ status, body: 'bad gateway' }) : route.continue()
    })
    await pay(visitor, environment.funded)
    await waitForStatus(visitor, /saved/)
    assert.equal(await received(environment), before)
    await page.unroute('**/weather')
    await page.getByRole('button', { name: 'Send the payment again' }).click()
    assert.deepEqual(JSON.parse(await paidText(visitor)), report)
    assert.equal((await received(environment)) - before, cent)
    assertNoIssues(visitor)
  })
}

test('shows the missed response for the same payment', async () => {
  await environment.sell(weather)
  const before = await received(environment)
  const visitor = await environment.visit('/weather')
  const unblock = await block(visitor, 'response')
  await pay(visitor, environment.funded)
  await waitForStatus(visitor, /No response from the seller/)
  await unblock()
  await visitor.page.getByRole('button', { name: 'Send the payment again' }).click()
  assert.deepEqual(JSON.parse(await paidText(visitor)), report)
  assert.equal((await received(environment)) - before, cent)
  assertNoIssues(visitor)
})

test('reports an already used payment, and makes another only after a confirmation', async () => {
  await environment.sell(weather)
  const before = await received(environment)
  const visitor = await environment.visit('/weather')
  const { page } = visitor
  const unblock = await block(visitor, 'response')
  await pay(visitor, environment.funded)
  await waitForStatus(visitor, /No response from the seller/)
  await unblock()
  await page.getByRole('button', { name: 'Make a new payment' }).click()
  await page.getByRole('dialog').filter({ hasText: 'you may pay twice' }).waitFor()
  await takeScreenshots(visitor.page, '10-twice')
  await page.getByRole('button', { name: 'Cancel' }).click()
  // Simulates a seller that has lost its claims.
  await environment.sell(weather)
  await page.getByRole('button', { name: 'Send the payment again' }).click()
  await waitForStatus(visitor, /This payment was already used/)
  await takeScreenshots(visitor.page, '11-already-used')
  assert.equal((await received(environment)) - before, cent)
  assertNoIssues(visitor)
})

test('pays nothing if the seller fails, and retries with the same payment', async () => {
  const broken = { '/weather': { type: 'text/plain', body: 'out of order', status: 500 } }
  const claims = new MemoryClaims()
  await environment.sell(broken, { claims })
  const before = await received(environment)
  const visitor = await environment.visit('/weather')
  await pay(visitor, environment.funded)
  await waitForStatus(visitor, /The seller failed with status 500.*did not report a charge/s)
  await takeScreenshots(visitor.page, '12-seller-fails')
  assert.equal(await received(environment), before)
  await environment.sell(weather, { claims })
  await visitor.page.getByRole('button', { name: 'Send the payment again' }).click()
  assert.deepEqual(JSON.parse(await paidText(visitor)), report)
  assert.equal((await received(environment)) - before, cent)
  assertNoIssues(visitor)
})

test('waits with the same payment while the settlement is pending', async () => {
  let waits = 2
  const { local } = environment.market
  const facilitators = altered(local, {
    settle: async (payload, requirements, ...rest) =>
      waits-- > 0
        ? { success: false, errorReason: 'settlement_pending', transaction: 'x', network: requirements.network }
        : local.settle(payload, requirements, ...rest),
  })
  await environment.sell(weather, { facilitators })
  const before = await received(environment)
  const visitor = await environment.visit('/weather')
  // Waits from the start, because the text is shown for only two seconds.
  const pending = visitor.page.locator('.wait', { hasText: 'Not settled yet' }).waitFor()
  await pay(visitor, environment.funded)
  await pending
  assert.deepEqual(JSON.parse(await paidText(visitor)), report)
  assert.equal((await received(environment)) - before, cent)
  assertNoIssues(visitor)
})

test('shows the transaction if the seller fails after the settlement, and gets the content for the same payment', async () => {
  const price = { network: environment.market.chain.caip2, price: '$0.01', payTo: environment.market.seller }
  const failing = { '/weather': { type: 'text/plain', body: 'out of order', status: 500 } }
  for (const route of [
    { accepts: { ...price, paymentFlow: 'upfront' } },
    { accepts: price, settleFirstAbove: '$0.001' },
  ]) {
    const options = {
      routes: { 'GET /weather': route as Route },
      paywall: { kmd: environment.kmd },
      claims: new MemoryClaims(),
    }
    await environment.sell(failing, options)
    const before = await received(environment)
    const visitor = await environment.visit('/weather')
    await pay(visitor, environment.funded)
    await waitForStatus(visitor, /Paid, but the seller responded with status 500.*costs nothing extra/s)
    assert.equal(await paidText(visitor), 'out of order')
    assert.equal((await received(environment)) - before, cent)
    // The transaction is still there after a reload.
    await visitor.page.reload()
    await waitForStatus(visitor, /A payment for this page is open/)
    await environment.sell(weather, options)
    await visitor.page.getByRole('button', { name: 'Send the payment again' }).click()
    assert.deepEqual(JSON.parse(await paidText(visitor)), report)
    assert.equal((await received(environment)) - before, cent)
    assertNoIssues(visitor)
  }
})

test('shows the price without JavaScript', async () => {
  await environment.sell(weather)
  const context = await environment.browser.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  await page.goto(`${environment.url}/weather`)
  const text = await page.locator('main').innerText()
  for (const expected of ['The weather, now', '$0.01', '0.01 USDC', 'Test money', 'needs JavaScript']) {
    assert.ok(text.includes(expected), expected)
  }
  await context.close()
})

test('does not pay a price that has changed', async () => {
  await environment.sell(weather)
  const before = await received(environment)
  const visitor = await environment.visit('/weather')
  await connect(visitor, environment.funded)
  const accepts = { network: environment.market.chain.caip2, price: '$0.02', payTo: environment.market.seller }
  await environment.sell(weather, { routes: { 'GET /weather': { accepts } }, paywall: { kmd: environment.kmd } })
  await visitor.page.getByRole('button', { name: 'Pay $0.01' }).click()
  await waitForStatus(visitor, /The price has changed.*Nothing was signed/s)
  assert.equal(await received(environment), before)
  assertNoIssues(visitor)
})

test('names the setting of a daemon that rejects the origin', async () => {
  await environment.sell(weather)
  const url = environment.url.replace('127.0.0.1', 'localhost')
  const visitor = await visit(environment.browser, `${url}/weather`, { kmdUrl: environment.kmd.url })
  await connect(visitor)
  await waitForStatus(visitor, /key daemon does not respond.*allowed_origins.*http:\/\/localhost/s)
  assert.ok(visitor.issues.every((fault) => /CORS policy/.test(fault)))
})

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const kinds: { [path: string]: { product: Products[string]; check: (visitor: Visit) => Promise<void> } } = {
  '/text': {
    product: { type: 'text/plain; charset=utf-8', body: 'sunny <b>& warm' },
    check: async (visitor) => assert.equal(await paidText(visitor), 'sunny <b>& warm'),
  },
  '/numbers': {
    product: { type: 'application/json', body: '{"id":12345678901234567890}' },
    check: async (visitor) => assert.equal(await paidText(visitor), '{"id":12345678901234567890}'),
  },
  '/picture': {
    product: { type: 'image/png', body: pixel },
    check: async ({ page }) => {
      await page.locator('[data-content] img').waitFor()
      const width = await page
        .locator('[data-content] img')
        .evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth)
      assert.equal(width, 1)
    },
  },
  '/page': {
    product: {
      type: 'text/html',
      body: '<h1 style="color:green">Sunny</h1><script>parent.document.title="taken"</script>',
    },
    check: async ({ page }) => {
      await page.frameLocator('[data-content] iframe').getByRole('heading', { name: 'Sunny' }).waitFor()
      assert.match(await page.title(), /The weather, now/)
    },
  },
  '/file': {
    product: { type: 'application/zip', body: Buffer.from('PK') },
    check: async ({ page }) => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Save' }).click(),
      ])
      assert.equal(download.suggestedFilename(), 'file.zip')
    },
  },
}
for (const [path, { product, check }] of Object.entries(kinds)) {
  test(`shows paid content: ${path.slice(1)}`, async () => {
    await environment.sell({ [path]: product })
    const visitor = await environment.visit(path)
    await pay(visitor, environment.funded)
    await check(visitor)
    await takeScreenshots(visitor.page, `13-${path.slice(1)}`)
    if (path !== '/page') assertNoIssues(visitor)
  })
}

test('pays with the selected offer, with the seller’s name, logo and colour', async () => {
  const dollars = { network: environment.market.chain.caip2, price: '$0.01', payTo: environment.market.seller }
  const algos = { ...dollars, price: { asset: '0', amount: '250000' } }
  const routes = { 'GET /weather': { accepts: [dollars, algos], description: 'The weather, now' } }
  const logo =
    'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 8 8%22%3E%3Ccircle cx=%224%22 cy=%224%22 r=%224%22 fill=%22%230a7%22/%3E%3C/svg%3E'
  const paywall = { kmd: environment.kmd, name: 'Weather Inc', logo, colour: '#0a7a55', footer: 'Weather Inc, Rome' }
  await environment.sell(weather, { routes, paywall })
  const visitor = await environment.visit('/weather')
  const { page } = visitor
  await page.getByLabel('0.25 ALGO on a local network').check()
  assert.equal(await page.locator('[data-price]').innerText(), '0.25 ALGO')
  await takeScreenshots(visitor.page, '14-choice')
  await connect(visitor, environment.funded)
  const before = await environment.market.chain.algod.account(environment.market.seller)
  await page.getByRole('button', { name: 'Pay 0.25 ALGO' }).click()
  assert.deepEqual(JSON.parse(await paidText(visitor)), report)
  const { microAlgos } = await environment.market.chain.algod.account(environment.market.seller)
  assert.equal(microAlgos - before.microAlgos, 250_000n)
  assertNoIssues(visitor)
})

test('works in Express under a path prefix', async () => {
  const gate = await gateFor(environment.market, { '/shop/weather': json }, environment.kmd)
  const router = express.Router()
  router.use(paymentGate(gate))
  router.get('/weather', (_, response) => void response.json(report))
  environment.second.server.on('request', express().use('/shop', router))
  const before = await received(environment)
  const visitor = await visit(environment.browser, `${environment.second.url}/shop/weather`, {
    kmdUrl: environment.kmd.url,
  })
  await pay(visitor, environment.funded)
  assert.deepEqual(JSON.parse(await paidText(visitor)), report)
  assert.equal((await received(environment)) - before, cent)
  const sent = visitor.requests.filter((url) => !url.startsWith(environment.kmd.url) && !url.startsWith('data:'))
  assert.ok(sent.every((url) => url.startsWith(`${environment.second.url}/shop/weather`)))
  assertNoIssues(visitor)
})
