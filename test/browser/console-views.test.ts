/**
 * Tests every view of the console with realistic data: readable and free of sideways scrolling from 320 pixels on, in
 * both colour schemes, with nothing for axe-core to find; and what the first screen leads with.
 */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Daemon } from '@latchkey/kmd'
import { type AgentClient, Kmd } from '@latchkey/kmd-client'
import algosdk from 'algosdk'
import { axeIssues } from './axe.test.helper.js'
import { type Page, takeScreenshot } from './chromium.test.helper.js'
import {
  call,
  type Environment,
  layoutIssues,
  openPage,
  openView,
  password,
  startDaemon,
  startEnvironment,
} from './console.test.helper.js'

const usdc = 31566704n
const widths = [1280, 390, 320] as const
const claimedUrl = 'http://127.0.0.1:4021/quote'

/** Checks the view at every width and in both colour schemes. */
async function checkView(page: Page, view: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const width of widths) {
      await page.setViewportSize({ width, height: 800 })
      const where = `${view}, ${colorScheme}, ${width} pixels`
      assert.deepEqual(await layoutIssues(page), [], where)
      if (width !== 320) await takeScreenshot(page, `views-${view}-${colorScheme}-${width}`)
      // Contrast is measured above, so each width once is enough for the rest.
      if ((width === 1280) === (colorScheme === 'light')) assert.deepEqual(await axeIssues(page), [], where)
    }
  }
  await page.setViewportSize({ width: 1280, height: 860 })
}

async function dollars({ algod }: Environment, from: string, to: string, amount: bigint): Promise<Uint8Array> {
  const transaction = algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
    ...{ sender: from, receiver: to, amount, assetIndex: usdc, note: crypto.getRandomValues(new Uint8Array(8)) },
    suggestedParams: await algod.getTransactionParams().do(),
  })
  return algosdk.encodeUnsignedTransaction(transaction)
}

type Shop = { address: string; walletId: string; agentId: string; agent: AgentClient; payees: readonly string[] }

/** The wallet of the development stack, with an agent that has paid, and one payment that waits for an approval. */
async function startShop(environment: Environment): Promise<Shop> {
  const { daemon, devnet, algod } = environment
  await call(daemon, '/v1/wallet', {
    ...{ wallet_name: 'another', wallet_driver_name: 'sqlite', wallet_password: password },
  })
  const created = await call(daemon, '/v1/wallet', {
    ...{ wallet_name: 'x402-buyer', wallet_driver_name: 'sqlite', wallet_password: '' },
  })
  const { id: walletId } = created['wallet'] as { id: string }
  const unlocked = await call(daemon, '/v1/wallet/init', { wallet_id: walletId, wallet_password: '' })
  const handle = unlocked['wallet_handle_token']
  const { address } = (await call(daemon, '/v1/key', { wallet_handle_token: handle })) as { address: string }
  devnet.fund(address, { microAlgos: 25_000_000n, assets: [{ assetId: usdc, amount: 90_000_000n }] })
  const { genesisHash } = await algod.getTransactionParams().do()
  const network = Buffer.from(genesisHash!).toString('base64')
  const limit = (per: string, assetId: bigint, amount: string) => ({
    ...{ per, network, type: 'amount', asset_id: String(assetId), amount },
  })
  const made = await call(daemon, '/latchkey/v1/agents', {
    ...{ name: 'shopper', wallet_id: walletId, wallet_password: '', addresses: [address] },
    rules: {
      networks: [network],
      limits: [limit('day', usdc, '5000000'), limit('payment', usdc, '2000000'), limit('day', 0n, '100000')],
      payees: { allow_all: true },
      dollars: [{ network, id: String(usdc) }],
      ask: { above: [{ network, asset_id: String(usdc), amount: '1000000' }] },
    },
  })
  const agent = await Kmd.asAgent({ address: daemon.address, token: made['token'] as string })
  const payees = devnet.accounts.slice(0, 3).map((account) => account.address)
  for (const [index, amount] of [500_000n, 250_000n, 10_000n, 10_000n].entries()) {
    const signed = await agent.sign(await dollars(environment, address, payees[index % 3]!, amount))
    await algod.sendRawTransaction(signed).do()
  }
  return { address, walletId, agentId: (made['agent'] as { id: string }).id, agent, payees }
}

