/** Getting in and out of the console, and being kept out: links, passwords, handles, the keyboard, the eye. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import algosdk from 'algosdk'
import { takeScreenshot } from './chromium.test.helper.js'
import {
  call,
  createWallet,
  flaws,
  focused,
  openPage,
  password,
  paste,
  payment,
  sign,
  startDaemon,
  startWorld,
  toBase64,
  unlock,
  walletWithKeys,
} from './console.test.helper.js'

test('the link works once, and nothing secret is kept but the session of the tab', async (t) => {
  const world = await startWorld(t)
  const link = world.daemon.consoleLink()
  const first = await openPage(world, link)
  await walletWithKeys(first.page, 'one', 1)
  assert.equal(new URL(first.page.url()).hash.includes(new URL(link).hash.slice(1)), false)
  const kept = await first.page.evaluate(() => ({
    session: { ...sessionStorage },
    local: { ...localStorage },
    cookies: document.cookie,
  }))
  assert.deepEqual([kept.local, kept.cookies, Object.keys(kept.session)], [{}, '', ['latchkey.session']])
  assert.equal(JSON.stringify(kept).includes(password), false)

  const second = await openPage(world, link)
  second.expectRefusal(401)
  await second.page.getByRole('heading', { name: 'This link no longer works' }).waitFor()
  await second.page.getByText('latchkey console', { exact: true }).waitFor()
  const third = await openPage(world, new URL('/console', link).href)
  await third.page.getByText('This page is opened by a link that works once.').waitFor()
  // In a tab that shows the page already, a link changes only what is after the #.
  await third.page.goto(world.daemon.consoleLink())
  await third.page.getByRole('link', { name: /one/ }).waitFor()

  await first.page.reload()
  await first.page.getByRole('link', { name: /one locked/ }).waitFor()
  for (const { assertClean } of [first, second, third]) assertClean()
})

test('a wrong password is said to be one, and costs the time that the daemon says', async (t) => {
  const world = await startWorld(t)
  const { page, expectRefusal, assertClean } = await openPage(world, world.daemon.consoleLink())
  expectRefusal(401)
  await createWallet(page, 'guarded')
  await unlock(page, 'not this one')
  await page.getByText('Wrong password.').waitFor()
  assert.equal(await page.getByLabel('Password', { exact: true }).inputValue(), '')
  await unlock(page)
  await page.getByRole('button', { name: 'Lock', exact: true }).click()
  await unlock(page, 'nor this')
  await page.getByText('Wrong password.').waitFor()
  assertClean()

  await world.daemon.stop()
  const file = join(world.dir, 'latchkey_failures.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace(/"streak":\s*\d+/, '"streak":12'))
  const again = await openPage(world, (await startDaemon(world.scope, world.dir, world.devnet)).consoleLink())
  again.expectRefusal(429)
  await again.page.getByRole('link', { name: /guarded/ }).click()
  await unlock(again.page)
  await again.page.getByText('Too many wrong passwords.').waitFor()
  await again.page.getByText(/The next one is looked at in \d+ s\./).waitFor()
  assert.ok(await again.page.getByRole('button', { name: 'Unlock' }).isDisabled())
  again.assertClean()
})

test('a wallet locks itself when its time is over', async (t) => {
  const world = await startWorld(t, { config: { session_lifetime_secs: 3 } })
  const { page, expectRefusal, assertClean } = await openPage(world, world.daemon.consoleLink())
  // The page's clock may be the later one, and what it asks in between is refused.
  expectRefusal(401)
  await createWallet(page, 'brief')
  await unlock(page)
  await page.getByText(/locks in [1-3] s/).waitFor()
  await page.getByRole('button', { name: 'Stay unlocked' }).click()
  await page.getByText('The wallet brief locked itself after 3 seconds.').waitFor()
  await page.getByLabel('Password', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Dismiss' }).click()
  await page.getByText('locked itself').waitFor({ state: 'detached' })
  assertClean()
})

test('a wallet whose handle the daemon ended is locked here too', async (t) => {
  const world = await startWorld(t)
  const { page, expectRefusal, assertClean } = await openPage(world, world.daemon.consoleLink())
  await createWallet(page, 'ended')
  expectRefusal(401)
  await unlock(page)
  await page.getByRole('button', { name: 'Generate key' }).waitFor()
  const walletId = new URL(page.url()).hash.slice('#/wallets/'.length)
  await call(world.daemon, '/latchkey/v1/wallet/password', {
    wallet_id: walletId,
    wallet_password: password,
    new_wallet_password: password,
  })
  await page.getByRole('button', { name: 'Generate key' }).click()
  await page.getByText('The daemon has locked the wallet ended.').waitFor()
  await page.getByLabel('Password', { exact: true }).waitFor()
  assertClean()
})

test('by keyboard alone a wallet is unlocked, and the focus is never lost', async (t) => {
  const world = await startWorld(t)
  await call(world.daemon, '/v1/wallet', {
    wallet_name: 'keys only',
    wallet_driver_name: 'sqlite',
    wallet_password: password,
  })
  const { page, assertClean } = await openPage(world, world.daemon.consoleLink())
  await page.getByRole('link', { name: /keys only/ }).waitFor()
  await page.keyboard.press('Tab')
  assert.equal(await focused(page), 'Skip to content')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  assert.equal(await focused(page), 'Create wallet')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal(await focused(page), 'Create wallet')
  await page.keyboard.press('Tab')
  assert.match(await focused(page), /^keys only/)
  await page.keyboard.press('Enter')
  await page.getByLabel('Password', { exact: true }).waitFor()
  await page.keyboard.type(password)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Generate key' }).waitFor()
  assert.equal(await focused(page), 'keys only')
  for (const button of ['Stay unlocked', 'Lock', 'Generate key']) {
    await page.keyboard.press('Tab')
    assert.equal(await focused(page), button)
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement!).outlineStyle)
    assert.equal(outline, 'solid')
  }
  assertClean()
})

test('a session is ended by its button, and one that the daemon ended leads to the same calm page', async (t) => {
  const world = await startWorld(t)
  const { page, assertClean } = await openPage(world, world.daemon.consoleLink())
  await walletWithKeys(page, 'short', 1)
  await page.getByRole('button', { name: 'End session' }).click()
  await page.getByRole('heading', { name: 'You have ended the session' }).waitFor()
  assert.deepEqual(await page.evaluate(() => ({ ...sessionStorage })), {})
  const health = await fetch(`http://${world.daemon.address}/latchkey/v1/health`, {
    headers: { 'X-KMD-API-Token': readFileSync(world.daemon.tokenFile, 'utf8') },
  })
  assert.equal(((await health.json()) as { open_handles: number }).open_handles, 0)
  assertClean()

  const other = await openPage(world, world.daemon.consoleLink())
  other.expectRefusal(401)
  await other.page.getByRole('link', { name: /short/ }).waitFor()
  const stolen = await other.page.evaluate(() => sessionStorage.getItem('latchkey.session')!)
  const closed = await fetch(`http://${world.daemon.address}/latchkey/v1/console/close`, {
    method: 'POST',
    headers: { 'X-KMD-API-Token': stolen },
    body: '{}',
  })
  assert.equal(closed.status, 200)
  await other.page.getByRole('heading', { name: 'The session has ended' }).waitFor()
  other.assertClean()
})

test('without a node the page says so and how to set one, and signs all the same', async (t) => {
  const world = await startWorld(t, { hasNode: false })
  const { page, assertClean } = await openPage(world, world.daemon.consoleLink())
  const [address] = await walletWithKeys(page, 'offline', 1)
  await page.getByText('No node set', { exact: true }).waitFor()
  await page.getByText(/Balances are not shown.*start the daemon with --node URL/).waitFor()
  const transaction = await payment(world, { from: address!, to: address!, microAlgos: 0 })
  await paste(page, toBase64(transaction))
  await page.getByText('Sender and receiver are the same account.').waitFor()
  assert.equal(await page.getByLabel(/type sign anyway/).count(), 0, 'what can be mended takes no more than a look')
  assert.equal(algosdk.decodeSignedTransaction(await sign(page, 'offline')).txn.txID(), transaction.txID())
  await page.getByRole('link', { name: 'Health' }).click()
  await page.getByText('not set', { exact: true }).waitFor()
  await page.getByText(/start the daemon with --node URL/).waitFor()
  assertClean()
})

test('a node that goes away is named, on top and where its answers are missing', async (t) => {
  const world = await startWorld(t)
  const { page, expectRefusal, assertClean } = await openPage(world, world.daemon.consoleLink())
  await walletWithKeys(page, 'cut off', 1)
  await page.getByText('0 ALGO').waitFor()
  expectRefusal(503)
  await world.devnet.stop()
  await page.getByText(/Balances are not shown/).waitFor()
  await page.getByRole('link', { name: 'Health' }).click()
  await page.getByText('not reachable', { exact: true }).waitFor()
  await page
    .getByText(/not reachable$/)
    .first()
    .waitFor()
  assertClean()
})

test('MainNet is marked as real money', async (t) => {
  const world = await startWorld(t)
  const { page, assertClean } = await openPage(world, new URL('/console/', world.daemon.consoleLink()).href)
  // No test can ask the real one: only what the daemon tells of its node is put in its place.
  await page.route('**/latchkey/v1/node', (route) =>
    route.fulfill({ json: { is_set: true, is_reachable: true, network: 'mainnet', last_round: 50_000_000 } }),
  )
  await page.goto(world.daemon.consoleLink())
  await page.getByText('MainNet: real money').waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width: 360, height: 700 })
    assert.deepEqual(await flaws(page), [])
  }
  assertClean()
})

