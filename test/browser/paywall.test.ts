/** A person pays for a page: in a real browser, with a key that stays in the daemon, on a ledger. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { paymentGate } from '@latchkey/x402/express'
import type { Route } from '@latchkey/x402/server'
import express from 'express'
import { altered } from '../x402/support/market.js'
import { takeScreenshot } from './chromium.test.helper.js'
import { connect, type Goods, gateFor, openTown, pay, says, spent, type Visit, visit } from './paywall.test.helper.js'

const town = await openTown({ after })
const cent = 10_000n
const report = { report: { weather: 'sunny', temperature: 70 } }
const json = { type: 'application/json', body: JSON.stringify(report) }
const weather: Goods = { '/weather': json }
const looks = [
  { scheme: 'light', width: 1280 },
  { scheme: 'dark', width: 1280 },
  { scheme: 'light', width: 360 },
  { scheme: 'dark', width: 360 },
] as const

const shown = ({ page }: Visit): Promise<string> => page.locator('[data-answer] pre').innerText()

/** Neither the policy nor the browser found anything, and nobody else was asked. */
function wasQuiet({ faults }: Visit): void {
  assert.deepEqual(faults, [])
}

for (const { scheme, width } of looks) {
  test(`opens a paid page, sees the price, pays and reads the report (${scheme}, ${width} px)`, async () => {
    const look = `${scheme}-${width}`
    const { served } = await town.sell(weather)
    const before = await spent(town)
    const person = await town.visit('/weather?city=Rome', { scheme, width })
    const { page } = person
    assert.equal(await page.locator('h1').innerText(), 'The weather, now')
    assert.equal(await page.locator('[data-price]').innerText(), '$0.01')
    assert.match(await page.locator('main').innerText(), /0\.01 USDC on a local network\s+Test money/)
    await page.getByRole('button', { name: 'Local key daemon' }).waitFor()
    await takeScreenshot(person.page, `1-price-${look}`)
    await page.getByRole('button', { name: 'Local key daemon' }).click()
    await page.getByLabel('Password', { exact: true }).waitFor()
    await takeScreenshot(person.page, `2-password-${look}`)
    await page.keyboard.press('Escape')
    await connect(person, town.rich)
    await takeScreenshot(person.page, `3-account-${look}`)
    await page.getByRole('button', { name: 'Pay $0.01' }).click()
    assert.deepEqual(JSON.parse(await shown(person)), report)
    await takeScreenshot(person.page, `4-paid-${look}`)
    await says(person, /Paid\. Here it is\./)
    const transaction = await page.locator('[data-receipt] dd').last().innerText()
    assert.equal((await town.market.chain.algod.transaction(transaction)).type, 'confirmed')
    assert.equal((await spent(town)) - before, cent)
    assert.deepEqual(served, ['/weather'])
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'))
    wasQuiet(person)
  })
}

