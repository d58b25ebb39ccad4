/** Tests the console in daily use: first screen, backup of a new wallet, labels, search, and unlocking on demand. */
import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Mnemonic } from '@latchkey/algorand'
import { axeIssues } from './axe.test.helper.js'
import { type Page, takeScreenshot } from './chromium.test.helper.js'
import {
  call,
  createWallet,
  layoutIssues,
  openPage,
  openView,
  password,
  payment,
  review,
  startEnvironment,
  startWallet,
  toBase64,
  walletWithKeys,
} from './console.test.helper.js'

/** Checks the page at both widths, in both colour schemes. */
async function judge(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 390]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 860 })
      const what = `${name}, ${colorScheme}, ${width} pixels`
      assert.deepEqual(await layoutIssues(page), [], what)
      // Contrast is measured above, so each width and each scheme once is enough for the rest.
      if ((width === 1280) === (colorScheme === 'light')) assert.deepEqual(await axeIssues(page), [], what)
      await takeScreenshot(page, `everyday-${name}-${colorScheme}-${width}`)
    }
  }
  await page.setViewportSize({ width: 1280, height: 860 })
}

const shownWords = (page: Page): Promise<string[]> =>
  page.locator('.words li').evaluateAll((items) => items.map((item) => item.textContent!.replace(/^\d+\s*/, '').trim()))

async function checkWords(page: Page, words: readonly string[]): Promise<void> {
  for (const field of await page.getByLabel(/^Word \d+$/).all()) {
    const label = await field.evaluate((element) => (element as HTMLInputElement).labels![0]!.textContent!)
    await field.fill(words[Number(label.replace('Word ', '')) - 1] ?? '')
  }
  await page.getByRole('button', { name: 'Check', exact: true }).click()
}

