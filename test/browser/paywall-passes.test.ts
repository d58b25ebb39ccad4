/** Pays once in Chromium and opens the page again, with a pass in a cookie that scripts cannot read. */
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import type { GateOptions } from '@latchkey/x402/server'
import { takeScreenshot } from './chromium.test.helper.js'
import { type Products, pay, received, startEnvironment, waitForStatus } from './paywall.test.helper.js'

const environment = await startEnvironment({ after, afterEach })
const cent = 10_000n
const secret = 'a secret of at least 32 bytes, as from a generator'
const products: Products = {
  '/weather': {
    type: 'text/html',
    body: '<!doctype html><link rel="icon" href="data:,"><title>Report</title><h1>Sunny</h1>',
  },
  '/news': {
    type: 'text/html',
    body: '<!doctype html><link rel="icon" href="data:,"><title>News</title><h1>No news</h1>',
  },
}

const selling = (passes: NonNullable<GateOptions['passes']>) =>
  environment.sell(products, { passes: { secret, ...passes }, onWarning: () => {} })

for (const [scheme, width] of [
  ['light', 1280],
  ['dark', 390],
] as const) {
  test(`a paid page opens again until its time is up (${scheme}, ${width} px)`, async () => {
    const { served } = await selling({ minutes: 30 })
    const before = await received(environment)
    const visitor = await environment.visit('/weather', { scheme, width })
    const { page } = visitor
    assert.match(await page.locator('[data-facts]').innerText(), /One payment opens it\s+for 30 minutes/)
    await takeScreenshot(page, `pass-1-price-${scheme}-${width}`)
    await pay(visitor, environment.funded)
    await waitForStatus(visitor, /Payment complete.*In this browser, the page opens again without payment, until/s)
    await takeScreenshot(page, `pass-2-paid-${scheme}-${width}`)
    assert.equal((await received(environment)) - before, cent)
    for (let times = 0; times < 2; times++) {
      const response = await page.reload()
      assert.deepEqual([response!.status(), await page.locator('h1').innerText()], [200, 'Sunny'])
      assert.match(response!.headers()['cache-control']!, /^private/)
    }
    // A link from another page of the site, with a query, leads to the same route.
    await page.goto(`${environment.url}/weather?city=Rome`)
    assert.equal(await page.locator('h1').innerText(), 'Sunny')
    assert.deepEqual(served, ['/weather', '/weather', '/weather', '/weather'])
    assert.equal((await received(environment)) - before, cent)
    assert.equal(await page.evaluate('document.cookie'), '')
    const [cookie] = await page.context().cookies()
    assert.deepEqual([cookie!.httpOnly, cookie!.sameSite], [true, 'Lax'])
    // Another route has its own price.
    const other = await page.goto(`${environment.url}/news`)
    assert.equal(other!.status(), 402)
    assert.deepEqual(visitor.issues, [])
    await page.context().close()
  })
}

test('a page opens as often as it was sold for, and is then sold again', async () => {
  await selling({ requests: 3 })
  const before = await received(environment)
  const visitor = await environment.visit('/weather')
  const { page } = visitor
  await pay(visitor, environment.funded)
  await waitForStatus(visitor, /opens again without payment, 2 times until/)
  const statuses: number[] = []
  for (let times = 0; times < 3; times++) statuses.push((await page.reload())!.status())
  assert.deepEqual(statuses, [200, 200, 402])
  assert.match(await page.locator('[data-facts]').innerText(), /3 times, for 30 days/)
  assert.equal((await received(environment)) - before, cent)
  await page.context().close()
})

test('content paid for in another tab is shown without a payment', async () => {
  await selling({ minutes: 30 })
  const visitor = await environment.visit('/weather')
  const { page } = visitor
  const second = await page.context().newPage()
  await second.goto(`${environment.url}/weather`)
  await pay(visitor, environment.funded)
  await waitForStatus(visitor, /Payment complete/)
  const before = await received(environment)
  await pay({ ...visitor, page: second }, environment.funded)
  await waitForStatus(
    { ...visitor, page: second },
    /No payment needed.*You already paid for this page: it opens until/s,
  )
  assert.equal(await received(environment), before)
  await page.context().close()
})

test('over TLS, no subdomain can set the cookie', async () => {
  const context = await environment.browser.newContext()
  const page = await context.newPage()
  // Copies the gate's cookie; this test checks how the browser handles it.
  const set = '__Host-x402-pass-AAAAAAAA=1; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=1800'
  await page.route('https://shop.example/**', (route) =>
    route.fulfill({ status: 200, headers: { 'Set-Cookie': set, 'Content-Type': 'text/html' }, body: 'goods' }),
  )
  await page.goto('https://shop.example/weather')
  const [cookie] = await context.cookies('https://shop.example/other')
  assert.deepEqual([cookie?.name, cookie?.httpOnly, cookie?.secure], ['__Host-x402-pass-AAAAAAAA', true, true])
  await context.close()
})
