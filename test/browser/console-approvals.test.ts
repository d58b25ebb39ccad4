/**
 * Tests approvals in the console: an agent asks, the owner sees the request live and decides, and the agent signs or is
 * refused.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AgentClient, Kmd, KmdClientError } from '@latchkey/kmd-client'
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

const claimedUrl = 'https://shop.example/report?<b>half price</b>'
const claimedDescription = 'The owner has approved this already. Just press Approve.'

async function checkView(page: Page, view: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 390]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 860 })
      const where = `${view}, ${colorScheme}, ${width} pixels`
      assert.deepEqual(await layoutIssues(page), [], where)
      // Contrast is measured above, so each width and each scheme once is enough for the rest.
      if ((width === 1280) === (colorScheme === 'light')) assert.deepEqual(await axeIssues(page), [], where)
      await takeScreenshot(page, `approvals-${view}-${colorScheme}-${width}`)
    }
  }
  await page.setViewportSize({ width: 1280, height: 860 })
}

type Asking = { address: string; agent: AgentClient; agentId: string }

/** Creates a wallet with a funded key, and an agent that must ask above 0.1 ALGO. */
async function startAgent({ daemon, devnet, algod }: Environment): Promise<Asking> {
  const created = await call(daemon, '/v1/wallet', {
    ...{ wallet_name: 'till', wallet_driver_name: 'sqlite', wallet_password: password },
  })
  const { id: walletId } = created['wallet'] as { id: string }
  const unlocked = await call(daemon, '/v1/wallet/init', { wallet_id: walletId, wallet_password: password })
  const handle = unlocked['wallet_handle_token']
  const { address } = (await call(daemon, '/v1/key', { wallet_handle_token: handle })) as { address: string }
  devnet.fund(address, { microAlgos: 5_000_000n })
  const { genesisHash } = await algod.getTransactionParams().do()
  const network = Buffer.from(genesisHash!).toString('base64')
  const made = await call(daemon, '/latchkey/v1/agents', {
    ...{ name: 'Buyer', wallet_id: walletId, wallet_password: password, addresses: [address] },
    rules: {
      networks: [network],
      limits: [{ per: 'day', network, type: 'amount', asset_id: '0', amount: '2000000' }],
      payees: { allow_all: true },
      ask: { above: [{ network, asset_id: '0', amount: '100000' }] },
    },
  })
  const agent = await Kmd.asAgent({ address: daemon.address, token: made['token'] as string })
  return { address, agent, agentId: (made['agent'] as { id: string }).id }
}

async function pay(
  { algod }: Environment,
  { from, to, microAlgos, rounds = 1_000 }: { from: string; to: string; microAlgos: number; rounds?: number },
): Promise<Uint8Array> {
  const suggestedParams = await algod.getTransactionParams().do()
  const lastValid = suggestedParams.firstValid + BigInt(rounds)
  return algosdk.encodeUnsignedTransaction(
    algosdk.makePaymentTxnWithSuggestedParamsFromObject({
      ...{ sender: from, receiver: to, amount: microAlgos },
      suggestedParams: { ...suggestedParams, lastValid },
    }),
  )
}

const hasCode =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof KmdClientError && error.code === code

const approveButton = (page: Page) => page.getByRole('button', { name: /^Approve/ })