test('creating a wallet leads to its backup, which is checked and then cannot be shown again', async (t) => {
  const environment = await startEnvironment(t)
  const { page, expectStatus, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  await page.getByText('Create your first wallet').waitFor()
  await judge(page, 'first')
  await startWallet(page, 'savings')
  const show = page.getByRole('button', { name: 'Show the words' })
  for (const text of ['every key generated', 'imported keys', 'multisig accounts: note their members']) {
    await page.getByText(text).waitFor()
  }
  await judge(page, 'backup')
  assert.ok(await show.isDisabled())
  await page.getByLabel(/type “show words”/).fill('show')
  assert.ok(await show.isDisabled())
  await page.getByLabel(/type “show words”/).fill('“Show words”')
  await show.click()
  const list = page.getByRole('list', { name: 'The 25 words' })
  await list.waitFor()
  const words = await shownWords(page)
  assert.equal(words.length, 25)
  await judge(page, 'words')

  await page.getByRole('button', { name: 'I have written them down' }).click()
  await page.getByText('Type two of the words').waitFor()
  await judge(page, 'check')
  const html = await page.content()
  assert.equal(words.filter((word) => new RegExp(`\\b${word}\\b`).test(html)).length < 5, true, 'the words are gone')
  await checkWords(page, words.toReversed())
  await page.getByText(/^Not right: word \d+/).waitFor()
  await checkWords(page, words)
  await page.getByText('Backed up.').waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('heading', { name: 'savings', exact: true }).waitFor()
  assert.equal(await page.getByText('not backed up').count(), 0)

  // The words belong to the wallet, and the console can no longer request them.
  await page.getByRole('button', { name: 'Generate key' }).click()
  const walletId = new URL(page.url()).hash.slice('#/wallets/'.length)
  const opened = await call(environment.daemon, '/v1/wallet/init', { wallet_id: walletId, wallet_password: password })
  const credentials = { wallet_handle_token: opened['wallet_handle_token'], wallet_password: password }
  const exported = await call(environment.daemon, '/v1/master-key/export', credentials)
  const key = Uint8Array.from(exported['master_derivation_key'] as number[])
  assert.equal(words.join(' '), Mnemonic.encode(key))
  expectStatus(403)
  const status = await page.evaluate(async (body) => {
    const headers = { 'X-KMD-API-Token': sessionStorage.getItem('latchkey.session')! }
    return (await fetch('/latchkey/v1/wallet/backup', { method: 'POST', headers, body })).status
  }, JSON.stringify(credentials))
  assert.equal(status, 403)
  assertClean()
})

test('a postponed backup stays visible, asks for the password, and hides the words with the tab', async (t) => {
  const environment = await startEnvironment(t)
  const { page, expectStatus, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  expectStatus(401)
  await createWallet(page, 'later')
  await page.getByText('Not backed up.', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Lock', exact: true }).click()
  await page.reload()
  await page.getByRole('link', { name: /later not backed up locked/ }).waitFor()
  await openView(page, 'Overview')
  await page.getByRole('button', { name: 'Back up later' }).click()
  const dialog = page.getByRole('dialog')
  // A single prompt unlocks the wallet and shows its words.
  await dialog.getByLabel('Password of later', { exact: true }).fill('wrong')
  await page.keyboard.press('Enter')
  await dialog.getByText('Wrong password.').waitFor()
  await dialog.getByLabel('Password of later', { exact: true }).fill(password)
  await page.keyboard.press('Enter')
  await dialog.getByText(/The password that you entered for later/).waitFor()
  await dialog.getByLabel(/type “show words”/).fill('show words')
  await page.keyboard.press('Enter')
  await page.getByRole('list', { name: 'The 25 words' }).waitFor()
  const [word] = await shownWords(page)
  await page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  })
  await page.getByRole('list', { name: 'The 25 words' }).waitFor({ state: 'detached' })
  await page.evaluate(() => Reflect.deleteProperty(document, 'visibilityState'))
  assert.equal(new RegExp(`\\b${word}\\b`).test(await page.locator('dialog').innerText()), false)
  assert.equal(
    await page.evaluate(() => JSON.stringify([location.href, history.state])).then((text) => text.includes(word!)),
    false,
  )
  await page.getByRole('button', { name: 'Later', exact: true }).click()
  await page.getByText('not backed up').first().waitFor()
  assert.deepEqual(JSON.parse(readFileSync(join(environment.dir, 'latchkey_backups.json'), 'utf8')).wallets.length, 1)
  assertClean()
})

test('the first screen shows totals, unknown values, and the next step', async (t) => {
  const environment = await startEnvironment(t)
  await call(environment.daemon, '/v1/wallet', { wallet_name: 'old', wallet_driver_name: 'sqlite' })
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  await page.getByText(/Unlock “old” to see balances/).waitFor()
  const [address] = await walletWithKeys(page, 'daily', 1)
  await openView(page, 'Overview')
  await page.getByText('Fund an account').waitFor()
  await page.getByRole('button', { name: 'Back up daily' }).waitFor()
  environment.devnet.fund(address!, { microAlgos: 2_500_000n })
  await page.getByRole('list', { name: 'Total in unlocked wallets' }).getByText('2.5 ALGO').waitFor()
  await page.getByText('Opt in to USDC').waitFor()
  await page.getByText('Not counted: 1 locked wallet.').waitFor()
  await page.getByText('Local network').first().waitFor()
  const next = page.getByRole('list', { name: 'What to do next' })
  assert.equal(await next.getByRole('listitem').count(), 2)
  await judge(page, 'overview')

  const receiver = environment.devnet.accounts[0]!.address
  const transaction = await payment(environment, { from: address!, to: receiver, microAlgos: 1_000 })
  await review(page, toBase64(transaction))
  await page.getByLabel('Password of daily', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign', exact: true }).click()
  await page.getByRole('heading', { name: 'Signed' }).waitFor()
  await openView(page, 'Overview')
  await page.getByText('One payment to check').waitFor()
  await page
    .getByRole('list', { name: 'Last payments, newest first' })
    .getByText('0.001 ALGO', { exact: true })
    .waitFor()
  assertClean()
})

test('a view that needs a wallet unlocks it in place, and one password covers the whole group', async (t) => {
  const environment = await startEnvironment(t)
  const { page, expectStatus, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  expectStatus(401)
  const [first, second] = await walletWithKeys(page, 'both', 2)
  await page.getByRole('button', { name: 'Lock', exact: true }).click()
  const pay = (from: string, to: string) => payment(environment, { from, to, microAlgos: 5 })
  const transactions = [await pay(first!, second!), await pay(second!, first!)]
  const { default: algosdk } = await import('algosdk')
  await review(page, toBase64(...algosdk.assignGroupID(transactions)))
  await page.getByText(/Unlock “both” to sign this/).waitFor()
  await judge(page, 'unlock-in-view')
  await page.getByLabel('Password of both', { exact: true }).fill('wrong')
  await page.getByRole('button', { name: 'Unlock' }).click()
  await page.getByText('Wrong password.').waitFor()
  await page.getByLabel('Password of both', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Unlock' }).click()
  await page.getByText(/The password that you entered for both/).waitFor()
  assert.equal(await page.locator('input[type=password]').count(), 0)
  await page.getByRole('button', { name: 'Sign 2 transactions' }).click()
  await page.getByRole('heading', { name: 'Signed' }).waitFor()

  // The next operation asks for the password again.
  await review(page, toBase64(await pay(first!, second!)))
  await page.getByLabel('Password of both', { exact: true }).waitFor()
  assertClean()
})

test('labels appear next to addresses, are stored by the daemon, and are offered by the address book', async (t) => {
  const environment = await startEnvironment(t)
  const { page, expectStatus, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const [address] = await walletWithKeys(page, 'mine', 1)
  await page.getByRole('button', { name: /^Label/ }).click()
  await page.getByRole('dialog').getByLabel('Label', { exact: true }).fill('  Till  ')
  await page.keyboard.press('Enter')
  await page.locator('.rows .label', { hasText: /^Till$/ }).waitFor()

  await openView(page, 'Address book')
  const shop = environment.devnet.accounts[0]!.address
  const add = async (who: string, label: string): Promise<void> => {
    await page.getByLabel('Address', { exact: true }).fill(who)
    await page.getByLabel('Label', { exact: true }).fill(label)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
  }
  await add('NOT AN ADDRESS', 'x')
  await page.getByText('This is not an address.').waitFor()
  expectStatus(400)
  await add(shop, 'TILL')
  await page.getByText('Another address has this label.').waitFor()
  await add(shop, 'Café <b>& shop</b>')
  const book = page.getByRole('list', { name: 'Address book' })
  await book.getByText('Café <b>& shop</b>').waitFor()
  await book.getByText('yours').waitFor()
  await judge(page, 'address-book')
  const file = join(environment.dir, 'latchkey_contacts.json')
  assert.equal(statSync(file).mode & 0o777, 0o600)

  await review(page, toBase64(await payment(environment, { from: address!, to: shop, microAlgos: 7 })))
  await page.locator('.lead .label', { hasText: 'Café' }).waitFor()
  await page.getByText(shop).waitFor()

  // A damaged file is reported, hides no address, and is left unchanged.
  expectStatus(500)
  writeFileSync(file, '{"version": 1, "contacts": [')
  await openView(page, 'Address book')
  await page.getByText(/Latchkey_contacts\.json in the data directory cannot be used: it is not JSON/).waitFor()
  assert.equal(readFileSync(file, 'utf8'), '{"version": 1, "contacts": [')
  assertClean()
})

test('finds wallets, labels, addresses and signed transactions by keyboard search', async (t) => {
  const environment = await startEnvironment(t)
  await call(environment.daemon, '/v1/wallet', { wallet_name: 'reserve', wallet_driver_name: 'sqlite' })
  const shop = environment.devnet.accounts[0]!.address
  await call(environment.daemon, '/latchkey/v1/contact', { address: shop, label: 'Corner shop' })
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const [address] = await walletWithKeys(page, 'daily', 1)
  const transaction = await payment(environment, { from: address!, to: shop, microAlgos: 9 })
  await review(page, toBase64(transaction))
  await page.getByLabel('Password of daily', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign', exact: true }).click()
  await page.getByRole('heading', { name: 'Signed' }).waitFor()

  const find = async (text: string): Promise<void> => {
    await page.keyboard.press('/')
    await page.getByRole('combobox', { name: /transaction ID/ }).fill(text)
  }
  const options = page.getByRole('listbox', { name: 'Results' }).getByRole('option')
  await find('rese')
  await options.getByText('reserve').waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'reserve', exact: true }).waitFor()
  // In an input field, the key types a character and opens nothing.
  await page.getByLabel('Password', { exact: true }).press('/')
  assert.equal(await page.getByRole('dialog').count(), 0)
  await page.getByRole('heading', { name: 'reserve', exact: true }).click()

  await find('corner')
  await options.nth(1).waitFor()
  await judge(page, 'search')
  assert.deepEqual(await options.locator('.name').allTextContents(), [
    'Corner shop',
    `${transaction.txID().slice(0, 8)}…${transaction.txID().slice(-6)}`,
  ])
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Payments' }).waitFor()
  await page.locator('.payments li.found').getByText('0.000009 ALGO').waitFor()

  await page.getByRole('heading', { name: 'Payments' }).click()
  await find(transaction.txID())
  await options.first().waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: /^Search/ }).click()
  await page.getByRole('combobox', { name: /transaction ID/ }).fill(address!)
  await options.getByText(/your key in daily/).waitFor()
  await page.keyboard.press('Enter')
  await page.locator('.rows li.found').getByText('0 ALGO', { exact: true }).waitFor()
  await page.getByRole('heading', { name: 'daily', exact: true }).click()
  await find('no such thing')
  await page.getByText(/Nothing found/).waitFor()
  assertClean()
})

test('names the network of a transaction for another network, and how to select it', async (t) => {
  const environment = await startEnvironment(t)
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const [address] = await walletWithKeys(page, 'w', 1)
  const { default: algosdk } = await import('algosdk')
  const transaction = algosdk.makePaymentTxnWithSuggestedParamsFromObject({
    sender: address!,
    receiver: address!,
    amount: 1,
    suggestedParams: {
      ...{ fee: 1000, flatFee: true, minFee: 1000, firstValid: 1, lastValid: 1000, genesisID: 'testnet-v1.0' },
      genesisHash: Buffer.from('SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=', 'base64'),
    },
  })
  await review(page, toBase64(transaction))
  await page.getByText('This is for TestNet, and the daemon’s node is on Local network.').waitFor()
  await page.getByText(/To choose another, start it with --node URL/).waitFor()
  await openView(page, 'Settings')
  await page.getByText('Local network').nth(1).waitFor()
  await judge(page, 'health')
  assertClean()
})
