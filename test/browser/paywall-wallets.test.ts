/** Tests browser wallets on a simulated MainNet: an installed extension, a missing one, and wallet dialogs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Network } from '@latchkey/algorand'
import algosdk from 'algosdk'
import { buyer, feePayer, openShop, round, seller, signed, verified } from './mainnetShop.test.helper.js'
import { type Visit, waitForStatus } from './paywall.test.helper.js'

/** The script that an extension injects. Signing happens in the test process. */
const extension = `window.algorand = {
  isConnected: true,
  enable: async () => window.request('enable', ''),
  signTxns: async (txns) => Promise.all(txns.map((one) => one.signers ? null : window.request('sign', one.txn))),
}`

type WalletHandler = (what: 'enable' | 'sign', txn: string) => unknown

async function open(handler?: WalletHandler): Promise<Visit> {
  return openShop(async (page) => {
    if (handler === undefined) return
    await page.exposeFunction('request', async (what: 'enable' | 'sign', txn: string) => handler(what, txn))
    await page.addInitScript(extension)
  })
}

const accounts = { accounts: [buyer.addr.toString()] }

test('marks real money, and neither offers a key daemon nor contains its token', async () => {
  const { page } = await open()
  assert.equal(await page.locator('[data-money]').innerText(), 'Real money')
  await page.getByRole('button', { name: 'Pera' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Local key daemon' }).count(), 0)
  assert.ok(!(await page.content()).includes('example-daemon-token'))
})

test('a browser wallet signs the one payment of the scheme', async () => {
  const visitor = await open((what, txn) => (what === 'enable' ? accounts : signed(txn)))
  await visitor.page.getByRole('button', { name: 'Exodus' }).click()
  await visitor.page.getByRole('button', { name: 'Pay $0.25' }).click()
  await waitForStatus(visitor, /Payment complete/)
  const [sponsor, payment] = verified.at(-1)!.map((text) => Buffer.from(text, 'base64'))
  const fee = algosdk.decodeUnsignedTransaction(sponsor!)
  const { txn, sig } = algosdk.decodeSignedTransaction(payment!)
  assert.ok(sig)
  assert.deepEqual(
    [fee.sender.toString(), fee.payment!.receiver.toString(), fee.payment!.amount, fee.fee],
    [feePayer, feePayer, 0n, 2_000n],
  )
  const { sender, assetTransfer, firstValid, lastValid, genesisID } = txn
  assert.deepEqual([sender.toString(), txn.fee, genesisID], [buyer.addr.toString(), 0n, 'mainnet-v1.0'])
  assert.deepEqual(
    [assetTransfer!.receiver.toString(), assetTransfer!.amount, assetTransfer!.assetIndex],
    [seller, 250_000n, 31566704n],
  )
  assert.deepEqual(
    [assetTransfer!.closeRemainderTo, txn.rekeyTo, assetTransfer!.assetSender],
    [undefined, undefined, undefined],
  )
  assert.equal(firstValid, BigInt(round))
  // One minute for the seller and two for the visitor at 2.5 seconds per round, plus three rounds.
  assert.equal(lastValid - firstValid, 75n)
  assert.match(Buffer.from(txn.note).toString(), /^x402-payment-v2-/)
  assert.deepEqual(fee.group, txn.group)
  assert.deepEqual(visitor.issues, [])
})

const failures: { [what: string]: { handler: WalletHandler; message: RegExp } } = {
  'declines to connect': {
    handler: () => {
      throw Object.assign(new Error('User Rejected Request'), { code: 4001 })
    },
    message: /You declined/,
  },
  'is set to another network': {
    handler: () => {
      throw new Error('Network mismatch: the wallet is on TestNet')
    },
    message: /another network.*Switch it to Algorand MainNet/s,
  },
  'has no accounts': { handler: () => ({ accounts: [] }), message: /The wallet has no accounts/ },
}
for (const [what, { handler, message }] of Object.entries(failures)) {
  test(`reports a wallet that ${what}`, async () => {
    const visitor = await open(handler)
    await visitor.page.getByRole('button', { name: 'Exodus' }).click()
    await waitForStatus(visitor, message)
    await visitor.page.getByRole('button', { name: 'Exodus' }).waitFor()
    assert.deepEqual(visitor.issues, [])
  })
}

test('pays nothing if the visitor declines to sign, and allows another attempt', async () => {
  const before = verified.length
  let declines = 1
  const visitor = await open((what, txn) => {
    if (what === 'enable') return accounts
    if (declines-- > 0) throw new Error('The user declined to sign')
    return signed(txn)
  })
  await visitor.page.getByRole('button', { name: 'Exodus' }).click()
  await visitor.page.getByRole('button', { name: 'Pay $0.25' }).click()
  await waitForStatus(visitor, /You declined.*nothing was paid/s)
  assert.equal(verified.length, before)
  await visitor.page.getByRole('button', { name: 'Pay $0.25' }).click()
  await waitForStatus(visitor, /Payment complete/)
})

test('sends nothing if the wallet signs a different transaction', async () => {
  const before = verified.length
  const visitor = await open((what, text) => {
    if (what === 'enable') return accounts
    const { genesisHash, genesisId } = Network.mainnet
    const other = algosdk.makePaymentTxnWithSuggestedParamsFromObject({
      sender: buyer.addr,
      receiver: seller!,
      amount: text.length,
      suggestedParams: {
        fee: 1_000,
        minFee: 1_000,
        flatFee: true,
        firstValid: round,
        lastValid: round + 10,
        genesisID: genesisId,
        genesisHash: Buffer.from(genesisHash, 'base64'),
      },
    })
    return Buffer.from(other.signTxn(buyer.sk)).toString('base64')
  })
  await visitor.page.getByRole('button', { name: 'Exodus' }).click()
  await visitor.page.getByRole('button', { name: 'Pay $0.25' }).click()
  await waitForStatus(visitor, /signed a different transaction.*nothing was paid/s)
  assert.equal(verified.length, before)
})

test('reports an extension that is not installed', async () => {
  const visitor = await open()
  await visitor.page.getByRole('button', { name: 'Exodus' }).click()
  await waitForStatus(visitor, /Exodus is not installed.*Install Exodus/s)
  assert.deepEqual(visitor.issues, [])
})

test('cancels the wait for a wallet that does not respond', async () => {
  const visitor = await open()
  await visitor.page.getByRole('button', { name: 'Kibisis' }).click()
  await visitor.page.getByRole('button', { name: 'Cancel' }).click()
  await waitForStatus(visitor, /You declined/)
  await visitor.page.getByRole('button', { name: 'Pera' }).waitFor()
})

for (const [name, dialog] of [
  ['Pera', 'pera-wallet-connect-modal'],
  ['Defly', 'defly-wallet-connect-modal'],
] as const) {
  test(`the dialog of ${name} opens under the content security policy`, async () => {
    const visitor = await open()
    const issues: string[] = []
    visitor.page.on('console', (message) => issues.push(message.text()))
    await visitor.page.getByRole('button', { name }).click()
    await visitor.page.locator(dialog).waitFor({ state: 'attached' })
    await visitor.page.locator(`${dialog} canvas, ${dialog} svg`).first().waitFor({ state: 'attached' })
    assert.deepEqual(
      issues.filter((fault) => /Content Security Policy|is not a function|is not defined/.test(fault)),
      [],
    )
  })
}
