/** Tests access to the console (links, passwords, handles and sessions) and its accessibility. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import algosdk from 'algosdk'
import { takeScreenshot } from './chromium.test.helper.js'
import {
  call,
  createWallet,
  focusedText,
  layoutIssues,
  openPage,
  openView,
  password,
  payment,
  review,
  sign,
  startDaemon,
  startEnvironment,
  toBase64,
  unlock,
  walletWithKeys,
} from './console.test.helper.js'

test('a link works once, and the tab stores only the session token', async (t) => {
  const environment = await startEnvironment(t)
  const link = environment.daemon.consoleLink()
  const first = await openPage(environment, link)
  await walletWithKeys(first.page, 'one', 1)
  assert.equal(new URL(first.page.url()).hash.includes(new URL(link).hash.slice(1)), false)
  const stored = await first.page.evaluate(() => ({
    session: { ...sessionStorage },
    local: { ...localStorage },
    cookies: document.cookie,
  }))
  assert.deepEqual([stored.local, stored.cookies, Object.keys(stored.session)], [{}, '', ['latchkey.session']])
  assert.equal(JSON.stringify(stored).includes(password), false)

  const second = await openPage(environment, link)
  second.expectStatus(401)
  await second.page.getByRole('heading', { name: 'This link no longer works' }).waitFor()
  await second.page.getByText('latchkey console', { exact: true }).waitFor()
  const third = await openPage(environment, new URL('/console', link).href)
  await third.page.getByText('The console opens with a link that works once.').waitFor()
  // In a tab that already shows the console, a link changes only the fragment.
  await third.page.goto(environment.daemon.consoleLink())
  await third.page.getByRole('link', { name: /one/ }).waitFor()

  await first.page.reload()
  await first.page.getByRole('link', { name: /one.* locked/ }).waitFor()
  for (const { assertClean } of [first, second, third]) assertClean()
})

test('reports a wrong password and how long the daemon blocks attempts', async (t) => {
  const environment = await startEnvironment(t)
  const { page, expectStatus, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  expectStatus(401)
  await createWallet(page, 'guarded')
  await page.getByRole('button', { name: 'Lock', exact: true }).click()
  await unlock(page, 'wrong password')
  await page.getByText('Wrong password.').waitFor()
  assert.equal(await page.getByLabel('Password', { exact: true }).inputValue(), '')
  await unlock(page)
  await page.getByRole('button', { name: 'Lock', exact: true }).click()
  await unlock(page, 'another wrong one')
  await page.getByText('Wrong password.').waitFor()
  assertClean()

  await environment.daemon.stop()
  const file = join(environment.dir, 'latchkey_failures.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace(/"streak":\s*\d+/, '"streak":12'))
  const again = await openPage(
    environment,
    (await startDaemon(environment.scope, environment.dir, environment.devnet)).consoleLink(),
  )
  again.expectStatus(429)
  await again.page.getByRole('link', { name: /guarded/ }).click()
  await unlock(again.page)
  await again.page.getByText('Too many wrong passwords.').waitFor()
  await again.page.getByText(/Try again in \d+ s\./).waitFor()
  assert.ok(await again.page.getByRole('button', { name: 'Unlock' }).isDisabled())
  again.assertClean()
})

test('locks a wallet when its handle expires', async (t) => {
  const environment = await startEnvironment(t, { config: { session_lifetime_secs: 8 } })
  const { page, expectStatus, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  // A request may reach the daemon just after the handle has expired.
  expectStatus(401)
  await createWallet(page, 'brief')
  await page.getByText('The wallet brief was locked after 8 seconds.').waitFor()
  await page.getByLabel('Password', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Dismiss' }).click()
  await page.getByText('was locked').waitFor({ state: 'detached' })
  assertClean()
})

test('the wallet of the development stack opens by itself and stays open', async (t) => {
  const environment = await startEnvironment(t, {
    config: { session_lifetime_secs: 4, session_max_lifetime_secs: 8 },
  })
  const { daemon } = environment
  const wallet = { wallet_name: 'x402-buyer', wallet_driver_name: 'sqlite', wallet_password: '' }
  await call(daemon, '/v1/wallet', wallet)
  const { page, assertClean } = await openPage(environment, daemon.consoleLink())
  const open = page.getByRole('link', { name: /x402-buyer.* unlocked/ })
  await open.waitFor()
  // Longer than a handle may live without a new password.
  await page.waitForTimeout(12_000)
  await open.waitFor()
  assert.equal(await page.getByText(/was locked after|locked the wallet/).count(), 0)
  assertClean()
})

test('a wallet with the name of the development stack and a password is tried once', async (t) => {
  const environment = await startEnvironment(t)
  const { daemon } = environment
  await call(daemon, '/v1/wallet', {
    ...{ wallet_name: 'x402-buyer', wallet_driver_name: 'sqlite', wallet_password: password },
  })
  let attempts = 0
  const { page, expectStatus, assertClean } = await openPage(environment, daemon.consoleLink(), async (one) => {
    one.on('request', (request) => {
      if (new URL(request.url()).pathname === '/v1/wallet/init') attempts++
    })
    // A slow answer, as on a busy machine: the page refreshes its wallets meanwhile.
    await one.route('**/v1/wallet/init', async (route) => {
      await one.waitForTimeout(5_000)
      await route.continue()
    })
  })
  expectStatus(401)
  expectStatus(400)
  await page.getByText('Unlock “x402-buyer” to see balances and to send').waitFor()
  await page.waitForTimeout(7_000)
  assert.equal(attempts, 1)
  assertClean()
})