test('every view can be read in light and in dark, on a wide window and on a narrow one', async (t) => {
  const world = await startWorld(t)
  const { page, expectRefusal, assertClean } = await openPage(world, world.daemon.consoleLink())
  expectRefusal(400)
  const look = async (view: string): Promise<void> => {
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1280, 360]) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 800 })
        assert.deepEqual(await flaws(page), [], `${view}, ${colorScheme}, ${width} pixels`)
        await takeScreenshot(page, `console-${view}-${colorScheme}-${width}`)
      }
    }
  }
  await page.getByText('There is no wallet yet.').waitFor()
  await page.getByRole('button', { name: 'Create wallet' }).click()
  await page.getByText('Right for tests only.').waitFor()
  await look('create')
  await page.keyboard.press('Escape')
  const [first, second] = await walletWithKeys(
    page,
    'a wallet with a name as long as names of wallets may be, or so',
    2,
  )
  world.devnet.fund(first!, { microAlgos: 10n ** 15n, microDollars: 10n ** 12n })
  await page.getByText('1,000,000,000 ALGO').waitFor()
  await look('wallet')
  await page.getByRole('link', { name: 'Sign', exact: true }).click()
  await page.getByLabel('Transaction or group, as base64').fill('AAAA')
  await page.getByRole('button', { name: 'Read it' }).click()
  await page.getByText('Could not decode transaction').waitFor()
  await look('sign')
  const risky = await payment(world, { from: first!, to: second!, microAlgos: 1, rekeyTo: second!, closeTo: second! })
  await paste(page, toBase64(risky))
  await page.getByText(/It rekeys/).waitFor()
  await look('review')
  await page.getByLabel(/type sign anyway/).fill('sign anyway')
  await sign(page, 'a wallet with a name as long as names of wallets may be, or so')
  await look('signed')
  await page.getByRole('link', { name: 'Payments', exact: true }).click()
  await page.getByText('not seen yet').waitFor()
  await look('payments')
  await page.getByRole('link', { name: 'Health' }).click()
  await page.getByText('Genesis hash').waitFor()
  await look('health')
  await page.getByRole('button', { name: 'End session' }).click()
  await page.getByRole('heading', { name: 'You have ended the session' }).waitFor()
  await look('ended')
  assertClean()
})