test('works by the keyboard alone', async () => {
  await town.sell(weather)
  const person = await town.visit('/weather')
  const { page } = person
  await page.getByRole('button', { name: 'Local key daemon' }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByLabel('Password', { exact: true }).waitFor()
  await page.keyboard.type('open sesame')
  await page.keyboard.press('Enter')
  const account = page.getByLabel('From Local key daemon')
  await account.waitFor()
  await account.selectOption(town.rich)
  await page.getByRole('button', { name: 'Pay $0.01' }).focus()
  await page.keyboard.press('Enter')
  assert.deepEqual(JSON.parse(await shown(person)), report)
  wasQuiet(person)
})

test('a wrong password is told as one, and the right one works after it', async () => {
  await town.sell(weather)
  const person = await town.visit('/weather')
  await connect(person, undefined, 'wrong')
  await says(person, /The password is wrong.*Nothing was signed/s)
  await takeScreenshot(person.page, '5-wrong-password')
  await pay(person, town.rich)
  assert.deepEqual(JSON.parse(await shown(person)), report)
  wasQuiet(person)
})

test('who closes the dialog has declined, and nothing is asked of the ledger', async () => {
  await town.sell(weather)
  const before = await spent(town)
  const person = await town.visit('/weather')
  await person.page.getByRole('button', { name: 'Local key daemon' }).click()
  await person.page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await says(person, /You declined.*nothing was paid/s)
  await takeScreenshot(person.page, '6-declined')
  assert.equal(await spent(town), before)
  wasQuiet(person)
})

test('an account without money, or that cannot hold it, is told what it lacks', async () => {
  const { served } = await town.sell(weather)
  const person = await town.visit('/weather')
  await pay(person, town.poor)
  await says(person, /Not enough money.*Nothing was paid.*has 0 USDC and needs 0\.01/s)
  await takeScreenshot(person.page, '7-no-money')
  await person.page.getByLabel('From Local key daemon').selectOption(town.stranger)
  await person.page.getByRole('button', { name: 'Pay $0.01' }).click()
  await says(person, /cannot hold the asset yet.*not opted in/s)
  assert.deepEqual(served, [])
  await person.page.getByLabel('From Local key daemon').selectOption(town.rich)
  await person.page.getByRole('button', { name: 'Pay $0.01' }).click()
  assert.deepEqual(JSON.parse(await shown(person)), report)
  wasQuiet(person)
})

/** Takes away what the page sends with a payment, or what it gets for it. */
async function lose({ page }: Visit, what: 'request' | 'answer'): Promise<() => Promise<void>> {
  await page.route('**/weather', async (route) => {
    if (route.request().headers()['payment-signature'] === undefined) return route.continue()
    if (what === 'answer') await route.fetch()
    return route.abort('failed')
  })
  return () => page.unroute('**/weather')
}

test('a payment whose answer was lost is shown again, over a reload too, and paid once', async () => {
  const { served } = await town.sell(weather)
  const before = await spent(town)
  const person = await town.visit('/weather')
  const find = await lose(person, 'request')
  await pay(person, town.rich)
  await says(person, /The answer did not come.*kept/s)
  await takeScreenshot(person.page, '8-lost')
  await find()
  await person.page.reload()
  await says(person, /A payment for this page is open.*You signed a payment of \$0\.01/s)
  await takeScreenshot(person.page, '9-open')
  await person.page.getByRole('button', { name: 'Show the payment again' }).click()
  assert.deepEqual(JSON.parse(await shown(person)), report)
  assert.equal((await spent(town)) - before, cent)
  assert.deepEqual(served, ['/weather'])
  await person.page.reload()
  await person.page.getByRole('button', { name: 'Local key daemon' }).waitFor()
  wasQuiet(person)
})

test('what a proxy in between says decides nothing: the payment is kept, and shown again', async () => {
  await town.sell(weather)
  const before = await spent(town)
  const person = await town.visit('/weather')
  const { page } = person
  await page.route('**/weather', (route) => {
    const isPaid = route.request().headers()['payment-signature'] !== undefined
    return isPaid ? route.fulfill({ status: 502, body: 'bad gateway' }) : route.continue()
  })
  await pay(person, town.rich)
  await says(person, /kept/)
  assert.equal(await spent(town), before)
  await page.unroute('**/weather')
  await page.getByRole('button', { name: 'Show the payment again' }).click()
  assert.deepEqual(JSON.parse(await shown(person)), report)
  assert.equal((await spent(town)) - before, cent)
  wasQuiet(person)
})

test('one that was taken and answered elsewhere is told so; another is made only if the person says so', async () => {
  await town.sell(weather)
  const before = await spent(town)
  const person = await town.visit('/weather')
  const { page } = person
  const find = await lose(person, 'answer')
  await pay(person, town.rich)
  await says(person, /The answer did not come/)
  await find()
  await page.getByRole('button', { name: 'Pay anew instead' }).click()
  await page.getByRole('dialog').filter({ hasText: 'you may pay twice' }).waitFor()
  await takeScreenshot(person.page, '10-twice')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Show the payment again' }).click()
  await says(person, /This payment was taken already/)
  await takeScreenshot(person.page, '11-taken')
  assert.equal((await spent(town)) - before, cent)
  wasQuiet(person)
})

test('a seller that fails charges nothing, and takes the same payment when it is well again', async () => {
  const broken = { '/weather': { type: 'text/plain', body: 'out of order', status: 500 } }
  await town.sell(broken)
  const before = await spent(town)
  const person = await town.visit('/weather')
  await pay(person, town.rich)
  await says(person, /could not answer \(status 500\).*Nothing was charged/s)
  await takeScreenshot(person.page, '12-seller-fails')
  assert.equal(await spent(town), before)
  await town.sell(weather)
  await person.page.getByRole('button', { name: 'Show the payment again' }).click()
  assert.deepEqual(JSON.parse(await shown(person)), report)
  assert.equal((await spent(town)) - before, cent)
  wasQuiet(person)
})

test('waits for a ledger that has not decided, with the same payment', async () => {
  let waits = 2
  const { local } = town.market
  const facilitators = altered(local, {
    settle: async (payload, requirements) =>
      waits-- > 0
        ? { success: false, errorReason: 'settlement_pending', transaction: 'x', network: requirements.network }
        : local.settle(payload, requirements),
  })
  await town.sell(weather, { facilitators })
  const before = await spent(town)
  const person = await town.visit('/weather')
  await pay(person, town.rich)
  await person.page.locator('.wait', { hasText: 'Not settled yet' }).waitFor()
  assert.deepEqual(JSON.parse(await shown(person)), report)
  assert.equal((await spent(town)) - before, cent)
  wasQuiet(person)
})

test('who paid before the seller failed is told so, with the transaction', async () => {
  const accepts = {
    network: town.market.chain.caip2,
    price: '$0.01',
    payTo: town.market.seller,
    paymentFlow: 'upfront',
  }
  const routes = { 'GET /weather': { accepts } } as { [key: string]: Route }
  const broken = { '/weather': { type: 'text/plain', body: 'out of order', status: 500 } }
  await town.sell(broken, { routes, paywall: { kmd: town.kmd } })
  const before = await spent(town)
  const person = await town.visit('/weather')
  await pay(person, town.rich)
  await says(person, /Paid, and the seller answered with status 500/)
  assert.equal(await shown(person), 'out of order')
  assert.equal((await spent(town)) - before, cent)
  wasQuiet(person)
})

test('tells what it is and what it costs where no script runs', async () => {
  await town.sell(weather)
  const context = await town.browser.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  await page.goto(`${town.url}/weather`)
  const text = await page.locator('main').innerText()
  for (const words of ['The weather, now', '$0.01', '0.01 USDC', 'Test money', 'needs JavaScript']) {
    assert.ok(text.includes(words), words)
  }
  await context.close()
})

test('a price that has changed since it was shown is not paid', async () => {
  await town.sell(weather)
  const before = await spent(town)
  const person = await town.visit('/weather')
  await connect(person, town.rich)
  const accepts = { network: town.market.chain.caip2, price: '$0.02', payTo: town.market.seller }
  await town.sell(weather, { routes: { 'GET /weather': { accepts } }, paywall: { kmd: town.kmd } })
  await person.page.getByRole('button', { name: 'Pay $0.01' }).click()
  await says(person, /The price has changed.*Nothing was signed/s)
  assert.equal(await spent(town), before)
  wasQuiet(person)
})

test('a daemon that does not let the page in is named, with what to set', async () => {
  await town.sell(weather)
  const url = town.url.replace('127.0.0.1', 'localhost')
  const person = await visit(town.browser, `${url}/weather`, { kmdUrl: town.kmd.url })
  await connect(person)
  await says(person, /key daemon does not answer.*allowed_origins.*http:\/\/localhost/s)
  assert.ok(person.faults.every((fault) => /CORS policy/.test(fault)))
})

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const kinds: { [path: string]: { goods: Goods[string]; check: (person: Visit) => Promise<void> } } = {
  '/text': {
    goods: { type: 'text/plain; charset=utf-8', body: 'sunny <b>& warm' },
    check: async (person) => assert.equal(await shown(person), 'sunny <b>& warm'),
  },
  '/numbers': {
    goods: { type: 'application/json', body: '{"id":12345678901234567890}' },
    check: async (person) => assert.equal(await shown(person), '{"id":12345678901234567890}'),
  },
  '/picture': {
    goods: { type: 'image/png', body: pixel },
    check: async ({ page }) => {
      await page.locator('[data-answer] img').waitFor()
      const width = await page
        .locator('[data-answer] img')
        .evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth)
      assert.equal(width, 1)
    },
  },
  '/page': {
    goods: {
      type: 'text/html',
      body: '<h1 style="color:green">Sunny</h1><script>parent.document.title="taken"</script>',
    },
    check: async ({ page }) => {
      await page.frameLocator('[data-answer] iframe').getByRole('heading', { name: 'Sunny' }).waitFor()
      assert.match(await page.title(), /The weather, now/)
    },
  },
  '/file': {
    goods: { type: 'application/zip', body: Buffer.from('PK') },
    check: async ({ page }) => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Save' }).click(),
      ])
      assert.equal(download.suggestedFilename(), 'file.zip')
    },
  },
}
for (const [path, { goods, check }] of Object.entries(kinds)) {
  test(`shows what it paid for: ${path.slice(1)}`, async () => {
    await town.sell({ [path]: goods })
    const person = await town.visit(path)
    await pay(person, town.rich)
    await check(person)
    await takeScreenshot(person.page, `13-${path.slice(1)}`)
    if (path !== '/page') wasQuiet(person)
  })
}