test('renews the handle on input, but not without input or while the page is hidden', async (t) => {
  const environment = await startEnvironment(t, { config: { session_lifetime_secs: 30 } })
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  let renewals = 0
  page.on('request', (request) => void (request.url().endsWith('/v1/wallet/renew') && renewals++))
  await createWallet(page, 'renewed')
  const before = renewals
  // A quarter of the time has passed. Before that, and without input, the handle is not renewed.
  await page.getByText(/locks in (\d|1\d|2[0-2]) s without use/).waitFor()
  assert.equal(renewals, before)
  await page.evaluate(() => document.body.dispatchEvent(new PointerEvent('pointermove', { bubbles: true })))
  await page.evaluate(() => Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true }))
  await page.mouse.move(20, 20)
  await page.mouse.move(30, 30)
  assert.equal(renewals, before, 'neither a script nor a hidden page renews')
  await page.evaluate(() => Reflect.deleteProperty(document, 'visibilityState'))
  const renewed = page.waitForResponse('**/v1/wallet/renew')
  await page.mouse.move(40, 40)
  assert.equal((await renewed).status(), 200)
  assert.equal(renewals, before + 1)
  assertClean()
})

test('a handle expires at the maximum lifetime of the daemon, even with constant input', async (t) => {
  const config = { session_lifetime_secs: 12, session_max_lifetime_secs: 20 }
  const environment = await startEnvironment(t, { config })
  const { page, expectStatus, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  expectStatus(401)
  await createWallet(page, 'limited')
  const locked = page.getByText(/^The (daemon locked the wallet limited\.|wallet limited was locked)/)
  // The page renews a handle at most every three seconds.
  for (let step = 0; step < 120 && !(await locked.isVisible()); step++) {
    await page.mouse.move(10 + (step % 50), 10)
    await page.waitForTimeout(500)
  }
  await locked.waitFor()
  assertClean()
})

test('locks a wallet when the daemon has closed its handle', async (t) => {
  const environment = await startEnvironment(t)
  const { page, expectStatus, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  await createWallet(page, 'ended')
  expectStatus(401)
  await page.getByRole('button', { name: 'Generate key' }).waitFor()
  const walletId = new URL(page.url()).hash.slice('#/wallets/'.length)
  await call(environment.daemon, '/latchkey/v1/wallet/password', {
    wallet_id: walletId,
    wallet_password: password,
    new_wallet_password: password,
  })
  await page.getByRole('button', { name: 'Generate key' }).click()
  await page.getByText('The daemon locked the wallet ended.').waitFor()
  await page.getByLabel('Password', { exact: true }).waitFor()
  assertClean()
})

test('unlocks a wallet with only the keyboard, without losing the focus', async (t) => {
  const environment = await startEnvironment(t)
  await call(environment.daemon, '/v1/wallet', {
    wallet_name: 'keys only',
    wallet_driver_name: 'sqlite',
    wallet_password: password,
  })
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  await page.getByRole('link', { name: /keys only/ }).waitFor()
  await page.getByRole('link', { name: 'Wallets', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Wallets', level: 1 }).waitFor()
  await page.getByRole('button', { name: 'Skip to content' }).focus()
  assert.equal(await focusedText(page), 'Skip to content')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  assert.equal(await focusedText(page), 'Create wallet')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal(await focusedText(page), 'Create wallet')
  await page.keyboard.press('Tab')
  assert.match(await focusedText(page), /^keys only/)
  await page.keyboard.press('Enter')
  await page.getByLabel('Password', { exact: true }).waitFor()
  await page.keyboard.type(password)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Generate key' }).waitFor()
  assert.equal(await focusedText(page), 'keys only')
  for (const button of ['Lock', 'Generate key']) {
    await page.keyboard.press('Tab')
    assert.equal(await focusedText(page), button)
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement!).outlineStyle)
    assert.equal(outline, 'solid')
  }
  assertClean()
})

test('shows that the session was closed by the button or by the daemon', async (t) => {
  const environment = await startEnvironment(t)
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  await walletWithKeys(page, 'short', 1)
  await page.getByRole('button', { name: 'End session' }).click()
  await page.getByRole('heading', { name: 'You ended the session' }).waitFor()
  assert.deepEqual(await page.evaluate(() => ({ ...sessionStorage })), {})
  const health = await fetch(`http://${environment.daemon.address}/latchkey/v1/health`, {
    headers: { 'X-KMD-API-Token': readFileSync(environment.daemon.tokenFile, 'utf8') },
  })
  assert.equal(((await health.json()) as { open_handles: number }).open_handles, 0)
  assertClean()

  const other = await openPage(environment, environment.daemon.consoleLink())
  other.expectStatus(401)
  await other.page.getByRole('link', { name: /short/ }).waitFor()
  const sessionToken = await other.page.evaluate(() => sessionStorage.getItem('latchkey.session')!)
  const closed = await fetch(`http://${environment.daemon.address}/latchkey/v1/console/close`, {
    method: 'POST',
    headers: { 'X-KMD-API-Token': sessionToken },
    body: '{}',
  })
  assert.equal(closed.status, 200)
  await other.page.getByRole('heading', { name: 'The session has ended' }).waitFor()
  other.assertClean()
})

test('signs without a node, and explains how to configure one', async (t) => {
  const environment = await startEnvironment(t, { hasNode: false })
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const [address] = await walletWithKeys(page, 'offline', 1)
  await page.getByText('No node configured', { exact: true }).waitFor()
  await page.getByText(/Balances are not available.*start the daemon with --node URL/).waitFor()
  const transaction = await payment(environment, { from: address!, to: address!, microAlgos: 0 })
  await review(page, toBase64(transaction))
  await page.getByText('Sender and receiver are the same account.').waitFor()
  assert.equal(
    await page.getByLabel(/type sign anyway/).count(),
    0,
    'a warning about a reversible effect needs no confirmation',
  )
  assert.equal(algosdk.decodeSignedTransaction(await sign(page, 'offline')).txn.txID(), transaction.txID())
  await openView(page, 'Settings')
  await page.getByText('not configured', { exact: true }).waitFor()
  await page.getByText(/start the daemon with --node URL/).waitFor()
  assertClean()
})

test('reports an unreachable node in the header and next to missing balances', async (t) => {
  const environment = await startEnvironment(t)
  const { page, expectStatus, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  await walletWithKeys(page, 'cut off', 1)
  await page.getByText('0 ALGO', { exact: true }).waitFor()
  expectStatus(503)
  await environment.devnet.stop()
  await page.getByText(/Balances are not available/).waitFor()
  await openView(page, 'Settings')
  await page.getByText('not reachable', { exact: true }).waitFor()
  await page
    .getByText(/not reachable$/)
    .first()
    .waitFor()
  assertClean()
})

test('marks MainNet as real money', async (t) => {
  const environment = await startEnvironment(t)
  const { page, assertClean } = await openPage(environment, new URL('/console/', environment.daemon.consoleLink()).href)
  // Tests cannot reach MainNet, so only the daemon's node status is replaced.
  await page.route('**/latchkey/v1/node', (route) =>
    route.fulfill({ json: { is_set: true, is_reachable: true, network: 'mainnet', last_round: 50_000_000 } }),
  )
  await page.goto(environment.daemon.consoleLink())
  await page.getByText('MainNet: real money').waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width: 360, height: 700 })
    assert.deepEqual(await layoutIssues(page), [])
  }
  assertClean()
})

