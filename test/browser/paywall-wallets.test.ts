/** Wallets in the browser, on what looks like MainNet: an extension that is there, one that is not, and dialogs. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Network } from '@latchkey/algorand'
import { paymentGate } from '@latchkey/x402/node'
import { Chain, type FacilitatorClient, Gate } from '@latchkey/x402/server'
import algosdk from 'algosdk'
import { listen } from '../x402/support/shops.js'
import { launch } from './chromium.test.helper.js'
import { says, type Visit, visit } from './paywall.test.helper.js'

const browser = await launch({ after })
const buyer = algosdk.generateAccount()
const [seller, feePayer] = [algosdk.generateAccount(), algosdk.generateAccount()].map(({ addr }) => addr.toString())
const round = 50_000_000

/** A node that knows the network and nothing that happened on it. */
const node = async (url: string): Promise<Response> => {
  if (url.endsWith('/v2/transactions/params')) {
    const { genesisHash, genesisId } = Network.mainnet
    const network = { 'genesis-hash': genesisHash, 'genesis-id': genesisId, 'consensus-version': 'x' }
    return Response.json({ ...network, fee: 0, 'last-round': round, 'min-fee': 1_000 })
  }
  if (url.endsWith('/v2/status')) return Response.json({ 'last-round': round })
  if (/\/assets\/31566704$/.test(url)) {
    return Response.json({ 'asset-holding': { amount: 0, 'asset-id': 31566704, 'is-frozen': false } })
  }
  return Response.json({ message: 'not found' }, { status: 404 })
}

const shown: string[][] = []
const facilitator: FacilitatorClient = {
  name: 'stub',
  isTrusted: true,
  supported: async () => ({
    kinds: [{ x402Version: 2, scheme: 'exact', network: Network.mainnet.caip2 as never, extra: { feePayer } }],
    extensions: [],
    signers: {},
  }),
  verify: async ({ payload }) => {
    shown.push((payload as { paymentGroup: string[] }).paymentGroup)
    return { isValid: true, payer: buyer.addr.toString() }
  },
  settle: async (_, { network }) => ({ success: true, transaction: 'x', network, payer: buyer.addr.toString() }),
}

const chain = await Chain.open({ network: 'mainnet', fetch: node as never })
const accepts = { network: 'mainnet', price: '$0.25', payTo: seller!, maxTimeoutSeconds: 60 }
const routes = { 'GET /weather': { accepts, description: 'The weather, now' } }
const paywall = { kmd: { url: 'http://127.0.0.1:4002', token: 'a-token-of-somebody' } }
const gate = await Gate.open({ routes, chains: chain, facilitators: facilitator, paywall })
const shop = await listen(paymentGate(gate, (_, response) => response.end('sunny')))
after(shop.close)

/** What an extension puts into every page; the key stays here. */
const extension = `window.algorand = {
  isConnected: true,
  enable: async () => window.ask('enable', ''),
  signTxns: async (txns) => Promise.all(txns.map((one) => one.signers ? null : window.ask('sign', one.txn))),
}`

type Answering = (what: 'enable' | 'sign', txn: string) => unknown

async function open(answer?: Answering): Promise<Visit> {
  const before = async (page: Visit['page']): Promise<void> => {
    if (answer !== undefined) {
      await page.exposeFunction('ask', async (what: 'enable' | 'sign', txn: string) => answer(what, txn))
      await page.addInitScript(extension)
    }
    // No test asks anybody beyond this machine.
    await page.route(/^https:/, (route) => route.abort('failed'))
    await page.routeWebSocket(/^wss:/, (socket) => socket.close())
  }
  return visit(browser, `${shop.url}/weather`, { before })
}

const accounts = { accounts: [buyer.addr.toString()] }

function signed(text: string): string {
  const txn = algosdk.decodeUnsignedTransaction(Buffer.from(text, 'base64'))
  return Buffer.from(txn.signTxn(buyer.sk)).toString('base64')
}