test('every view is readable from 320 pixels on, and the first screen leads with what waits', async (t) => {
  const environment = await startEnvironment(t)
  const shop = await startShop(environment)
  const { address, walletId, agentId, agent, payees } = shop
  await call(environment.daemon, '/latchkey/v1/contact', { address: payees[0]!, label: 'Weather service' })
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())

  // The wallet of the development stack opens automatically.
  await page.getByRole('link', { name: /x402-buyer.* unlocked/ }).waitFor()
  await page.getByText('$4.23 left').waitFor()
  const waiting = agent.sign(await dollars(environment, address, payees[0]!, 1_500_000n), {
    ...{ url: claimedUrl, description: 'A forecast', approvalWaitMs: 240_000 },
  })
  waiting.catch(() => {})
  const payee = `"Weather service" (${payees[0]!})`
  const sentence = `shopper wants to pay $1.50 to ${payee} for ${claimedUrl} (not checked)`
  await page.getByText(sentence).waitFor()
  const headings = await page.locator('main h2').allTextContents()
  const order = ['Waiting for your approval', 'Agents', 'Balances', 'Last payments']
  assert.deepEqual(
    headings.filter((heading) => order.includes(heading)),
    order,
  )
  await page.getByText('$89.23 USDC').first().waitFor()
  await checkView(page, 'overview')

  // The sections are behind a button on a phone.
  await page.setViewportSize({ width: 390, height: 800 })
  const sections = page.getByRole('navigation', { name: 'Sections' })
  const menu = page.getByRole('button', { name: /^Menu/ })
  assert.equal(await sections.isVisible(), false)
  await menu.click()
  await sections.getByRole('link', { name: 'Wallets', exact: true }).waitFor()
  await page.getByRole('button', { name: 'End session' }).waitFor()
  await checkView(page, 'menu')
  await page.setViewportSize({ width: 390, height: 800 })
  await sections.getByRole('link', { name: 'Wallets', exact: true }).press('Escape')
  await sections.waitFor({ state: 'hidden' })
  await menu.click()
  await sections.getByRole('link', { name: 'Wallets', exact: true }).click()
  await page.getByRole('heading', { name: 'Wallets', exact: true }).waitFor()
  await sections.waitFor({ state: 'hidden' })
  await page.setViewportSize({ width: 1280, height: 860 })
  assert.deepEqual(await sections.getByRole('link').allTextContents().then(plain), [
    ...['Overview', 'Wallets', 'Pay', 'Agents 1 waiting', 'Activity', 'Settings'],
  ])

  const visit = async (hash: string, heading: string, view: string, ready?: string): Promise<void> => {
    await page.evaluate((to) => location.assign(to), hash)
    await page.getByRole('heading', { name: heading, exact: true, level: 1 }).waitFor()
    if (ready !== undefined) await page.getByText(ready).first().waitFor()
    await checkView(page, view)
  }
  await visit(`#/wallets/${walletId}`, 'Wallets', 'wallet', 'stays unlocked in the development stack')
  await visit('#/send', 'Send', 'send', address)
  await visit('#/receive', 'Receive', 'receive', 'Copy address')
  await visit('#/sign', 'Sign', 'sign')
  await visit(`#/opt-in/${address}`, 'Opt in', 'opt-in')
  const current = page.getByRole('navigation', { name: 'Pay', exact: true }).locator('[aria-current]')
  assert.deepEqual(await current.allTextContents(), ['Receive'])
  await visit('#/addresses', 'Address book', 'address-book', 'Weather service')
  await visit('#/agents', 'Agents', 'agents', '$4.23 left')
  await visit(`#/agents/${agentId}`, 'shopper', 'agent', 'Spending by payee')
  await visit('#/new-agent', 'New agent', 'new-agent')
  await visit('#/approvals', 'Approvals', 'approvals', sentence)
  await page.getByRole('button', { name: 'Deny and pause shopper' }).click()
  await assert.rejects(waiting)
  await page.getByRole('list', { name: 'Decided, newest first' }).getByText(sentence).waitFor()
  await checkView(page, 'approvals-decided')
  await visit('#/agents', 'Agents', 'agents-paused', 'paused')
  await visit('#/payments', 'Payments', 'payments', 'confirmed in round')
  await visit('#/spending', 'Spending', 'spending', 'Spending by payee')
  const row = page.getByRole('row', { name: /Weather service/ })
  assert.match((await row.textContent()) ?? '', /2\$0\.51$/)
  await visit('#/activity', 'Audit log', 'audit-log', 'Verify the log')
  const records = page.getByRole('list', { name: 'Records, newest first' })
  for (const title of ['Approval requested', 'Denied']) {
    await records.getByText(new RegExp(`^${title} \\$1\\.50 to`)).waitFor()
  }
  // On a phone, the records come before the fields of the filters.
  await page.setViewportSize({ width: 390, height: 800 })
  await visit('#/payments', 'Payments', 'payments', '$0.50 USDC to')
  await page.setViewportSize({ width: 390, height: 800 })
  await visit('#/activity', 'Audit log', 'audit-log-phone', 'Verify the log')
  assert.equal(await page.getByLabel('Transaction ID').isVisible(), false)
  await page.setViewportSize({ width: 1280, height: 860 })
  await visit('#/settings', 'Settings', 'settings', 'Genesis hash')
  const documentation = page.getByRole('link', { name: 'Documentation site' })
  assert.equal(await documentation.getAttribute('href'), 'http://127.0.0.1:4040/')

  // A wallet that the person locks stays locked, and is the first choice to unlock.
  await page.evaluate((to) => location.assign(to), `#/wallets/${walletId}`)
  await page.getByRole('button', { name: 'Lock', exact: true }).click()
  await openView(page, 'Send')
  const choice = page.getByLabel('Wallet to unlock')
  await choice.waitFor()
  assert.equal(await choice.inputValue(), walletId)
  await checkView(page, 'send-locked')
  await openView(page, 'Overview')
  await page.getByRole('link', { name: /x402-buyer.* locked/ }).waitFor()
  assertClean()

  await survivesRestart(environment, shop)
})