test('every view is readable in light and dark, wide and narrow', async (t) => {
  const environment = await startEnvironment(t)
  const { page, expectStatus, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  expectStatus(400)
  const checkView = async (view: string): Promise<void> => {
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1280, 360]) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 800 })
        assert.deepEqual(await layoutIssues(page), [], `${view}, ${colorScheme}, ${width} pixels`)
        await takeScreenshot(page, `console-${view}-${colorScheme}-${width}`)
      }
    }
  }
  await page.getByText('No wallets yet.').waitFor()
  await page.getByRole('button', { name: 'Create wallet' }).click()
  await page.getByText('For tests only.').waitFor()
  await checkView('create')
  await page.keyboard.press('Escape')
  const [first, second] = await walletWithKeys(
    page,
    'a wallet with a name as long as names of wallets may be, or so',
    2,
  )
  environment.devnet.fund(first!, { microAlgos: 10n ** 15n, microDollars: 10n ** 12n })
  await page.getByText('1,000,000,000 ALGO').waitFor()
  await checkView('wallet')
  await openView(page, 'Sign')
  await page.getByLabel('Transaction or group, as base64').fill('AAAA')
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByText('Could not decode transaction').waitFor()
  await checkView('sign')
  const risky = await payment(environment, {
    from: first!,
    to: second!,
    microAlgos: 1,
    rekeyTo: second!,
    closeTo: second!,
  })
  await review(page, toBase64(risky))
  await page.getByText(/It rekeys/).waitFor()
  await checkView('review')
  await page.getByLabel(/type sign anyway/).fill('sign anyway')
  await sign(page, 'a wallet with a name as long as names of wallets may be, or so')
  await checkView('signed')
  await openView(page, 'Payments')
  await page.getByText('not found on the network').waitFor()
  await checkView('payments')
  await openView(page, 'Settings')
  await page.getByText('Genesis hash').waitFor()
  await checkView('health')
  await page.getByRole('button', { name: 'Menu' }).click()
  await page.getByRole('button', { name: 'End session' }).click()
  await page.getByRole('heading', { name: 'You ended the session' }).waitFor()
  await checkView('ended')
  assertClean()
})
