/**
 * Builds a shop in an empty folder from docs/selling.md alone: files and commands come from the page, a buyer pays, the
 * shop prints who paid, and its page shows the revenue in Chromium. Packages come from the clone; `outside.test.ts`
 * follows the same section with the tarballs.
 */
import assert from 'node:assert/strict'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { axeIssues } from '../browser/axe.test.helper.js'
import { launch, takeScreenshot } from '../browser/chromium.test.helper.js'
import { until } from '../process/commands.test.helper.js'
import { root } from '../support/daemon.test.helper.js'
import { blocksOf, nameOf } from './Blocks.test.helper.js'
import { isPrinted, normal } from './Output.test.helper.js'
import { followedElsewhere } from './rules.test.helper.js'
import { commandsIn, type Place, Shell } from './Shell.test.helper.js'

const [[page, section]] = followedElsewhere as [readonly [string, string]]
const blocks = blocksOf(page).filter((block) => block.section === section)

/** An empty folder where `npm install` finds the packages of the clone. */
const empty: Place = {
  name: 'shop',
  prepare: (directory) => {
    symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
    writeFileSync(join(directory, '.npmrc'), '')
  },
  environment: (directory) => ({
    PATH: [join(directory, 'node_modules', '.bin'), process.env['PATH']].join(delimiter),
    NO_COLOR: '1',
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
  }),
  rewrites: [[/^npm install .*$/, () => 'true']],
  notRun: [],
}

test('following the page alone gives a working shop that prints who paid', { timeout: 300_000 }, async (t) => {
  assert.ok(blocks.length >= 7, 'the page has its steps')
  const shell = await Shell.open(t, empty)
  let printed = ''
  for (const block of blocks) {
    const { language, about, text } = block
    if (language === 'js') shell.write(about, text)
    else if (language === 'sh') printed = await runAll(shell, text)
    else if (about !== '') await waitForShop(shell, about, text)
    else assert.ok(isPrinted(text, printed), `${nameOf(block)}: this was printed before it:\n${normal(printed)}`)
  }
  assertInstalled()

  const url = shell.realUrl('http://127.0.0.1:4030/sales')
  assert.equal((await fetch(url)).status, 401, 'a stranger does not see the page')
  const password = (await runAll(shell, 'echo "$SALES_TOKEN"')).trim()
  const csv = await fetch(`${url}?csv=payments`, { headers: { Authorization: `Bearer ${password}` } })
  assert.match(await csv.text(), /,settled,,GET \/weather,GET,\/weather,[A-Z2-7]{58},[A-Z2-7]{58},0\.01,USDC,10000,/)

  const browser = await launch(t)
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 390],
  ] as const) {
    const context = await browser.newContext({
      colorScheme,
      viewport: { width, height: 900 },
      httpCredentials: { username: 'me', password },
    })
    const tab = await context.newPage()
    await tab.goto(url)
    await tab.getByRole('heading', { name: 'Weather for a cent · sales' }).waitFor()
    await tab
      .getByRole('img', { name: 'Revenue by day in USDC on the local network: at most $0.01 USDC on a day' })
      .waitFor()
    assert.equal(await tab.getByRole('region', { name: 'Latest payments' }).locator('tbody tr').count(), 1)
    assert.equal(await tab.getByText('1 payment', { exact: true }).count(), 1)
    assert.deepEqual(await axeIssues(tab), [])
    await takeScreenshot(tab, `shop-sales-${colorScheme}-${width}`)
    await context.close()
  }
})

async function runAll(shell: Shell, commands: string): Promise<string> {
  const ran = await shell.run(commands)
  assert.equal(ran.length, commandsIn(commands).length)
  for (const { command, output, code } of ran) {
    assert.equal(code, 0, `${command}\nended with ${code} and printed:\n${output}`)
  }
  return shell.asOnPage(ran.at(-1)!.output)
}

/** Waits, because the shop prints after the response. */
async function waitForShop(shell: Shell, file: string, text: string): Promise<void> {
  const output = (): string => shell.printedBy(`node ${file}`)
  await until(`the shop to print what the page says; it printed:\n${output()}`, () => isPrinted(text, output()))
}

/** Checks that the page installs only our packages or packages of the clone. */
function assertInstalled(): void {
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
  const names = blocks.flatMap(({ text }) =>
    [...text.matchAll(/^npm install (.*)$/gm)].flatMap(([, list]) => list!.split(' ')),
  )
  for (const name of names.filter((one) => !one.startsWith('-')))
    assert.ok(lock.includes(`"node_modules/${name}"`), name)
}
