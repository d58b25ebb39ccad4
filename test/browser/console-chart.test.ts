/** Tests the geometry of the console's chart in Chromium: no label touches a bar, another label or the edge. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { launch, type Page, takeScreenshot } from './chromium.test.helper.js'

const consoleDirectory = fileURLToPath(new URL('../../../packages/pages/console/', import.meta.url))
const { settings } = (await import(join(consoleDirectory, 'vite.mjs'))) as { settings: object }
const browser = await launch({ after })
const { script, style } = await bundleChart()

/**
 * Bundles the component with the console's styles and a render function. Amounts are strings, because JSON cannot
 * represent such integers.
 */
async function bundleChart(): Promise<{ script: string; style: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-chart-'))
  after(() => rmSync(directory, { recursive: true, force: true }))
  const entry = join(consoleDirectory, 'chart-entry.tsx')
  const source = `
    import { render } from 'preact'
    import { Chart } from './components/Chart.js'
    import './styles/index.css'
    globalThis.show = ({ nowMs, spends, ...spending }) => {
      const exact = spends.map((spend) => ({ ...spend, amount: BigInt(spend.amount) }))
      render(<Chart nowMs={nowMs} dollarIds={['31566704']} spending={{ ...spending, spends: exact }} />, document.body)
    }`
  await build({
    ...settings,
    configFile: false,
    logLevel: 'error',
    plugins: [
      {
        name: 'entry',
        enforce: 'pre',
        resolveId: (id) => (id === entry ? id : undefined),
        load: (id) => (id === entry ? source : undefined),
      },
    ],
    build: {
      outDir: directory,
      lib: { entry, formats: ['es'], fileName: () => 'chart.js', cssFileName: 'chart' },
    },
  })
  const read = (name: string): string => readFileSync(join(directory, name), 'utf8')
  return { script: read('chart.js'), style: read('chart.css') }
}

type Box = { text: string; left: number; right: number; top: number; bottom: number }
type Spend = { atMs: number; amount: string; isConfirmed: boolean }

const nowMs = Date.UTC(2026, 4, 4, 12, 34, 56)
const hour = 3_600_000
const everyHour = (count: number, amount: (index: number) => string): Spend[] =>
  Array.from({ length: count }, (_, index) => ({
    atMs: nowMs - index * hour,
    amount: amount(index),
    isConfirmed: index % 3 !== 0,
  }))

const spendings: { [what: string]: { unitName: string; decimals: number; spends: Spend[] } } = {
  'a bar of full height in every place': { unitName: 'USDC', decimals: 6, spends: everyHour(30, () => '1000000') },
  'the highest bar first': {
    unitName: 'ALGO',
    decimals: 6,
    spends: everyHour(30, (index) => String(10n ** BigInt(Math.floor(index / 3)))),
  },
  'the longest amount and unit': {
    unitName: 'WWWWWWWW',
    decimals: 19,
    spends: everyHour(30, () => '18446744073709551615'),
  },
  'two payments within seconds': {
    unitName: 'USDC',
    decimals: 6,
    spends: [
      { atMs: nowMs, amount: '10000', isConfirmed: true },
      { atMs: nowMs - 20_000, amount: '9999', isConfirmed: false },
    ],
  },
  'payments over a year': {
    unitName: 'USDC',
    decimals: 6,
    spends: everyHour(30, () => '5').map((spend, index) => ({ ...spend, atMs: nowMs - index * 300 * hour })),
  },
}

async function boxes(page: Page, selector: string): Promise<Box[]> {
  return page.locator(selector).evaluateAll((elements) =>
    (elements as unknown as { textContent: string; getBoundingClientRect: () => Box }[]).map((element) => {
      const { left, right, top, bottom } = element.getBoundingClientRect()
      return { text: element.textContent, left, right, top, bottom }
    }),
  )
}

const touches = (a: Box, b: Box): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom

for (const width of [390, 1280]) {
  for (const [what, spending] of Object.entries(spendings)) {
    test(`labels do not overlap the bars with ${what} (${width} px)`, async () => {
      const page = await browser.newPage({ viewport: { width, height: 500 } })
      await page.setContent('<!doctype html><html lang="en"><body></body></html>')
      await page.addStyleTag({ content: style })
      await page.addScriptTag({ content: script, type: 'module' })
      await page.waitForFunction('globalThis.show !== undefined')
      await page.evaluate(`globalThis.show(${JSON.stringify({ ...spending, assetId: '1', nowMs })})`)
      await page.locator('.chart svg').waitFor()
      await takeScreenshot(page, `chart-${width}-${what.replaceAll(' ', '-')}`)
      const [labels, bars] = [await boxes(page, '.chart svg text'), await boxes(page, '.chart svg rect')]
      const [frame] = await boxes(page, '.chart svg')
      assert.ok(labels.length >= 3 && bars.length >= 2, `${labels.length} labels, ${bars.length} bars`)
      const isOutside = ({ left, right, top, bottom }: Box): boolean =>
        left < frame!.left || right > frame!.right || top < frame!.top || bottom > frame!.bottom
      const texts = (found: readonly Box[]): string[] => found.map(({ text }) => text)
      assert.deepEqual(texts(labels.filter((label) => bars.some((bar) => touches(label, bar)))), [])
      assert.deepEqual(
        texts(labels.filter((label) => labels.some((other) => other !== label && touches(label, other)))),
        [],
      )
      assert.deepEqual(texts(labels.filter(isOutside)), [])
      await page.close()
    })
  }
}