test('real money is marked, and no key daemon is offered for it, nor its token told', async () => {
  const { page } = await open()
  assert.equal(await page.locator('[data-money]').innerText(), 'Real money')
  await page.getByRole('button', { name: 'Pera' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Local key daemon' }).count(), 0)
  assert.ok(!(await page.content()).includes('a-token-of-somebody'))
})

test('a wallet in the browser signs the one payment, as the scheme has it, and nothing else', async () => {
  const person = await open((what, txn) => (what === 'enable' ? accounts : signed(txn)))
  await person.page.getByRole('button', { name: 'Exodus' }).click()
  await person.page.getByRole('button', { name: 'Pay $0.25' }).click()
  await says(person, /Paid\. Here it is\./)
  const [sponsor, payment] = shown.at(-1)!.map((text) => Buffer.from(text, 'base64'))
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
  // A minute for the seller, two for the person, at the pace of the network, and three rounds.
  assert.equal(lastValid - firstValid, 75n)
  assert.match(Buffer.from(txn.note).toString(), /^x402-payment-v2-/)
  assert.deepEqual(fee.group, txn.group)
  assert.deepEqual(person.faults, [])
})

const refusals: { [what: string]: { answer: Answering; words: RegExp } } = {
  'declines to connect': {
    answer: () => {
      throw Object.assign(new Error('User Rejected Request'), { code: 4001 })
    },
    words: /You declined/,
  },
  'is set to another network': {
    answer: () => {
      throw new Error('Network mismatch: the wallet is on TestNet')
    },
    words: /another network.*Set it to Algorand MainNet/s,
  },
  'has no accounts': { answer: () => ({ accounts: [] }), words: /The wallet has no accounts/ },
}
for (const [what, { answer, words }] of Object.entries(refusals)) {
  test(`a wallet that ${what} is told as that`, async () => {
    const person = await open(answer)
    await person.page.getByRole('button', { name: 'Exodus' }).click()
    await says(person, words)
    await person.page.getByRole('button', { name: 'Exodus' }).waitFor()
    assert.deepEqual(person.faults, [])
  })
}

test('who declines to sign has paid nothing, and may try again', async () => {
  const before = shown.length
  let declines = 1
  const person = await open((what, txn) => {
    if (what === 'enable') return accounts
    if (declines-- > 0) throw new Error('The user declined to sign')
    return signed(txn)
  })
  await person.page.getByRole('button', { name: 'Exodus' }).click()
  await person.page.getByRole('button', { name: 'Pay $0.25' }).click()
  await says(person, /You declined.*nothing was paid/s)
  assert.equal(shown.length, before)
  await person.page.getByRole('button', { name: 'Pay $0.25' }).click()
  await says(person, /Paid\. Here it is\./)
})

test('a wallet that signs something else is not believed, and nothing is sent', async () => {
  const before = shown.length
  const person = await open((what, text) => {
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
  await person.page.getByRole('button', { name: 'Exodus' }).click()
  await person.page.getByRole('button', { name: 'Pay $0.25' }).click()
  await says(person, /signed something else.*nothing was paid/s)
  assert.equal(shown.length, before)
})

test('an extension that is not there is told as that', async () => {
  const person = await open()
  await person.page.getByRole('button', { name: 'Exodus' }).click()
  await says(person, /Exodus is not here.*Install Exodus/s)
  assert.deepEqual(person.faults, [])
})

test('nobody has to wait for a wallet that does not answer', async () => {
  const person = await open()
  await person.page.getByRole('button', { name: 'Kibisis' }).click()
  await person.page.getByRole('button', { name: 'Cancel' }).click()
  await says(person, /You declined/)
  await person.page.getByRole('button', { name: 'Pera' }).waitFor()
})

for (const [name, dialog] of [
  ['Pera', 'pera-wallet-connect-modal'],
  ['Defly', 'defly-wallet-connect-modal'],
] as const) {
  test(`the dialog of ${name} opens within the page’s policy`, async () => {
    const person = await open()
    const faults: string[] = []
    person.page.on('console', (message) => faults.push(message.text()))
    await person.page.getByRole('button', { name }).click()
    await person.page.locator(dialog).waitFor({ state: 'attached' })
    await person.page.locator(`${dialog} canvas, ${dialog} svg`).first().waitFor({ state: 'attached' })
    assert.deepEqual(
      faults.filter((fault) => /Content Security Policy|is not a function|is not defined/.test(fault)),
      [],
    )
  })
}
