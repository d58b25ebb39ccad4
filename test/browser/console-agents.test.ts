/**
 * Tests agents in the console: created in three steps, held to their limits, paused, changed and revoked, with their
 * audit records.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type AgentClient, Kmd, KmdClientError } from '@latchkey/kmd-client'
import algosdk from 'algosdk'
import { axeIssues } from './axe.test.helper.js'
import { type Page, takeScreenshot, takeScreenshots } from './chromium.test.helper.js'
import {
  copyWith,
  type Environment,
  latchkey,
  layoutIssues,
  openPage,
  openView,
  password,
  startDaemon,
  startEnvironment,
  walletWithKeys,
} from './console.test.helper.js'

const usdc = 31566704n
const hostile = '<img src=x onerror=alert(1)> \u202ehttps://evil.example'

/** Checks a view at both widths and in both colour schemes. */
async function checkView(page: Page, view: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 390]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 860 })
      const where = `${view}, ${colorScheme}, ${width} pixels`
      assert.deepEqual(await layoutIssues(page), [], where)
      // Contrast is measured above, so each width and each scheme once is enough for the rest.
      if ((width === 1280) === (colorScheme === 'light')) assert.deepEqual(await axeIssues(page), [], where)
      await takeScreenshot(page, `agents-${view}-${colorScheme}-${width}`)
    }
  }
  await page.setViewportSize({ width: 1280, height: 860 })
}

function asAgent({ daemon }: Environment, token: string): Promise<AgentClient> {
  return Kmd.asAgent({ address: daemon.address, token })
}

async function dollars({ algod }: Environment, from: string, to: string, amount: bigint): Promise<Uint8Array> {
  const transaction = algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
    ...{ sender: from, receiver: to, amount, assetIndex: usdc, note: crypto.getRandomValues(new Uint8Array(8)) },
    suggestedParams: await algod.getTransactionParams().do(),
  })
  return algosdk.encodeUnsignedTransaction(transaction)
}

/** Finds the state next to the name; the history contains the same words. */
const stateOf = (page: Page, state: string) => page.locator('.section-head').getByText(state, { exact: true })
const meter = (page: Page, name: string) => page.getByRole('meter', { name })

