/**
 * Every wallet that the paywall offers connects and signs the one payment; the test plays the far end of each protocol.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import algosdk from 'algosdk'
import { buyer, openShop, seller, signed, verified } from './mainnetShop.test.helper.js'
import { type Visit, waitForStatus } from './paywall.test.helper.js'
import { pairPhone } from './walletConnectPhone.test.helper.js'

const address = buyer.addr.toString()
type WalletTransaction = { txn: string; signers?: string[] }

/** According to ARC-1, an empty list of signers means that the transaction is not to be signed. */
const signOwn = (transactions: WalletTransaction[]): (string | null)[] => {
  assert.deepEqual(
    transactions.map(({ signers }) => signers),
    [[], undefined],
    'the first pays the fees, and another account signs it',
  )
  return transactions.map(({ txn, signers }) => (signers?.length === 0 ? null : signed(txn)))
}

async function payWith({ page }: Visit, wallet: string): Promise<void> {
  await page.getByRole('button', { name: wallet, exact: true }).click()
  await page.getByRole('button', { name: 'Pay $0.25' }).click()
}

/** Checks that the last payment is the buyer's, goes to the seller, and leaves the fee transaction unsigned. */
async function assertPaid(visitor: Visit, before: number): Promise<void> {
  await waitForStatus(visitor, /Payment complete/)
  assert.equal(verified.length, before + 1)
  const [sponsor, payment] = verified.at(-1)!.map((text) => Buffer.from(text, 'base64'))
  assert.doesNotThrow(() => algosdk.decodeUnsignedTransaction(sponsor!))
  const { txn, sig } = algosdk.decodeSignedTransaction(payment!)
  assert.ok(sig)
  assert.deepEqual(
    [txn.sender.toString(), txn.assetTransfer!.receiver.toString(), txn.assetTransfer!.amount],
    [address, seller, 250_000n],
  )
}

const phones = {
  Pera: { dialog: 'pera-wallet-connect-modal', name: 'Pera Wallet' },
  Defly: { dialog: 'defly-wallet-connect-modal', name: 'Defly Wallet' },
}
for (const [wallet, phone] of Object.entries(phones)) {
  test(`${wallet} pairs by QR code, signs, and does not pair again after a reload`, async () => {
    let pairings = (): number => 0
    const visitor = await openShop(async (page) => {
      ;({ pairings } = await pairPhone(page, { ...phone, accounts: [address], sign: signOwn }))
    })
    let before = verified.length
    await payWith(visitor, wallet)
    await assertPaid(visitor, before)
    assert.equal(pairings(), 1)
    await visitor.page.reload()
    before = verified.length
    await payWith(visitor, wallet)
    await assertPaid(visitor, before)
    assert.equal(pairings(), 1)
    // A wallet chosen a second time is paired again, because its phone may be gone.
    await visitor.page.reload()
    await visitor.page.getByRole('button', { name: wallet, exact: true }).click()
    await visitor.page.getByRole('button', { name: 'Use another wallet' }).click()
    await visitor.page.getByRole('button', { name: wallet, exact: true }).click()
    await visitor.page.locator(phone.dialog).waitFor({ state: 'attached' })
  })
}

test('a pairing with one phone wallet is not used for another', async () => {
  let accounts = [address]
  const visitor = await openShop(async (page) => {
    await pairPhone(page, {
      ...phones.Defly,
      get accounts() {
        return accounts
      },
      sign: signOwn,
    })
  })
  await visitor.page.getByRole('button', { name: 'Defly', exact: true }).click()
  await visitor.page.getByRole('button', { name: 'Use another wallet' }).click()
  accounts = []
  await visitor.page.getByRole('button', { name: 'Pera', exact: true }).click()
  await visitor.page.locator(phones.Pera.dialog).waitFor({ state: 'attached' })
})

