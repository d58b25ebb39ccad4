/** Measures one visit to a page in Chromium with a slow network, a slow processor and an empty cache. */
import { gzipSync } from 'node:zlib'
import type { Browser, Page, Response } from 'playwright-core'

/** Slow 3G: 400 kbit/s each way, with 400 ms until the first byte. */
const slowNetwork = { offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 }
const slowdown = 4
const timeoutMs = 120_000

/**
 * Byte counts are of bodies compressed with gzip, as the server or a proxy would send them. Times are since the
 * navigation.
 */
export type Visit = {
  readonly packed_bytes: number
  readonly requests: number
  readonly first_paint_ms: number
  readonly usable_ms: number
  /** The cumulative layout shift, in thousandths. */
  readonly layout_shift_thousandths: number
}

export type Choice = { readonly packed_bytes: number; readonly requests: number; readonly reaction_ms: number }

/** Runs before the scripts of the page. `usable` is the time at which the control can be clicked. */
const observer = (selector: string, text: string): string => `
  globalThis.seen = { shift: 0, usable: undefined }
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) seen.shift += entry.value
  }).observe({ type: 'layout-shift', buffered: true })
  const look = () => {
    for (const one of document.querySelectorAll(${JSON.stringify(selector)})) {
      if (!one.textContent.includes(${JSON.stringify(text)}) || one.disabled || !one.checkVisibility()) continue
      seen.usable = performance.now()
      return
    }
    setTimeout(look, 5)
  }
  look()
`

export type Subject = {
  readonly url: string
  /** The page is usable once this control appears. */
  readonly control: { readonly selector: string; readonly text: string }
}

/** Opens the page, waits until it is usable, and then calls `afterwards`. */
export async function visit<T>(
  browser: Browser,
  { url, control }: Subject,
  afterwards: (page: Page, loaded: () => Promise<{ packed_bytes: number; requests: number }>) => Promise<T>,
): Promise<{ visit: Visit; result: T }> {
  const context = await browser.newContext({ viewport: { width: 390, height: 780 } })
  try {
    const page = await context.newPage()
    page.setDefaultTimeout(timeoutMs)
    const session = await context.newCDPSession(page)
    await session.send('Network.enable')
    await session.send('Network.emulateNetworkConditions', slowNetwork)
    await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
    await page.addInitScript(observer(control.selector, control.text))
    // Other hosts are not measured, so requests to them are blocked.
    await page.route(/^https:/, (route) => route.abort('failed'))
    await page.routeWebSocket(/^wss:/, (socket) => socket.close())
    let responses: Response[] = []
    page.on('response', (response) => responses.push(response))
    const loaded = async () => {
      const current = responses
      responses = []
      const bodies = await Promise.all(current.filter(isOwn(url)).map((response) => response.body()))
      const packed = bodies.map((body) => gzipSync(body, { level: 9 }).length)
      return { packed_bytes: packed.reduce((sum, bytes) => sum + bytes, 0), requests: bodies.length }
    }
    await page.goto(url, { timeout: timeoutMs })
    await page.waitForFunction('seen.usable !== undefined', undefined, { timeout: timeoutMs })
    const seen = (await page.evaluate(`({
      usable_ms: seen.usable,
      layout_shift_thousandths: seen.shift * 1000,
      first_paint_ms: performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
    })`)) as Pick<Visit, 'usable_ms' | 'first_paint_ms' | 'layout_shift_thousandths'>
    return { visit: { ...(await loaded()), ...seen }, result: await afterwards(page, loaded) }
  } finally {
    await context.close()
  }
}

const isOwn =
  (url: string) =>
  (response: Response): boolean =>
    response.url().startsWith(new URL(url).origin)