test('an agent is created in three steps and held to its limits, and its owner sees and revokes it', async (t) => {
  const environment = await startEnvironment(t)
  const { page, expectStatus, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const payee = environment.devnet.accounts[0]!.address
  await openView(page, 'All agents')
  await page.getByText('No agents yet.').waitFor()
  await checkView(page, 'none')
  await openView(page, 'Wallets')
  const [address, second] = await walletWithKeys(page, 'purse', 2)
  environment.devnet.fund(address!, { microAlgos: 5_000_000n, assets: [{ assetId: usdc, amount: 9_000_000n }] })
  await page.getByRole('button', { name: 'Lock', exact: true }).click()

  // 1. The wallet is unlocked inside the step; its password is used for the remaining steps, too.
  await openView(page, 'All agents')
  await page.getByRole('link', { name: 'New agent' }).click()
  await page.getByLabel('Password of purse', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Unlock', exact: true }).click()
  await page.getByLabel('Key', { exact: true }).selectOption(address!)
  await page.getByRole('button', { name: 'Next: limits' }).click()
  await page.getByText('Give it a name.').waitFor()
  await page.getByLabel('Name', { exact: true }).fill('Shopper')
  await page.getByText('$5 a day, $0.50 each').waitFor()
  await checkView(page, 'new-keys')
  await page.getByRole('button', { name: 'Next: limits' }).click()

  // 2. Limits are a number, a unit and a period, and errors appear next to the field.
  assert.equal(await page.getByLabel('Limit 1', { exact: true }).inputValue(), '5')
  assert.equal(await page.getByLabel('Unit of limit 1', { exact: true }).inputValue(), 'dollars')
  await page.getByLabel('Limit 1', { exact: true }).fill('five')
  await page.getByLabel('Ask above', { exact: true }).fill('much')
  await page.getByRole('button', { name: 'Review', exact: true }).click()
  assert.equal(await page.getByText('Enter a number with at most 6 decimals, such as 0.50.').count(), 2)
  await page.getByLabel('Unit of limit 3', { exact: true }).selectOption('asset')
  await page.getByRole('button', { name: 'Review', exact: true }).click()
  await page.getByText('Enter the id of the asset, which is a number.').waitFor()
  await page.getByLabel('Asset ID of limit 3', { exact: true }).fill('123')
  await page.getByLabel('Unit of limit 3', { exact: true }).selectOption('algo')
  await page.getByLabel('Limit 1', { exact: true }).fill('2')
  await page.getByLabel('Ask above', { exact: true }).fill('')
  await page.getByLabel('It ends').selectOption('7')
  await checkView(page, 'new-limits')
  await page.getByRole('button', { name: 'Review', exact: true }).click()

  // 3. The rules as text.
  await page.getByText('At most $2 a day.').waitFor()
  await page.getByText('At most $0.50 for each payment.').waitFor()
  await page.getByText('Never rekeys, closes an account, or exports a key.').waitFor()
  await checkView(page, 'new-review')
  await page.getByRole('button', { name: 'Create the agent' }).click()
  await page.getByRole('heading', { name: 'Shopper is ready' }).waitFor()
  const token = await copyWith(page, page.getByRole('button', { name: 'Copy the token' }))
  await page.getByText(token, { exact: true }).waitFor()
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save as a file' }).click()
  assert.equal((await saved).suggestedFilename(), 'shopper.token')
  assert.equal(readFileSync(await (await saved).path(), 'utf8'), `${token}\n`)
  await page.getByText('install -m 600 ~/Downloads/shopper.token ~/.latchkey/shopper.token').waitFor()
  // No command near the token may be one that npx would download.
  await page.getByText(`${latchkey.join(' ')} mcp install --token-file ~/.latchkey/shopper.token`).waitFor()
  await page.getByText(`"command":"${latchkey[0]}","args":["${latchkey[1]}","mcp"`).waitFor()
  assert.doesNotMatch((await page.locator('main').textContent()) ?? '', /npx/)
  await checkView(page, 'token')
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await page.getByRole('heading', { name: 'Shopper', exact: true }).waitFor()
  assert.equal(await page.getByText(token).count(), 0, 'the token is not shown again')

  // The agent spends, and the bars move.
  const agent = await asAgent(environment, token)
  assert.equal(await meter(page, '$2 a day').getAttribute('aria-valuetext'), '$2 left')
  await agent.sign(await dollars(environment, address!, payee, 500_000n), { description: hostile })
  await page.getByText('$1.50 left').waitFor()
  assert.equal(await meter(page, '$2 a day').getAttribute('aria-valuenow'), '75')
  await assert.rejects(
    async () => agent.sign(await dollars(environment, address!, payee, 500_001n)),
    (error) => error instanceof KmdClientError && error.refusal?.rule === 'each $0.50',
  )
  await assert.rejects(
    async () => agent.sign(await dollars(environment, second!, payee, 1n)),
    (error) => error instanceof KmdClientError,
  )
  await page.getByText(/\$0\.500001 to/).waitFor()
  await page.getByText('Spending by day', { exact: true }).waitFor()
  await page.getByText('Show as table').click()
  await page.locator('figure').getByRole('cell', { name: '$0.50', exact: true }).waitFor()
  await page.getByRole('row', { name: /1 \$0\.50$/ }).waitFor()
  // The agent's text is shown as plain text, without characters that reorder it.
  await page
    .getByText(/^<img src=x onerror=alert\(1\)> \W?https:\/\/evil\.example$/)
    .first()
    .waitFor()
  assert.equal(await page.getByText('\u202e').count(), 0)
  assert.equal(await page.getByRole('link', { name: /evil/ }).count(), 0)
  await checkView(page, 'agent')

  // Pausing needs no password; resuming does.
  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  await stateOf(page, 'paused').waitFor()
  await assert.rejects(async () => agent.sign(await dollars(environment, address!, payee, 1n)))
  await page.getByRole('button', { name: 'Resume', exact: true }).click()
  const dialog = page.getByRole('dialog')
  expectStatus(400)
  await dialog.getByLabel('Password of purse').fill('wrong')
  await dialog.getByRole('button', { name: 'Resume', exact: true }).click()
  await dialog.getByText('Wrong password.').waitFor()
  await takeScreenshots(page, 'agents-resume')
  await dialog.getByLabel('Password of purse').fill(password)
  await dialog.getByRole('button', { name: 'Resume', exact: true }).click()
  await stateOf(page, 'active').waitFor()

  // The limits change, and the amounts already spent still count.
  await page.getByRole('button', { name: 'Change limits' }).click()
  await dialog.getByLabel('Limit 1', { exact: true }).fill('1')
  await checkView(page, 'change')
  await dialog.getByRole('button', { name: 'Review', exact: true }).click()
  await dialog.getByText('At most $1 a day.').waitFor()
  await takeScreenshots(page, 'agents-change-review')
  await dialog.getByLabel('Password of purse').fill(password)
  await dialog.getByRole('button', { name: 'Save the rules' }).click()
  await page.getByRole('meter', { name: '$1 a day' }).waitFor()
  assert.equal(await meter(page, '$1 a day').getAttribute('aria-valuetext'), '$0.50 left')

  // A new token invalidates the old one.
  await page.getByRole('button', { name: 'Change token' }).click()
  await dialog.getByLabel('Password of purse').waitFor()
  await takeScreenshots(page, 'agents-change-token')
  await dialog.getByLabel('Password of purse').fill(password)
  await dialog.getByRole('button', { name: 'Change token' }).click()
  const next = await copyWith(page, dialog.getByRole('button', { name: 'Copy the token' }))
  assert.notEqual(next, token)
  await dialog.getByRole('button', { name: 'I have stored it' }).click()
  await assert.rejects(async () => agent.sign(await dollars(environment, address!, payee, 1n)))
  const again = await asAgent(environment, next)
  await again.sign(await dollars(environment, address!, payee, 250_000n))
  await page.getByText('$0.25 left').waitFor()
  await openView(page, 'All agents')
  await page.getByText('$0.25 left').waitFor()
  // The test runs as the user of the daemon, like the agent of a careless owner.
  await page.getByText('runs as the daemon’s user').waitFor()
  await checkView(page, 'list')

  await page.getByRole('link', { name: 'Shopper', exact: true }).click()
  await page.getByText('This agent runs as the daemon’s user.').waitFor()
  await page.getByRole('button', { name: 'Revoke', exact: true }).click()
  await dialog.getByText('at once and permanently').waitFor()
  await takeScreenshots(page, 'agents-revoke')
  await dialog.getByRole('button', { name: 'Revoke permanently' }).click()
  await stateOf(page, 'revoked').waitFor()
  await assert.rejects(async () => again.sign(await dollars(environment, address!, payee, 1n)))
  assertClean()

  await seesActivity(environment, page)
  assertClean()
  await survivesRestart(environment)
})

/** The log contains the actions above, supports filters, and can be verified and saved. */
async function seesActivity({ devnet }: Environment, page: Page): Promise<void> {
  await page.getByRole('link', { name: 'All of its activity' }).click()
  await page.getByRole('heading', { name: 'Audit log', exact: true }).waitFor()
  const records = page.getByRole('list', { name: 'Records, newest first' })
  await records.getByText('Agent ended').waitFor()
  for (const title of ['Transaction signed', 'Signature refused', 'Agent paused', 'Agent created']) {
    await records.getByText(title, { exact: true }).first().waitFor()
  }
  await page.getByLabel('What', { exact: true }).selectOption('Refusals and wrong passwords')
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await records.getByText('Agent created').waitFor({ state: 'detached' })
  await records.getByText('Signature refused').first().waitFor()
  await page.getByRole('button', { name: 'Clear', exact: true }).click()
  await records.getByText('Wallet created').first().waitFor()
  await page.getByLabel('Text', { exact: true }).fill('EVIL.example')
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await records.getByText('Wallet created').first().waitFor({ state: 'detached' })
  // The list is empty until the response arrives.
  await records.getByRole('listitem').first().waitFor()
  assert.equal(await records.getByRole('listitem').count(), 1)
  await records.getByText(/^Record \d+/).click()
  await page.getByLabel('Address', { exact: true }).fill('unknown name')
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await page.getByText('This is neither an address nor a name in the address book.').waitFor()
  await page.getByLabel('Address', { exact: true }).fill(devnet.accounts[1]!.address)
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await page.getByText('Nothing matches.').waitFor()
  await page.getByRole('button', { name: 'Clear', exact: true }).click()
  await records.getByText('Wallet created').first().waitFor()
  await page.getByRole('button', { name: 'Verify the log' }).click()
  await page.getByText(/^All \d+ records are as written$/).waitFor()
  await checkView(page, 'activity')
  for (const [button, name] of [
    ['Save as JSON lines', 'audit.jsonl'],
    ['Save as CSV', 'audit.csv'],
  ] as const) {
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: button }).click()
    const download = await saved
    assert.equal(download.suggestedFilename(), name)
    const text = readFileSync(await download.path(), 'utf8')
    assert.match(text, name.endsWith('l') ? /^\{"number":1,/ : /^number,time,event,actor,/)
    assert.match(text, /agent_created/)
  }
}

/** The next daemon reads the log from disk. */
async function survivesRestart(environment: Environment): Promise<void> {
  await environment.daemon.stop()
  const daemon = await startDaemon(environment.scope, environment.dir, environment.devnet)
  const { page, assertClean } = await openPage({ ...environment, daemon }, daemon.consoleLink())
  await openView(page, 'Audit log')
  const records = page.getByRole('list', { name: 'Records, newest first' })
  await records.getByText('Agent ended', { exact: true }).waitFor()
  await records.getByText('Agent created', { exact: true }).waitFor()
  await openView(page, 'All agents')
  await page.getByRole('link', { name: 'Shopper' }).waitFor()
  assertClean()
}