test('shows every way to pay and follows the choice, in the seller’s own colours', async () => {
  const dollars = { network: town.market.chain.caip2, price: '$0.01', payTo: town.market.seller }
  const algos = { ...dollars, price: { asset: '0', amount: '250000' } }
  const routes = { 'GET /weather': { accepts: [dollars, algos], description: 'The weather, now' } }
  const logo =
    'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 8 8%22%3E%3Ccircle cx=%224%22 cy=%224%22 r=%224%22 fill=%22%230a7%22/%3E%3C/svg%3E'
  const paywall = { kmd: town.kmd, name: 'Weather Inc', logo, colour: '#0a7a55', footer: 'Weather Inc, Rome' }
  await town.sell(weather, { routes, paywall })
  const person = await town.visit('/weather')
  const { page } = person
  await page.getByLabel('0.25 ALGO on a local network').check()
  assert.equal(await page.locator('[data-price]').innerText(), '0.25 ALGO')
  await takeScreenshot(person.page, '14-choice')
  await connect(person, town.rich)
  const before = await town.market.chain.algod.account(town.market.seller)
  await page.getByRole('button', { name: 'Pay 0.25 ALGO' }).click()
  assert.deepEqual(JSON.parse(await shown(person)), report)
  const { microAlgos } = await town.market.chain.algod.account(town.market.seller)
  assert.equal(microAlgos - before.microAlgos, 250_000n)
  wasQuiet(person)
})

test('works the same in Express, under a prefix', async () => {
  const gate = await gateFor(town.market, { '/shop/weather': json }, town.kmd)
  const router = express.Router()
  router.use(paymentGate(gate))
  router.get('/weather', (_, response) => void response.json(report))
  town.annex.server.on('request', express().use('/shop', router))
  const before = await spent(town)
  const person = await visit(town.browser, `${town.annex.url}/shop/weather`, { kmdUrl: town.kmd.url })
  await pay(person, town.rich)
  assert.deepEqual(JSON.parse(await shown(person)), report)
  assert.equal((await spent(town)) - before, cent)
  const asked = person.requests.filter((url) => !url.startsWith(town.kmd.url) && !url.startsWith('data:'))
  assert.ok(asked.every((url) => url.startsWith(`${town.annex.url}/shop/weather`)))
  wasQuiet(person)
})