/** The daemon keeps the latest signatures, also the owner's. Without its file, the audit log has those of agents. */
async function survivesRestart(environment: Environment, { address, walletId, payees }: Shop): Promise<void> {
  const { daemon, dir, devnet, scope } = environment
  const unlocked = await call(daemon, '/v1/wallet/init', { wallet_id: walletId, wallet_password: '' })
  const transaction = await dollars(environment, address, payees[1]!, 70_000n)
  const signed = await call(daemon, '/v1/transaction/sign', {
    ...{ wallet_handle_token: unlocked['wallet_handle_token'], wallet_password: '' },
    transaction: Buffer.from(transaction).toString('base64'),
  })
  await environment.algod.sendRawTransaction(Buffer.from(signed['signed_transaction'] as string, 'base64')).do()

  const restart = async (running: Daemon) => {
    await running.stop()
    const next = await startDaemon(scope, dir, devnet)
    const opened = await openPage({ ...environment, daemon: next }, next.consoleLink())
    // Another address before the link was redeemed would leave the page without a session.
    await opened.page.getByRole('heading', { name: 'Last payments' }).waitFor()
    return { next, ...opened }
  }
  const { next, page, assertClean } = await restart(daemon)
  await page.getByText('$0.07 USDC').first().waitFor()
  await page.goto(`${new URL(page.url()).origin}/console/#/payments`)
  const list = page.getByRole('list', { name: 'Signed transactions and programs, newest first' })
  await list.getByText('confirmed in round').nth(4).waitFor()
  assert.equal(await list.getByRole('listitem').count(), 5)
  assert.match((await list.getByRole('listitem').first().textContent()) ?? '', /\$0\.07 USDC to/)
  assert.equal(await page.getByRole('heading', { name: 'Earlier, from the audit log' }).count(), 0)
  await checkView(page, 'payments-restarted')
  assertClean()

  rmSync(join(dir, 'latchkey_signatures.json'))
  const last = await restart(next)
  await last.page.goto(`${new URL(last.page.url()).origin}/console/#/payments`)
  await last.page.getByRole('heading', { name: 'Earlier, from the audit log' }).waitFor()
  const earlier = last.page.getByRole('list', { name: 'Earlier signatures, newest first' })
  await earlier.getByText('confirmed in round').first().waitFor()
  assert.equal(await earlier.getByRole('listitem').count(), 4)
  await checkView(last.page, 'payments-audit')
  last.assertClean()
}

function plain(texts: readonly string[]): string[] {
  return texts.map((text) => text.replace(/\s+/g, ' ').trim())
}
