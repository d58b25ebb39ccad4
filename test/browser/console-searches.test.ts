/** Tests searches in the console whose responses arrive out of order. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, openPage, openView, password, startEnvironment } from './console.test.helper.js'

test('the response to an earlier audit log search does not replace a later one', async (t) => {
  const environment = await startEnvironment(t)
  const wallet = { wallet_name: 'savings', wallet_driver_name: 'sqlite', wallet_password: password }
  await call(environment.daemon, '/v1/wallet', wallet)
  const { page } = await openPage(environment, environment.daemon.consoleLink())
  let release = (): void => {}
  const isReleased = new Promise<void>((resolve) => {
    release = resolve
  })
  const isEarlier = (body: string | null): boolean => body?.includes('matches nothing') === true
  await page.route('**/latchkey/v1/audit/search', async (route) => {
    if (isEarlier(route.request().postData())) await isReleased
    await route.continue()
  })
  await openView(page, 'Audit log')
  const created = page.getByRole('list', { name: 'Records, newest first' }).getByText('Wallet created').first()
  await created.waitFor()
  await page.getByLabel('Text', { exact: true }).fill('matches nothing')
  await page.getByRole('button', { name: 'Filter', exact: true }).click()
  await created.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Clear', exact: true }).click()
  await created.waitFor()
  const earlier = page.waitForResponse((response) => isEarlier(response.request().postData()))
  release()
  await (await earlier).finished()
  // The page draws the result in the next frame.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
  assert.equal(await created.isVisible(), true)
})
