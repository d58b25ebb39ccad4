/** Benchmarks the pages on a slow phone: how many bytes the paywall and the console load, and when they are usable. */
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Browser, chromium, type Page } from 'playwright-core'
import { startConsole } from './pages/ConsoleDaemon.js'
import { type Choice, visit } from './pages/PageLoad.js'
import { startSeller } from './pages/PaywallSeller.js'
import { median, tidy } from './support/Statistics.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

const help = `Usage:
  npm run bench:paywall -- [--rounds N] [--checkout DIR]

Opens the paywall and the console in Chromium with an empty cache, at slow 3G (400 kbit/s, 400 ms) and with the processor
slowed 4 times, of this checkout and of others in turn. Prints one line of JSON: for each the medians over the rounds.

  --rounds    how often each is measured (5)
  --checkout  another built checkout of this repository, for instance of the state before a change; repeat it for more
  --help      this text

packed_bytes is the size of all bodies from the server, compressed by gzip; requests is their number. usable_ms is when
the wallets' buttons can be clicked, and on the console when its first view is there. reaction_ms is from a click on a
wallet until its dialog, its window or a message of the page is there. layout_shift_thousandths is the cumulative layout shift.
CHROMIUM names the browser (/usr/bin/chromium).
`

/** The sign that a wallet's code runs: its dialog, or the page's message about an extension that is not installed. */
const reactions: { readonly [wallet: string]: (page: Page) => Promise<unknown> } = {
  Pera: (page) => page.locator('pera-wallet-connect-modal').waitFor({ state: 'attached' }),
  Defly: (page) => page.locator('defly-wallet-connect-modal').waitFor({ state: 'attached' }),
  Lute: (page) => page.waitForEvent('popup'),
  Exodus: (page) => page.locator('.status .bad').waitFor(),
}
/** A wallet keeps loading after its dialog appears. */
const quietMs = 2_000

type Sample = { readonly [quantity: string]: number }

async function measurePaywall(browser: Browser, url: string, wallet: string): Promise<{ [row: string]: Sample }> {
  const control = { selector: 'button', text: 'Pera' }
  const { visit: loaded, result } = await visit(browser, { url, control }, async (page, bytes): Promise<Choice> => {
    const startedMs = performance.now()
    const reaction = reactions[wallet]!(page)
    await page.getByRole('button', { name: wallet }).click()
    await reaction
    const reactionMs = performance.now() - startedMs
    await sleep(quietMs)
    return { ...(await bytes()), reaction_ms: reactionMs }
  })
  return { before_choice: loaded, [wallet]: result }
}

type Options = { rounds: number; checkouts: string[] }

async function measureAll(browser: Browser, { rounds, checkouts }: Options): Promise<object> {
  const loadBefore = tidy(loadavg()[0]!)
  const samples = new Map<string, Sample[]>()
  const record = (name: string, sample: Sample): void => {
    samples.set(name, [...(samples.get(name) ?? []), sample])
  }
  const subjects = [root, ...checkouts].map((path) => ({ path, label: path === root ? 'ours' : path }))
  for (let round = 0; round < rounds; round++) {
    for (const { path, label } of round % 2 === 0 ? subjects : subjects.toReversed()) {
      const seller = await startSeller(path)
      for (const wallet of Object.keys(reactions)) {
        const rows = await measurePaywall(browser, seller.url, wallet)
        for (const [row, sample] of Object.entries(rows)) record(`${label} paywall ${row}`, sample)
      }
      await seller.stop()
      const daemon = await startConsole(path)
      const control = { selector: 'h1', text: '' }
      const { visit: loaded } = await visit(browser, { url: daemon.url, control }, async () => {})
      record(`${label} console`, loaded)
      await daemon.stop()
      process.stderr.write('.')
    }
  }
  process.stderr.write('\n')
  return { rounds, node: process.version, chromium: browser.version(), load_before: loadBefore, ...medians(samples) }
}

function medians(samples: Map<string, Sample[]>): object {
  const rows = [...samples].map(([name, list]): [string, Sample] => {
    const quantities = Object.keys(list[0]!)
    return [name, Object.fromEntries(quantities.map((one) => [one, tidy(median(list.map((sample) => sample[one]!)))]))]
  })
  return Object.fromEntries(rows)
}

async function main(): Promise<void> {
  const options = {
    rounds: { type: 'string', default: '5' },
    checkout: { type: 'string', multiple: true },
    help: { type: 'boolean', default: false },
  } as const
  const { values } = parseArgs({ options })
  if (values.help) {
    process.stdout.write(help)
    return
  }
  if (!/^[1-9]\d{0,2}$/.test(values.rounds)) throw new Error(`--rounds cannot be ${values.rounds}`)
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking'],
    chromiumSandbox: false,
  })
  try {
    const result = await measureAll(browser, { rounds: Number(values.rounds), checkouts: values.checkout ?? [] })
    process.stdout.write(`${JSON.stringify(result)}\n`)
  } finally {
    await browser.close()
  }
}

await main()
