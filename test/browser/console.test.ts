/** The console, in a real browser, on a real daemon with a real ledger behind it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wires } from '@latchkey/kmd'
import algosdk from 'algosdk'
import nacl from 'tweetnacl'
import {
  issue,
  openPage,
  password,
  paste,
  payment,
  sign,
  startWorld,
  toBase64,
  walletWithKeys,
} from './console.test.helper.js'

for (const wire of wires) {
  test(`a person opens the link, makes a wallet, is paid, pays, and sees it settle (${wire} wire)`, async (t) => {
    const world = await startWorld(t, { wire })
    const { page, assertClean } = await openPage(world, world.daemon.consoleLink())
    await page.getByText('There is no wallet yet.').waitFor()
    assert.equal(new URL(page.url()).hash, '')
    const [address] = await walletWithKeys(page, 'savings', 1)
    await page.getByText('0 ALGO').waitFor()

    // More than a JavaScript number can hold exactly, with its last digit.
    const assetId = await issue(world, 9_007_199_254_740_993n)
    world.devnet.fund(address!, {
      microAlgos: 12_345_678n,
      assets: [{ assetId, amount: 9_007_199_254_740_993n }],
    })
    await page.getByText('12.345678 ALGO').waitFor()
    await page.getByText('90,071,992,547,409.93 CENT').waitFor()

    await page.getByRole('button', { name: /^QR code/ }).click()
    await page.getByRole('img', { name: `QR code of algorand://${address}` }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /^Copy address/ }).click()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), address)

    const receiver = world.devnet.accounts[0]!.address
    const transaction = await payment(world, { from: address!, to: receiver, microAlgos: 1_500_000 })
    await paste(page, toBase64(transaction))
    await page.getByText(`Pays 1.5 ALGO to ${receiver}.`).waitFor()
    const signed = await sign(page, 'savings')
    const { sig, txn } = algosdk.decodeSignedTransaction(signed)
    assert.equal(txn.txID(), transaction.txID())
    const { publicKey } = algosdk.decodeAddress(address!)
    assert.ok(nacl.sign.detached.verify(txn.bytesToSign(), sig!, publicKey))

    await page.getByRole('link', { name: 'Payments', exact: true }).click()
    const row = page.getByRole('list', { name: /newest first/ }).getByRole('listitem')
    await row.getByText('not seen yet').waitFor()
    await world.algod.sendRawTransaction(signed).do()
    const { confirmedRound } = await world.algod.pendingTransactionInformation(transaction.txID()).do()
    await row.getByText(`settled in round ${confirmedRound}`).waitFor()
    assert.match(await row.innerText(), /1\.5 ALGO to/)
    await page.getByText('since it started at').waitFor()
    await page.getByRole('img', { name: 'Spending in ALGO over time' }).waitFor()
    assert.equal(await page.locator('.chart rect.settled').count(), 1)
    await page.getByText('As a table').click()
    await page.getByRole('cell', { name: '1.5 ALGO' }).waitFor()
    assertClean()
  })
}

test('what rekeys or closes an account is signed only after a word is typed, and the new key signs afterwards', async (t) => {
  const world = await startWorld(t)
  const { page, assertClean } = await openPage(world, world.daemon.consoleLink())
  const [first, second] = await walletWithKeys(page, 'careful', 2)
  world.devnet.fund(first!, { microAlgos: 5_000_000n })
  const receiver = world.devnet.accounts[0]!.address
  const rekeying = await payment(world, { from: first!, to: receiver, microAlgos: 1_000, rekeyTo: second! })
  await paste(page, toBase64(rekeying))
  await page.getByText(/It rekeys/).waitFor()
  await page.getByLabel('Password of careful', { exact: true }).fill(password)
  const button = page.getByRole('button', { name: 'Sign', exact: true })
  assert.ok(await button.isDisabled())
  await page.getByLabel(/type sign anyway/).fill('sign')
  assert.ok(await button.isDisabled())
  await page.getByLabel(/type sign anyway/).fill('sign anyway')
  await world.algod.sendRawTransaction(await sign(page, 'careful')).do()

  const later = await payment(world, { from: first!, to: receiver, microAlgos: 2_000 })
  await paste(page, toBase64(later))
  await page.getByText('The sender was rekeyed: this key signs for it.').waitFor()
  const signed = await sign(page, 'careful')
  assert.equal(algosdk.decodeSignedTransaction(signed).sgnr?.toString(), second)
  await world.algod.sendRawTransaction(signed).do()
  await page.getByRole('link', { name: 'Wallets', exact: true }).click()
  await page.getByRole('link', { name: /careful/ }).click()
  await page.getByText(/no longer signs for its address/).waitFor()
  assertClean()
})

test('a multisig account is made from addresses, and its members sign one after the other', async (t) => {
  const world = await startWorld(t)
  const { page, assertClean } = await openPage(world, world.daemon.consoleLink())
  const [first, second] = await walletWithKeys(page, 'board', 2)
  const outsider = world.devnet.accounts[1]!.address
  await page.getByRole('button', { name: 'Create multisig' }).click()
  const dialog = page.getByRole('dialog')
  const members = dialog.getByLabel('Addresses of the members, one a line')
  await members.fill(`${first}\n${second!.slice(0, -1)}${second!.endsWith('A') ? 'B' : 'A'}`)
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  await dialog.getByText('Line 2: This address is mistyped').waitFor()
  await members.fill([first, second, outsider].join('\n'))
  await dialog.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByText('2 of 3 must sign').click()
  const preimage = { version: 1, threshold: 2, addrs: [first!, second!, outsider] }
  const account = algosdk.multisigAddress(preimage).toString()
  await page.getByText(account).waitFor()
  assert.deepEqual(await page.locator('.members .address').allTextContents(), preimage.addrs)

  world.devnet.fund(account, { microAlgos: 3_000_000n })
  const strange = await payment(world, { from: outsider, to: account, microAlgos: 1 })
  await paste(page, toBase64(strange))
  await page.getByText("The sender's key is not in this wallet.").waitFor()
  assert.ok(await page.getByRole('button', { name: 'Sign', exact: true }).isDisabled())
  await page.getByRole('button', { name: 'Do not sign' }).click()

  const transaction = await payment(world, { from: account, to: outsider, microAlgos: 250_000 })
  await paste(page, toBase64(transaction))
  await page.getByText('With 2 of 2 signatures it is complete.').waitFor()
  await page.getByRole('checkbox').nth(1).uncheck()
  await page.getByText(/With 1 of 2 signatures it is not complete/).waitFor()
  const partly = await sign(page, 'board')
  await assert.rejects(async () => world.algod.sendRawTransaction(partly).do())

  await paste(page, partly.toString('base64'))
  await page.getByText('has signed').waitFor()
  await page.getByText('With 2 of 2 signatures it is complete.').waitFor()
  await world.algod.sendRawTransaction(await sign(page, 'board')).do()
  await page.getByRole('link', { name: 'Payments', exact: true }).click()
  await page.getByText('settled in round').first().waitFor()
  await page.getByText('As a table').click()
  await page.getByRole('cell', { name: '0.25 ALGO' }).waitFor()
  assertClean()
})

test('of a group only what is one’s own is signed, out of a file', async (t) => {
  const world = await startWorld(t)
  const { page, assertClean } = await openPage(world, world.daemon.consoleLink())
  const [mine] = await walletWithKeys(page, 'trader', 1)
  world.devnet.fund(mine!, { microAlgos: 5_000_000n })
  const other = world.devnet.accounts[0]!
  const group = algosdk.assignGroupID([
    await payment(world, { from: mine!, to: other.address, microAlgos: 10_000 }),
    await payment(world, { from: other.address, to: mine!, microAlgos: 20_000 }),
  ])
  await page.getByRole('link', { name: 'Sign', exact: true }).click()
  const bytes = Buffer.from(toBase64(...group), 'base64')
  await page
    .getByLabel('File with the transaction')
    .setInputFiles({ name: 'group.tx', mimeType: 'application/octet-stream', buffer: bytes })
  await page.getByText("The sender's key is not in this wallet: this one is left for others.").waitFor()
  assert.equal(await page.getByLabel('Signed by').nth(1).inputValue(), 'leave')
  await sign(page, 'trader')
  await page.getByText('One by one').click()
  const copied: Uint8Array[] = []
  for (const place of [1, 2]) {
    await page.getByRole('button', { name: `Copy transaction ${place}` }).click()
    await page.getByRole('button', { name: `Copied transaction ${place}` }).waitFor()
    copied.push(Buffer.from(await page.evaluate(() => navigator.clipboard.readText()), 'base64'))
  }
  const [ours, left] = copied.map((bytes) => algosdk.decodeSignedTransaction(bytes))
  assert.ok(ours!.sig !== undefined && left!.sig === undefined)
  assert.equal(left!.txn.txID(), group[1]!.txID())
  const theirs = algosdk.mnemonicToSecretKey(other.mnemonic).sk
  await world.algod.sendRawTransaction([copied[0]!, group[1]!.signTxn(theirs)]).do()
  assertClean()
})