/** Installs the script of an extension; `handle` answers in the test process. */
async function withExtension(script: string, handle: (what: string, value: unknown) => unknown): Promise<Visit> {
  return openShop(async (page) => {
    await page.exposeFunction('handle', async (what: string, value: unknown) => handle(what, value))
    await page.addInitScript(script)
  })
}

const luteExtension = `
  window.lute = true
  const bytes = (text) => (text === null ? null : Uint8Array.from(atob(text), (one) => one.charCodeAt(0)))
  addEventListener('lute-connect', async ({ detail }) => {
    const result = await window.handle(detail.action, detail.txns ?? detail.genesisID)
    const respond = (type, value) => dispatchEvent(new CustomEvent(type, { detail: value }))
    if (detail.action === 'connect') respond('connect-response', { action: 'connect', addrs: result })
    else respond('sign-txns-response', { action: 'signed', txns: result.map(bytes) })
  })`

test('Lute signs as an extension', async () => {
  const visitor = await withExtension(luteExtension, (what, value) => {
    if (what !== 'connect') return signOwn(value as WalletTransaction[])
    assert.equal(value, 'mainnet-v1.0')
    return [address]
  })
  const before = verified.length
  await payWith(visitor, 'Lute')
  await assertPaid(visitor, before)
  assert.deepEqual(visitor.issues, [])
})

const kibisisExtension = `
  for (const method of ['enable', 'sign_transactions']) {
    addEventListener('arc0027:' + method + ':request', async ({ detail: { id, params } }) => {
      const result = await window.handle(method, params)
      const reference = 'arc0027:' + method + ':response'
      dispatchEvent(new CustomEvent(reference, { detail: JSON.stringify({ id: 'x', reference, requestId: id, ...result }) }))
    })
  }`

test('Kibisis signs through page messages', async () => {
  const visitor = await withExtension(kibisisExtension, (method, params) =>
    method === 'enable'
      ? { result: { accounts: [{ address }], genesisHash: '', genesisId: '', providerId: '' } }
      : { result: { stxns: signOwn((params as { txns: WalletTransaction[] }).txns), providerId: '' } },
  )
  const before = verified.length
  await payWith(visitor, 'Kibisis')
  await assertPaid(visitor, before)
  assert.deepEqual(visitor.issues, [])
})

test("reports a wallet that declines with its own protocol's error code as declined", async () => {
  const visitor = await withExtension(kibisisExtension, () => ({ error: { code: 4001, message: 'no' } }))
  await visitor.page.getByRole('button', { name: 'Kibisis' }).click()
  await waitForStatus(visitor, /You declined/)
})

test('a wallet in a separate window waits for a click if the first one was too long ago', async () => {
  const visitor = await openShop(async (page) => {
    await page.addInitScript(`Object.defineProperty(navigator, 'userActivation', { value: { isActive: false } })`)
  })
  const { page } = visitor
  await page.getByRole('button', { name: 'Lute' }).click()
  const proceed = page.getByRole('button', { name: 'Continue to Lute' })
  await proceed.waitFor()
  assert.equal(page.context().pages().length, 1)
  const popup = page.waitForEvent('popup')
  await proceed.click()
  await popup
  await page.getByRole('button', { name: 'Cancel' }).click()
  await waitForStatus(visitor, /You declined/)
})

const strange: { [what: string]: unknown[] } = {
  'no addresses': ['', 'x', `<img src=x>${address}`],
  'things that are no text': [null, 5, {}],
}
for (const [what, accounts] of Object.entries(strange)) {
  test(`a wallet that responds with ${what} has no accounts`, async () => {
    const script = `window.algorand = { enable: async () => window.handle('enable', ''), signTxns: async () => [] }`
    const visitor = await withExtension(script, () => ({ accounts }))
    await visitor.page.getByRole('button', { name: 'Exodus' }).click()
    await waitForStatus(visitor, /The wallet has no accounts/)
    assert.deepEqual(visitor.issues, [])
  })
}
