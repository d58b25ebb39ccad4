/** Tests a seller's page in Chromium, at every width and in both colour schemes. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { Network } from '@latchkey/algorand'
import { salesListener } from '@latchkey/x402/node'
import { MemoryClaims, type Sale } from '@latchkey/x402/server'
import { axeIssues } from './axe.test.helper.js'
import { launch, takeScreenshot } from './chromium.test.helper.js'

const dayMs = 86_400_000
const token = 'the-token-of-the-seller'
const evil = '<img src=x onerror="document.title=1">'

function sale(count: number, change: Partial<Sale>): Sale {
  return {
    transactionId: [...String(count).padStart(52, '0')].map((digit) => 'ABCDEFGHIJ'[Number(digit)]).join(''),
    timeMs: Date.now() - count * 60_000,
    outcome: 'settled',
    code: '',
    route: count % 3 === 0 ? 'POST /translate' : 'GET /weather',
    method: 'GET',
    path: '/weather',
    payer: 'RKEOHXLUBHYZL7KS3MWTZOS5OLFGOCN7DWKBEG7TOSEADNAPN5OOTUNSLE',
    payTo: 'RKEOHXLUBHYZL7KS3MWTZOS5OLFGOCN7DWKBEG7TOSEADNAPN5OOTUNSLE',
    amount: '10000',
    asset: '10458941',
    assetName: 'USDC',
    decimals: 6,
    network: Network.testnet.caip2,
    round: 7,
    firstValid: 1,
    lastValid: 2,
    isDue: false,
    ...change,
  }
}

async function openShop(sales: readonly Sale[]): Promise<string> {
  const claims = new MemoryClaims()
  claims.sales.record(sales)
  const server = createServer(salesListener({ claims, token, name: 'Weather for a cent' }))
  after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/sales`
}

const month = Array.from({ length: 75 }, (_, count) =>
  sale(count, {
    timeMs: Date.now() - (count % 28) * dayMs - count * 1_000,
    amount: String(10_000 * (1 + (count % 9))),
  }),
)
const algos = [sale(200, { asset: '0', assetName: 'ALGO', amount: '1250000' })]
const failures = [
  sale(300, { outcome: 'refused', code: 'insufficient_funds' }),
  sale(301, { outcome: 'cancelled', code: 'handler_failed' }),
  sale(302, { outcome: 'refused', code: evil, route: `GET /${evil}` }),
]
const url = await openShop([...month, ...algos, ...failures, sale(400, { outcome: 'pending' })])
const browser = await launch({ after })

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [1280, 390, 320]) {
    test(`shows revenue, payments and failures, and axe-core finds nothing (${colorScheme}, ${width} px)`, async () => {
      const context = await browser.newContext({
        viewport: { width, height: 900 },
        colorScheme,
        httpCredentials: { username: 'seller', password: token },
      })
      const page = await context.newPage()
      const problems: string[] = []
      page.on('console', (message) => void problems.push(message.text()))
      page.on('pageerror', (error) => void problems.push(String(error)))
      await page.goto(url)
      await page.getByRole('heading', { name: 'Weather for a cent · sales' }).waitFor()
      await page.getByRole('img', { name: /Revenue by day in USDC on TestNet/ }).waitFor()
      await page.getByRole('img', { name: /Revenue by day in ALGO on TestNet/ }).waitFor()
      await page.getByRole('heading', { name: 'Latency of settlements' }).waitFor()
      await page.getByRole('row', { name: '6 about 17 s 76 100%', exact: true }).waitFor()
      const route = page.getByRole('row', { name: /GET \/weather .* USDC/ }).locator('svg rect')
      assert.equal(await route.getAttribute('width'), '100', 'the route with the highest revenue has the longest bar')
      assert.equal(await page.getByText('1.25 ALGO').first().isVisible(), true)
      assert.equal(await page.getByText('awaiting confirmation').count(), 1)
      assert.equal(await page.getByText('insufficient funds').count(), 1)
      assert.equal(await page.locator('img').count(), 0, 'what a stranger wrote is text')
      const { scroll, view, style, overlaps } = await page.evaluate(measure)
      assert.ok(scroll <= view, `the page is ${scroll} px wide in a window of ${view}`)
      assert.notEqual(style, '', 'the policy lets its own style through')
      assert.deepEqual(overlaps, [], 'labels are clear of the bars')
      assert.deepEqual(problems, [])
      await takeScreenshot(page, `sales-${colorScheme}-${width}`)
      // The page has no script, and its policy blocks all scripts except axe-core, which the test injects.
      assert.deepEqual(await axeIssues(page), [])
      await page.getByRole('link', { name: 'Older' }).first().click()
      await page.getByRole('link', { name: 'Latest' }).waitFor()
      await page.getByRole('link', { name: '7 days' }).click()
      await page.waitForURL(/days=7/)
      await context.close()
    })
  }
}

type Box = { left: number; right: number; top: number; bottom: number }
type Dom = {
  document: {
    body: object
    documentElement: { scrollWidth: number }
    querySelectorAll: (selector: string) => Iterable<{ getBoundingClientRect: () => Box }>
  }
  getComputedStyle: (element: object) => { fontFamily: string }
  innerWidth: number
}

/** Runs in the page. */
function measure() {
  const { document, getComputedStyle, innerWidth } = globalThis as unknown as Dom
  const boxes = (selector: string): Box[] =>
    [...document.querySelectorAll(selector)].map((element) => element.getBoundingClientRect())
  const bars = boxes('.plot rect')
  const overlaps = boxes('.plot span').filter((label) =>
    bars.some(
      (bar) => bar.left < label.right && label.left < bar.right && bar.top < label.bottom && label.top < bar.bottom,
    ),
  )
  const style = getComputedStyle(document.body).fontFamily.includes('system-ui') ? 'own' : ''
  return { scroll: document.documentElement.scrollWidth, view: innerWidth, style, overlaps }
}

test('reports a shop without sales, and shows nothing to a visitor without the token', async () => {
  const empty = await openShop([])
  assert.equal((await fetch(empty)).status, 401)
  const context = await browser.newContext({ httpCredentials: { username: '', password: token } })
  const page = await context.newPage()
  await page.goto(empty)
  await page.getByText('Nothing was sold in the last 30 days.').waitFor()
  assert.deepEqual(await axeIssues(page), [])
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Payments as CSV' }).click()
  assert.equal((await download).suggestedFilename(), 'payments.csv')
  await context.close()
})
