/** Starts a real Chromium for a test. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'

export type { Browser, BrowserContext, Locator, Page } from 'playwright-core'

type Scope = { after: (work: () => unknown) => void }

/** How long to wait for elements. Far more than needed: an overloaded machine must not fail a test. */
export const timeoutMs = 60_000

/** Turns off the requests that Chromium makes by itself: updates, sync, telemetry. */
const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Launches Chromium with a fresh profile and closes it at the end of the test. */
export async function launch(t: Scope): Promise<Browser> {
  const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
  if (!existsSync(executablePath)) throw new ChromiumNotFoundError(executablePath)
  const browser = await chromium.launch({ executablePath, args, chromiumSandbox: false, timeout: timeoutMs })
  t.after(() => browser.close())
  return browser
}

/** Saves a screenshot for manual review if `LATCHKEY_SCREENSHOTS` names a directory. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  const directory = process.env['LATCHKEY_SCREENSHOTS']
  if (directory !== undefined) await page.screenshot({ path: join(directory, `${name}.png`), fullPage: true })
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