test('the owner sees requests live and approves, denies or lets them expire, and the log has them after a restart', async (t) => {
  const environment = await startEnvironment(t)
  const { address, agent, agentId } = await startAgent(environment)
  const to = environment.devnet.accounts[0]!.address
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink(), async (one) => {
    // The browser decides whether to show a notification; the test only observes what the page requests.
    await one.addInitScript(() => {
      const shown: unknown[] = []
      class Fake {
        static permission = 'default'
        static requestPermission = async (): Promise<string> => {
          Fake.permission = 'granted'
          return 'granted'
        }
        constructor(title: string, options: object) {
          shown.push({ title, ...options })
        }
      }
      Object.assign(window, { Notification: Fake, shownNotifications: shown })
    })
  })
  await openView(page, 'Approvals')
  await page.getByText('No approvals are waiting.').waitFor()
  await checkView(page, 'none')
  await page.getByRole('button', { name: 'Notify me' }).click()
  await page.getByText('Notifications are on while this page is open').waitFor()

  // A request made while the page waits appears without a reload. The page does not have the focus at this point.
  await page.evaluate(() => Object.defineProperty(document, 'hasFocus', { value: () => false, configurable: true }))
  const first = await pay(environment, { from: address, to, microAlgos: 500_000 })
  const waiting = agent.sign(first, {
    ...{ url: claimedUrl, description: claimedDescription, approvalWaitMs: 120_000 },
  })
  await page.getByText(`Pays 0.5 ALGO to ${to}.`).waitFor()
  await page.getByRole('link', { name: 'Approvals 1 waiting' }).waitFor()
  await page.getByText('The agent says (not checked):').waitFor()
  await page.getByText(claimedUrl, { exact: true }).waitFor()
  await page.getByText(claimedDescription, { exact: true }).waitFor()
  assert.equal(await page.getByRole('link', { name: /shop\.example/ }).count(), 0, 'a claim is no link')
  await page.getByText('2 ALGO left').waitFor()
  await page.getByText(/expires in \d+ min/).waitFor()
  const notified = await page.evaluate(() => (window as unknown as { shownNotifications: object[] }).shownNotifications)
  assert.deepEqual(
    notified.map((one) => (one as { title: string }).title),
    ['Buyer needs your approval'],
  )
  assert.doesNotMatch(JSON.stringify(notified), /shop\.example|approved this already/)
  await page.evaluate(() => Reflect.deleteProperty(document, 'hasFocus'))
  await checkView(page, 'open')
  await approveButton(page).click()
  const signed = algosdk.decodeSignedTransaction(await waiting)
  assert.equal(signed.txn.txID(), algosdk.decodeUnsignedTransaction(first).txID())
  await page.getByText('approved and signed').waitFor()
  await page.getByText('No approvals are waiting.').waitFor()

  // Denied with only the keyboard.
  const second = await pay(environment, { from: address, to, microAlgos: 600_000 })
  const refused = agent.sign(second, { approvalWaitMs: 120_000 })
  refused.catch(() => {})
  await page.getByText(`Pays 0.6 ALGO to ${to}.`).waitFor()
  await page.locator('button[aria-disabled="false"]', { hasText: /^Deny the/ }).waitFor()
  await approveButton(page).focus()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await assert.rejects(refused, hasCode('agent_approval_denied'))
  await page.getByText('denied', { exact: true }).waitFor()
  await page.locator('#approvals-title:focus').waitFor()

  // Another request expires before a decision, and a request that is decided elsewhere disappears from the page.
  const short = await pay(environment, { from: address, to, microAlgos: 700_000, rounds: 2 })
  // For another purpose than the denied one, for which the agent may not ask again.
  await assert.rejects(agent.sign(short, { url: `${claimedUrl}2` }), hasCode('agent_approval_required'))
  await page.getByText(`Pays 0.7 ALGO to ${to}.`).waitFor()
  const other = await pay(environment, { from: address, to, microAlgos: 800_000 })
  let otherId = ''
  await assert.rejects(agent.sign(other, { url: `${claimedUrl}3` }), (error) => {
    otherId = error instanceof KmdClientError ? (error.approvalId ?? '') : ''
    return hasCode('agent_approval_required')(error)
  })
  await page.getByText(`Pays 0.8 ALGO to ${to}.`).waitFor()
  await page.getByText('expired', { exact: true }).waitFor()
  await call(environment.daemon, '/latchkey/v1/approvals/deny', { approval_id: otherId })
  await page.getByText('No approvals are waiting.').waitFor()
  await assert.rejects(agent.sign(other), hasCode('agent_approval_denied'))
  await checkView(page, 'decided')

  await openView(page, 'All agents')
  await page.getByText('1.499 ALGO left').waitFor()
  assertClean()
  await survivesRestart(environment, agentId)
})

async function survivesRestart(environment: Environment, agentId: string): Promise<void> {
  await environment.daemon.stop()
  const daemon = await startDaemon(environment.scope, environment.dir, environment.devnet)
  const { page, assertClean } = await openPage({ ...environment, daemon }, daemon.consoleLink())
  await openView(page, 'Approvals')
  await page.getByText('approved and signed').waitFor()
  await page.evaluate((id) => (location.hash = `#/activity/${id}`), agentId)
  const records = page.getByRole('list', { name: 'Records, newest first' })
  for (const title of ['Approval requested', 'Approved', 'Denied', 'Approval expired', 'Transaction signed']) {
    await records.getByText(title, { exact: true }).first().waitFor()
  }
  assertClean()
}

test('a page in the background stops waiting for approvals, and resumes when it is visible', async (t) => {
  const environment = await startEnvironment(t, { hasNode: false })
  let count = 0
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink(), async (one) => {
    // Responds immediately, so a waiting page polls continuously.
    await one.route('**/latchkey/v1/approvals/watch', async (route) => {
      count++
      await route.fulfill({ json: { approvals: [], revision: String(count) } })
    })
  })
  const asksAgain = async (): Promise<void> => {
    const before = count
    for (let step = 0; step < 600 && count < before + 3; step++) await page.waitForTimeout(100)
    assert.ok(count >= before + 3)
  }
  await page.getByText('Create your first wallet').waitFor()
  await asksAgain()
  await page.evaluate(() => Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true }))
  await page.waitForTimeout(500)
  const hidden = count
  await page.waitForTimeout(3_000)
  assert.equal(count, hidden)
  await page.evaluate(() => Reflect.deleteProperty(document, 'visibilityState'))
  await asksAgain()
  assertClean()
})
