/** Tests moving money in the console: send, receive, opt in and out, the faucet, and submitting signed transactions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Devnet } from '@latchkey/devnet'
import algosdk from 'algosdk'
import { axeIssues } from './axe.test.helper.js'
import { type Page, takeScreenshot } from './chromium.test.helper.js'
import {
  call,
  copyWith,
  type Environment,
  layoutIssues,
  openPage,
  openView,
  password,
  payment,
  review,
  startDaemon,
  startEnvironment,
  toBase64,
  walletWithKeys,
} from './console.test.helper.js'
import { startPublicNode } from './publicNetwork.test.helper.js'
import { readQrCode } from './qr.test.helper.js'

const usdc = 31566704n

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
      await takeScreenshot(page, `money-${view}-${colorScheme}-${width}`)
    }
  }
  await page.setViewportSize({ width: 1280, height: 860 })
}

async function openSend(page: Page): Promise<void> {
  await openView(page, 'Send')
  await page.getByLabel('To', { exact: true }).waitFor()
}

async function fillSend(page: Page, values: { to: string; amount: string; asset?: string }): Promise<void> {
  if (values.asset !== undefined) await page.getByLabel('Asset', { exact: true }).selectOption(values.asset)
  await page.getByLabel('To', { exact: true }).fill(values.to)
  await page.getByLabel('Amount', { exact: true }).fill(values.amount)
  await page.getByRole('button', { name: 'Review', exact: true }).click()
}

async function signAndSend(page: Page, wallet: string, text = password): Promise<void> {
  await page.getByLabel(`Password of ${wallet}`, { exact: true }).fill(text)
  await page.getByRole('button', { name: 'Sign and send' }).click()
}

async function balance({ algod }: Environment, address: string): Promise<bigint> {
  return (await algod.accountInformation(address).do()).amount
}

/** Counts the transactions of a sender since the first block. */
async function sentBy({ algod }: Environment, address: string): Promise<number> {
  const { lastRound } = await algod.status().do()
  let count = 0
  for (let round = 1n; round <= lastRound; round++) {
    const { block } = await algod.block(round).do()
    count += block.payset.filter(({ signedTxn }) => signedTxn.signedTxn.txn.sender.toString() === address).length
  }
  return count
}

