/** Tests what the console loads and when, and what it shows if a part does not load. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { axeIssues } from './axe.test.helper.js'
import { type Page, takeScreenshot, timeoutMs } from './chromium.test.helper.js'
import { createWallet, layoutIssues, openPage, openView, startEnvironment } from './console.test.helper.js'

const failure = 'This part of the console did not load'

async function judge(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 390]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 860 })
      assert.deepEqual(await layoutIssues(page), [], `${name}, ${colorScheme}, ${width} pixels`)
      assert.deepEqual(await axeIssues(page), [], `${name}, ${colorScheme}, ${width} pixels`)
      await takeScreenshot(page, `loading-${name}-${colorScheme}-${width}`)
    }
  }
  await page.setViewportSize({ width: 1280, height: 860 })
}

/** Simulates an update of the daemon, which then has different files. */
const isMissing =
  (file: RegExp) =>
  async (page: Page): Promise<void> => {
    await page.route(file, (route) => {
      const url = route
        .request()
        .url()
        .replace(/-[\w-]+\.js$/, '-0ld.js')
      return route.continue({ url })
    })
  }

test('every file is compressed, below the path and with the policy of the console', async (t) => {
  const environment = await startEnvironment(t, { hasNode: false })
  const seen: { path: string; encoding: string | undefined; policy: string | undefined }[] = []
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink(), async (one) => {
    one.on('response', (response) => {
      const { pathname: path } = new URL(response.url())
      const headers = response.headers()
      const isFile = /^\/console\//.test(path) && response.request().method() === 'GET'
      if (isFile) seen.push({ path, encoding: headers['content-encoding'], policy: headers['content-security-policy'] })
    })
  })
  await page.getByText('Create your first wallet').waitFor()
  const later = ['WalletsView', 'SendView', 'ReceiveView', 'SignView', 'BackupDialog', 'QrCode', 'SettingsView']
  const isLoaded = (name: string): boolean => seen.some(({ path }) => path.startsWith(`/console/assets/${name}-`))
  // These files load automatically after the first screen.
  const deadlineMs = Date.now() + timeoutMs
  while (!later.every(isLoaded) && Date.now() < deadlineMs) await sleep(50)
  assert.deepEqual(
    later.filter((name) => !isLoaded(name)),
    [],
  )
  for (const { path, encoding, policy } of seen) {
    assert.equal(encoding, 'gzip', path)
    assert.match(policy ?? '', /default-src 'none'; script-src 'self'/, path)
  }
  assertClean()
})

test('reports a view that does not load; a reload repairs it in the same session', async (t) => {
  const environment = await startEnvironment(t, { hasNode: false })
  const file = /\/assets\/SignView-/
  const { page } = await openPage(environment, environment.daemon.consoleLink(), isMissing(file))
  await page.getByText('Create your first wallet').waitFor()
  await openView(page, 'Sign')
  await page.getByRole('heading', { name: failure }).waitFor()
  await judge(page, 'view')
  await openView(page, 'Settings')
  await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor()
  await openView(page, 'Sign')
  // The view is retried, and fails as long as the file is missing.
  await page.getByRole('heading', { name: failure }).waitFor()
  await page.unroute(file)
  await page.getByRole('button', { name: 'Reload the console' }).click()
  await page.getByLabel('Transaction or group, as base64').waitFor()
  assert.equal(await page.getByText(failure).count(), 0)
})

test('reports a dialog that does not load, and keeps its wallet marked for backup', async (t) => {
  const environment = await startEnvironment(t, { hasNode: false })
  const file = /\/assets\/BackupDialog-/
  const { page } = await openPage(environment, environment.daemon.consoleLink())
  await createWallet(page, 'savings')
  await isMissing(file)(page)
  await page.reload()
  await openView(page, 'Overview')
  await page.getByRole('button', { name: 'Back up savings' }).click()
  const dialog = page.getByRole('dialog', { name: failure })
  await dialog.waitFor()
  await judge(page, 'dialog')
  await page.unroute(file)
  await dialog.getByRole('button', { name: 'Reload the console' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Back up savings' }).click()
  await page.getByRole('heading', { name: 'Back up savings' }).waitFor()
})

test('reports a console whose script does not load', async (t) => {
  const environment = await startEnvironment(t, { hasNode: false })
  const { page } = await openPage(environment, environment.daemon.consoleLink(), async (one) => {
    await one.route(/\/assets\/index-.*\.js/, (route) => route.abort('failed'))
  })
  await page.getByText('Opening…').waitFor()
  const late = page.getByText('The console has not fully loaded')
  assert.equal(await late.isVisible(), false)
  await page.evaluate('for (const animation of document.getAnimations()) animation.finish()')
  await late.waitFor()
  await takeScreenshot(page, 'loading-late-console')
})
