/** Tests the console in Chromium, with a daemon and a devnet. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wires } from '@latchkey/kmd'
import algosdk from 'algosdk'
import nacl from 'tweetnacl'
import {
  copyWith,
  createAsset,
  openPage,
  openView,
  password,
  payment,
  review,
  sign,
  startEnvironment,
  toBase64,
  walletWithKeys,
} from './console.test.helper.js'

for (const wire of wires) {
  test(`creates a wallet, shows its balance, signs a payment and shows its confirmation (${wire} wire)`, async (t) => {
    const environment = await startEnvironment(t, { wire })
    const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
    await page.getByText('No wallets yet.').waitFor()
    assert.equal(new URL(page.url()).hash, '')
    const [address] = await walletWithKeys(page, 'savings', 1)
    await page.getByText('0 ALGO', { exact: true }).waitFor()

    // Above 2^53: a JavaScript number would lose the last digit.
    const assetId = await createAsset(environment, 9_007_199_254_740_993n)
    environment.devnet.fund(address!, {
      microAlgos: 12_345_678n,
      assets: [{ assetId, amount: 9_007_199_254_740_993n }],
    })
    await page.getByText('12.345678 ALGO').waitFor()
    await page.getByText('90,071,992,547,409.93 CENT').waitFor()

    assert.equal(await copyWith(page, page.getByRole('button', { name: /^Copy address/ })), address)

    const receiver = environment.devnet.accounts[0]!.address
    const transaction = await payment(environment, { from: address!, to: receiver, microAlgos: 1_500_000 })
    await review(page, toBase64(transaction))
    await page.getByText(`Pays 1.5 ALGO to ${receiver}.`).waitFor()
    const signed = await sign(page, 'savings')
    const { sig, txn } = algosdk.decodeSignedTransaction(signed)
    assert.equal(txn.txID(), transaction.txID())
    const { publicKey } = algosdk.decodeAddress(address!)
    assert.ok(nacl.sign.detached.verify(txn.bytesToSign(), sig!, publicKey))

    await openView(page, 'Payments')
    const row = page.getByRole('list', { name: /newest first/ }).getByRole('listitem')
    await row.getByText('not found on the network').waitFor()
    await environment.algod.sendRawTransaction(signed).do()
    const { confirmedRound } = await environment.algod.pendingTransactionInformation(transaction.txID()).do()
    await row.getByText(`confirmed in round ${confirmedRound}`).waitFor()
    assert.match(await row.innerText(), /1\.5 ALGO to/)
    await page.getByText('The daemon has run since').waitFor()
    await page.getByRole('img', { name: 'Spending in ALGO over time' }).waitFor()
    assert.equal(await page.locator('.chart rect.confirmed').count(), 1)
    await page.getByText('Show as table').click()
    await page.getByRole('cell', { name: '1.5 ALGO' }).waitFor()
    assertClean()
  })
}

test('requires a typed confirmation to rekey an account, then signs with the new key', async (t) => {
  const environment = await startEnvironment(t)
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const [first, second] = await walletWithKeys(page, 'careful', 2)
  environment.devnet.fund(first!, { microAlgos: 5_000_000n })
  const receiver = environment.devnet.accounts[0]!.address
  const rekeying = await payment(environment, { from: first!, to: receiver, microAlgos: 1_000, rekeyTo: second! })
  await review(page, toBase64(rekeying))
  await page.getByText(/It rekeys/).waitFor()
  await page.getByLabel('Password of careful', { exact: true }).fill(password)
  const button = page.getByRole('button', { name: 'Sign', exact: true })
  assert.ok(await button.isDisabled())
  await page.getByLabel(/type sign anyway/).fill('sign')
  assert.ok(await button.isDisabled())
  await page.getByLabel(/type sign anyway/).fill('sign anyway')
  await environment.algod.sendRawTransaction(await sign(page, 'careful')).do()

  const later = await payment(environment, { from: first!, to: receiver, microAlgos: 2_000 })
  await review(page, toBase64(later))
  await page.getByText('The sender was rekeyed. This key signs for it.').waitFor()
  const signed = await sign(page, 'careful')
  assert.equal(algosdk.decodeSignedTransaction(signed).sgnr?.toString(), second)
  await environment.algod.sendRawTransaction(signed).do()
  await openView(page, 'Wallets')
  await page.getByRole('link', { name: /careful/ }).click()
  await page.getByText(/no longer signs for its address/).waitFor()
  assertClean()
})

test('creates a multisig account whose members sign one after the other', async (t) => {
  const environment = await startEnvironment(t)
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const [first, second] = await walletWithKeys(page, 'board', 2)
  const outsider = environment.devnet.accounts[1]!.address
  await page.getByRole('button', { name: 'Create multisig' }).click()
  const dialog = page.getByRole('dialog')
  const members = dialog.getByLabel('Member addresses, one per line')
  // Changes the first character: the last one carries two bits of padding, so most letters there are not valid base32.
  await members.fill(`${first}\n${second!.startsWith('A') ? 'B' : 'A'}${second!.slice(1)}`)
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  await dialog.getByText('Line 2: The checksum of the address does not match').waitFor()
  await members.fill([first, second, outsider].join('\n'))
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByText('2 of 3 signatures required').click()
  const preimage = { version: 1, threshold: 2, addrs: [first!, second!, outsider] }
  const account = algosdk.multisigAddress(preimage).toString()
  await page.getByText(account).waitFor()
  assert.deepEqual(await page.locator('.members .address').allTextContents(), preimage.addrs)

  environment.devnet.fund(account, { microAlgos: 3_000_000n })
  const foreign = await payment(environment, { from: outsider, to: account, microAlgos: 1 })
  await review(page, toBase64(foreign))
  await page.getByText("The sender's key is not in this wallet.").waitFor()
  assert.ok(await page.getByRole('button', { name: 'Sign', exact: true }).isDisabled())
  await page.getByRole('button', { name: 'Do not sign' }).click()

  const transaction = await payment(environment, { from: account, to: outsider, microAlgos: 250_000 })
  await review(page, toBase64(transaction))
  await page.getByText('Complete: 2 of 2 required signatures.').waitFor()
  await page.getByRole('checkbox').nth(1).uncheck()
  await page.getByText(/Incomplete: 1 of 2 required signatures/).waitFor()
  const partial = await sign(page, 'board')
  await assert.rejects(async () => environment.algod.sendRawTransaction(partial).do())

  await review(page, partial.toString('base64'))
  await page.getByText('has signed').waitFor()
  await page.getByText('Complete: 2 of 2 required signatures.').waitFor()
  await environment.algod.sendRawTransaction(await sign(page, 'board')).do()
  await openView(page, 'Payments')
  await page.getByText('confirmed in round').first().waitFor()
  await page.getByText('Show as table').click()
  await page.getByRole('cell', { name: '0.25 ALGO' }).waitFor()
  assertClean()
})

test('signs only its own transactions of a group opened from a file', async (t) => {
  const environment = await startEnvironment(t)
  const { page, assertClean } = await openPage(environment, environment.daemon.consoleLink())
  const [mine] = await walletWithKeys(page, 'trader', 1)
  environment.devnet.fund(mine!, { microAlgos: 5_000_000n })
  const other = environment.devnet.accounts[0]!
  const group = algosdk.assignGroupID([
    await payment(environment, { from: mine!, to: other.address, microAlgos: 10_000 }),
    await payment(environment, { from: other.address, to: mine!, microAlgos: 20_000 }),
  ])
  await openView(page, 'Sign')
  const bytes = Buffer.from(toBase64(...group), 'base64')
  await page
    .getByLabel('Transaction file')
    .setInputFiles({ name: 'group.tx', mimeType: 'application/octet-stream', buffer: bytes })
  await page.getByText("The sender's key is not in this wallet. Others have to sign this transaction.").waitFor()
  assert.equal(await page.getByLabel('Signed by').nth(1).inputValue(), 'skip')
  await sign(page, 'trader')
  await page.getByText('Individual transactions').click()
  const copied: Uint8Array[] = []
  for (const number of [1, 2]) {
    const feedback = page.getByRole('button', { name: `Copied transaction ${number}` }).waitFor()
    const base64 = await copyWith(page, page.getByRole('button', { name: `Copy transaction ${number}` }))
    await feedback
    copied.push(Buffer.from(base64, 'base64'))
  }
  const [ours, skipped] = copied.map((bytes) => algosdk.decodeSignedTransaction(bytes))
  assert.ok(ours!.sig !== undefined && skipped!.sig === undefined)
  assert.equal(skipped!.txn.txID(), group[1]!.txID())
  const theirs = algosdk.mnemonicToSecretKey(other.mnemonic).sk
  await environment.algod.sendRawTransaction([copied[0]!, group[1]!.signTxn(theirs)]).do()
  assertClean()
})