test('funds an account from the faucet and sends ALGO: checked, described, sent once, confirmed', async (t) => {
  const environment = await startEnvironment(t)
  const { page, expectStatus, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const [address] = await walletWithKeys(page, 'daily', 1)
  await page.getByRole('button', { name: /^Get 10 ALGO/ }).click()
  await page.getByText('10 ALGO', { exact: true }).waitFor()
  await checkView(page, 'wallet')

  const receiver = algosdk.generateAccount().addr.toString()
  await page.getByRole('link', { name: /^Send with/ }).click()
  await page.getByText('9.899 ALGO can be sent; 0.1 ALGO must stay.').waitFor()
  await fillSend(page, { to: 'no address', amount: '1.5 USDC' })
  await page.getByText('The amount is in USDC, but the asset is ALGO.').waitFor()
  await page.getByText('neither an address nor a name in the address book').waitFor()
  await fillSend(page, { to: receiver, amount: '25' })
  await page.getByText(/The account has 10 ALGO and needs 25 ALGO to send/).waitFor()
  await page.getByRole('link', { name: 'Add funds' }).waitFor()
  await checkView(page, 'send-problem')
  await fillSend(page, { to: receiver, amount: '0.05' })
  await page.getByText(/The receiver would have 0.05 ALGO/).waitFor()
  await fillSend(page, { to: receiver, amount: '1.5' })
  await page.getByText(`Pays 1.5 ALGO to ${receiver}.`).waitFor()
  await page.getByText('The fee is 0.001 ALGO.').waitFor()
  await checkView(page, 'send-review')

  expectStatus(400)
  await signAndSend(page, 'daily', 'wrong')
  await page.getByText('Wrong password.').waitFor()
  await page.getByLabel('Password of daily', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign and send' }).dblclick()
  await page.getByText(/^Confirmed in round \d/).waitFor()
  await checkView(page, 'send-done')
  assert.equal(await balance(environment, receiver), 1_500_000n)
  assert.equal(await sentBy(environment, address!), 1)

  // Repeating the same transfer takes more than one click.
  await page.getByRole('button', { name: 'Send another' }).click()
  assert.equal(await page.getByLabel('Amount', { exact: true }).inputValue(), '')
  await page.getByRole('button', { name: /^All/ }).click()
  assert.equal(await page.getByLabel('Amount', { exact: true }).inputValue(), '8.398')
  await page.getByLabel('To', { exact: true }).fill(receiver)
  await page.getByRole('button', { name: 'Review', exact: true }).click()
  await signAndSend(page, 'daily')
  await page.getByText(/^Confirmed in round \d/).waitFor()
  assert.equal(await balance(environment, address!), 100_000n)
  assertClean()
})

test('sends USDC after the receiver opted in, and opts out again', async (t) => {
  const environment = await startEnvironment(t, { wire: 'reference' })
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const [first, second] = await walletWithKeys(page, 'dollars', 2)
  environment.devnet.fund(first!, { microAlgos: 5_000_000n, assets: [{ assetId: usdc, amount: 7_500_000n }] })
  await page.getByText('$7.50 USDC').first().waitFor()
  await openSend(page)
  await page.getByLabel('From', { exact: true }).selectOption(first!)
  await page.getByText(/4\.7\d* ALGO can be sent/).waitFor()
  await fillSend(page, { to: second!, amount: '2.5 usdc', asset: String(usdc) })
  await page.getByText(/has not opted in to USDC \(asset 31566704\)/).waitFor()
  await checkView(page, 'send-no-opt-in')
  await page.getByRole('link', { name: 'Opt in', exact: true }).click()

  await page.getByRole('heading', { name: 'Opt in', exact: true }).waitFor()
  assert.equal(await page.getByLabel('Account', { exact: true }).inputValue(), second)
  await page.getByText('USDC on this network').waitFor()
  await page.getByRole('button', { name: 'Review the opt-in' }).click()
  await page.getByText(/The account has 0 ALGO and needs 0.001 ALGO for the fee and 0.2 ALGO that must stay/).waitFor()
  await checkView(page, 'opt-in')
  environment.devnet.fund(second!, { microAlgos: 1_000_000n })
  await page.getByRole('button', { name: 'Review the opt-in' }).click()
  await page.getByText(/^Opts in to USDC/).waitFor()
  await signAndSend(page, 'dollars')
  await page.getByText(/^Confirmed in round \d/).waitFor()

  // The previous input is still there.
  await openSend(page)
  assert.equal(await page.getByLabel('Amount', { exact: true }).inputValue(), '2.5 usdc')
  await page.getByRole('button', { name: 'Review', exact: true }).click()
  await page.getByText(new RegExp(`Sends 2.5 USDC .*to .*${second}`)).waitFor()
  await signAndSend(page, 'dollars')
  await page.getByText(/^Confirmed in round \d/).waitFor()

  await openView(page, 'Wallets')
  await page.getByRole('link', { name: new RegExp(`^Opt in with ${second!.slice(0, 8)}`) }).click()
  await page.getByRole('link', { name: 'Send USDC' }).click()
  await page.getByText('2.5 USDC can be sent.').waitFor()
  await page.getByRole('button', { name: /^All/ }).click()
  await page.getByLabel('To', { exact: true }).fill(first!)
  await page.getByRole('button', { name: 'Review', exact: true }).click()
  await signAndSend(page, 'dollars')
  await page.getByText(/^Confirmed in round \d/).waitFor()
  await openView(page, 'Wallets')
  await page.getByRole('link', { name: new RegExp(`^Opt in with ${second!.slice(0, 8)}`) }).click()
  await page.getByRole('button', { name: 'Opt out USDC' }).click()
  await page.getByText(/^Opts out of USDC/).waitFor()
  await signAndSend(page, 'dollars')
  await page.getByText(/^Confirmed in round \d/).waitFor()
  const { assets } = await environment.algod.accountInformation(second!).do()
  assert.deepEqual(assets ?? [], [])
  assertClean()
})

test('shows a payment request as a QR code that a phone reads', async (t) => {
  const environment = await startEnvironment(t)
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const [address] = await walletWithKeys(page, 'till', 1)
  await page.getByRole('link', { name: /^Receive with/ }).click()
  const code = page.getByRole('img', { name: /^QR code of algorand:/ })
  assert.equal(await readQrCode(environment.browser, code), `algorand://${address}`)
  await page.getByRole('button', { name: 'Get 10 USDC' }).click()
  await page.getByText('10 USDC arrived.').waitFor()
  await page.getByRole('button', { name: 'Get 10 ALGO' }).click()
  await page.getByText(/Balance: 10\.\d+ ALGO/).waitFor()
  await page.getByLabel('Asset', { exact: true }).selectOption(String(usdc))
  await page.getByLabel('Amount (optional)', { exact: true }).fill('2.5')
  await page.getByLabel('Note (optional)', { exact: true }).fill('tea & cake')
  const link = `algorand://${address}?amount=2500000&asset=31566704&note=tea%20%26%20cake`
  await page.getByRole('img', { name: `QR code of ${link}` }).waitFor()
  assert.equal(await readQrCode(environment.browser, code), link)
  assert.equal(await copyWith(page, page.getByRole('button', { name: /^Copy link/ })), link)
  assert.equal(await copyWith(page, page.getByRole('button', { name: /^Copy address/ })), address)
  await checkView(page, 'receive')
  // A link fills in the form.
  await openSend(page)
  await page.getByLabel('To', { exact: true }).fill(link)
  assert.equal(await page.getByLabel('To', { exact: true }).inputValue(), address)
  assert.equal(await page.getByLabel('Amount', { exact: true }).inputValue(), '2.5')
  assert.equal(await page.getByLabel('Asset', { exact: true }).inputValue(), String(usdc))
  assertClean()
})

test('submits signed transactions, and distinguishes failures: rejected, not sent, possibly sent', async (t) => {
  const environment = await startEnvironment(t)
  const { page, expectStatus, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const [address] = await walletWithKeys(page, 'signer', 1)
  environment.devnet.fund(address!, { microAlgos: 5_000_000n })
  const receiver = environment.devnet.accounts[0]!.address
  const sign = async (microAlgos: number): Promise<void> => {
    await review(page, toBase64(await payment(environment, { from: address!, to: receiver, microAlgos })))
    await page.getByLabel('Password of signer', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Sign', exact: true }).click()
  }
  const submit = page.getByRole('button', { name: 'Submit to the local network' })
  await sign(1_000_000)
  await checkView(page, 'signed')
  await submit.dblclick()
  await page.getByText(/^Confirmed in round \d/).waitFor()
  assert.equal(await sentBy(environment, address!), 1)

  await sign(50_000_000)
  await submit.click()
  await page.getByText('Rejected. No funds moved.').waitFor()
  await page.getByText(/does not have enough ALGO/).waitFor()
  await checkView(page, 'rejected')

  // The node accepts the transaction, and its response is lost.
  environment.devnet.addFault({ type: 'lose', count: 2 })
  environment.devnet.addFault({ type: 'drop', count: 1 })
  await sign(1_234_567)
  await submit.click()
  await page.getByText('It is not known whether the network has the transaction.').waitFor()
  await page.getByText(/^Confirmed in round \d/).waitFor()
  assert.equal(await sentBy(environment, address!), 2)

  await sign(7_654)
  expectStatus(503)
  await environment.devnet.stop()
  await submit.click()
  await page.getByText('Not sent', { exact: true }).waitFor()
  await page.getByText('The node could not be reached. The transaction was not sent.').waitFor()
  await page.getByRole('button', { name: 'Submit the same transaction again' }).waitFor()
  await checkView(page, 'not-sent')
  await openSend(page)
  await page.getByText('Balances are not available.').waitFor()
  await fillSend(page, { to: receiver, amount: '1' })
  await page
    .getByText(/cannot be reached/)
    .first()
    .waitFor()
  assertClean()
})

test('resumes an open transfer when the person returns, without sending it again', async (t) => {
  const environment = await startEnvironment(t)
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const [address] = await walletWithKeys(page, 'patient', 1)
  environment.devnet.fund(address!, { microAlgos: 5_000_000n })
  await openSend(page)
  await page.getByText(/4\.899 ALGO can be sent/).waitFor()
  await fillSend(page, { to: environment.devnet.accounts[0]!.address, amount: '1' })
  environment.devnet.addFault({ type: 'hold', ms: 600_000, count: 1 })
  await signAndSend(page, 'patient')
  await page.getByText('Sent. Waiting for the confirmation…').waitFor()
  await checkView(page, 'waiting')
  await openView(page, 'Settings')
  await openView(page, 'Send')
  await page.getByText('Sent. Waiting for the confirmation…').waitFor()
  environment.devnet.mine()
  await page.getByText(/^Confirmed in round \d/).waitFor()
  assert.equal(await sentBy(environment, address!), 1)
  assertClean()
})

test('unlocks inside the view, and one password both unlocks and signs', async (t) => {
  const environment = await startEnvironment(t)
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const [address] = await walletWithKeys(page, 'locked', 1)
  environment.devnet.fund(address!, { microAlgos: 5_000_000n })
  await page.getByRole('button', { name: 'Lock', exact: true }).click()
  await openView(page, 'Send')
  await page.getByLabel('Password of locked', { exact: true }).fill(password)
  await checkView(page, 'send-locked')
  await page.getByRole('button', { name: /^Unlock/ }).click()
  await page.getByText(/4\.899 ALGO can be sent/).waitFor()
  await fillSend(page, { to: environment.devnet.accounts[0]!.address, amount: '1' })
  await page.getByRole('button', { name: 'Sign and send' }).click()
  await page.getByText(/^Confirmed in round \d/).waitFor()
  assertClean()
})

test('sends to a name in the address book', async (t) => {
  const environment = await startEnvironment(t)
  const receiver = environment.devnet.accounts[0]!.address
  await call(environment.daemon, '/latchkey/v1/contact', { address: receiver, label: 'the bakery' })
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const [address] = await walletWithKeys(page, 'purse', 1)
  environment.devnet.fund(address!, { microAlgos: 5_000_000n })
  await openView(page, 'Address book')
  await page.getByRole('button', { name: /^Send to/ }).click()
  assert.equal(await page.getByLabel('To', { exact: true }).inputValue(), receiver)
  await page.getByText(/4\.899 ALGO can be sent/).waitFor()
  await fillSend(page, { to: 'The Bakery', amount: '2' })
  const card = page.getByRole('article')
  await card.getByText(receiver).first().waitFor()
  await card.getByText('the bakery').first().waitFor()
  await signAndSend(page, 'purse')
  await page.getByText(/^Confirmed in round \d/).waitFor()
  assertClean()
})

test('sends from a rekeyed account and from a multisig account', async (t) => {
  const environment = await startEnvironment(t)
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const [first, second] = await walletWithKeys(page, 'board', 2)
  environment.devnet.fund(first!, { microAlgos: 5_000_000n })
  const receiver = environment.devnet.accounts[0]!.address
  const rekeying = await payment(environment, { from: first!, to: receiver, microAlgos: 1_000, rekeyTo: second! })
  await review(page, toBase64(rekeying))
  await page.getByLabel('Password of board', { exact: true }).fill(password)
  await page.getByLabel(/type sign anyway/).fill('sign anyway')
  await page.getByRole('button', { name: 'Sign', exact: true }).click()
  await page.getByRole('button', { name: 'Submit to the local network' }).click()
  await page.getByText(/^Confirmed in round \d/).waitFor()

  await openSend(page)
  await page.getByLabel('From', { exact: true }).selectOption(first!)
  await page.getByText('This account was rekeyed: another key signs for it.').waitFor()
  await fillSend(page, { to: receiver, amount: '1' })
  await page.getByText('The sender was rekeyed. This key signs for it.').waitFor()
  await signAndSend(page, 'board')
  await page.getByText(/^Confirmed in round \d/).waitFor()

  const account = algosdk.multisigAddress({ version: 1, threshold: 2, addrs: [first!, second!] }).toString()
  await openView(page, 'Wallets')
  await page.getByRole('button', { name: 'Create multisig' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Member addresses, one per line').fill(`${first}\n${second}`)
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByText('2 of 2 signatures required').waitFor()
  environment.devnet.fund(account, { microAlgos: 3_000_000n })
  await openSend(page)
  await page.getByLabel('From', { exact: true }).selectOption(account)
  await page.getByText(/2\.899 ALGO can be sent/).waitFor()
  await fillSend(page, { to: receiver, amount: '0.25' })
  await page.getByText('Complete: 2 of 2 required signatures.').waitFor()
  await signAndSend(page, 'board')
  await page.getByText(/^Confirmed in round \d/).waitFor()
  assert.equal(await balance(environment, account), 2_749_000n)

  await page.getByRole('button', { name: 'Send another' }).click()
  await page.getByLabel('From', { exact: true }).selectOption(account)
  await fillSend(page, { to: receiver, amount: '0.25' })
  await page.getByText('Complete: 2 of 2 required signatures.').waitFor()
  await page.getByRole('checkbox').nth(1).uncheck()
  await signAndSend(page, 'board')
  await page.getByText('Signatures are missing.').waitFor()
  await page.getByLabel('Signed transaction, base64').waitFor()
  assert.equal(await balance(environment, account), 2_749_000n)
  assertClean()
})

test('on MainNet, asks to confirm real money, links to the explorer, and has no faucet', async (t) => {
  const environment = await startEnvironment(t, { hasNode: false })
  const mainnet = await startPublicNode(environment.scope)
  await environment.daemon.stop()
  const node = { url: mainnet.url } as Devnet
  const daemon = await startDaemon(environment.scope, environment.dir, node)
  const { page, assertClean } = await openPage(environment, daemon.consoleLink())
  const [address] = await walletWithKeys(page, 'real', 1)
  await page.getByText('5 ALGO', { exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: /^Get 10 ALGO/ }).count(), 0)
  const account = `https://lora.algokit.io/mainnet/account/${address}`
  assert.equal(await page.locator('.address-line a.explore').getAttribute('href'), account)
  await openSend(page)
  await page.getByText('4.899 ALGO can be sent').waitFor()
  await fillSend(page, { to: algosdk.generateAccount().addr.toString(), amount: '1' })
  await page.getByText('This is MainNet: the money is real.').waitFor()
  await page.getByLabel('Password of real', { exact: true }).fill(password)
  const button = page.getByRole('button', { name: 'Sign and send' })
  assert.ok(await button.isDisabled())
  await checkView(page, 'send-mainnet')
  await page.getByRole('checkbox').check()
  await button.click()
  await page.getByText('Confirmed in round 50,000,123').waitFor()
  assert.equal(mainnet.submitted.length, 1)
  const id = algosdk.decodeSignedTransaction(mainnet.submitted[0]!).txn.txID()
  const link = page.getByRole('link', { name: 'View in the explorer' })
  assert.equal(await link.getAttribute('href'), `https://lora.algokit.io/mainnet/transaction/${id}`)
  await checkView(page, 'done-mainnet')
  assertClean()
})
