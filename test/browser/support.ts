/** A real Chromium for a test. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

export type { Browser, BrowserContext, Page } from 'playwright-core'

type Scope = { after: (work: () => unknown) => void }

/** Nothing that Chromium would do of its own accord: no updates, no sync, no calls home. */
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

/** With a fresh profile, which is removed when the browser closes: at the end of the test. */
export async function launch(t: Scope): Promise<Browser> {
  const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
  if (!existsSync(executablePath)) throw new NoChromiumError(executablePath)
  const browser = await chromium.launch({ executablePath, args, chromiumSandbox: false, timeout: 60_000 })
  t.after(() => browser.close())
  return browser
}

export class NoChromiumError extends Error {
  override name = 'NoChromiumError'

  constructor(path: string) {
    super(
      `there is no Chromium at ${path}: install it (on Debian: apt-get install chromium), ` +
        'or name another in the environment variable CHROMIUM',
    )
  }
}
