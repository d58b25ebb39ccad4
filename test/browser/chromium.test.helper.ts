/** Starts a real Chromium for the tests of a file. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { atEndOfProcess } from '../support/batch.test.helper.js'

export type { Browser, BrowserContext, Locator, Page } from 'playwright-core'

type Scope = { after: (work: () => unknown) => void }

/** How long to wait for elements. Far more than needed: an overloaded machine must not fail a test. */
export const timeoutMs = 60_000

type Chromium = { readonly chromiumArgs: string[] }

const script = new URL('../../../scripts/obtain/chromium.mjs', import.meta.url).href

/** Shared, because starting the browser takes longer than most tests. */
let shared: Promise<Browser> | undefined
atEndOfProcess(async () => (await shared)?.close())

/**
 * Starts Chromium once per process. Browser contexts share nothing, and those of a test are closed at its end. Tests
 * run one after the other.
 */
export async function launch(t: Scope): Promise<Browser> {
  shared ??= start()
  const browser = await shared
  const others = browser.contexts()
  t.after(async () => {
    const own = browser.contexts().filter((context) => !others.includes(context))
    await Promise.all(own.map((context) => context.close()))
  })
  return browser
}

async function start(): Promise<Browser> {
  const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
  if (!existsSync(executablePath)) throw new ChromiumNotFoundError(executablePath)
  const { chromiumArgs: args } = (await import(script)) as Chromium
  return chromium.launch({ executablePath, args, chromiumSandbox: false, timeout: timeoutMs })
}

/** Saves a screenshot for manual review if `LATCHKEY_SCREENSHOTS` names a directory. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  const directory = process.env['LATCHKEY_SCREENSHOTS']
  if (directory !== undefined) await page.screenshot({ path: join(directory, `${name}.png`), fullPage: true })
}

/** Saves screenshots of a computer and of a phone, light and dark, and restores the window. */
export async function takeScreenshots(page: Page, name: string): Promise<void> {
  if (process.env['LATCHKEY_SCREENSHOTS'] === undefined) return
  const before = page.viewportSize()!
  const isDark = await page.evaluate('matchMedia("(prefers-color-scheme: dark)").matches')
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 390]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 860 })
      await takeScreenshot(page, `${name}-${colorScheme}-${width}`)
    }
  }
  await page.emulateMedia({ colorScheme: isDark === true ? 'dark' : 'light' })
  await page.setViewportSize(before)
}

export class ChromiumNotFoundError extends Error {
  override name = 'ChromiumNotFoundError'

  constructor(path: string) {
    super(
      `Chromium not found at ${path}. Install it (Debian: apt-get install chromium) ` +
        'or set the environment variable CHROMIUM to its path.',
    )
  }
}
