/**
 * A seller signs receipts with a key in the daemon or in its process; the buyer keeps them, and the published packages
 * verify them.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Address, Mnemonic, SignedOffer, SignedReceipt } from '@latchkey/algorand'
import { Kmd } from '@latchkey/kmd-client'
import { decodeRequired, type PaymentRequired, payingFetch, paymentRequired } from '@latchkey/x402/client'
import { FilePayments } from '@latchkey/x402/file'
import { paymentGate } from '@latchkey/x402/node'
import { type GateOptions, ReceiptSigner } from '@latchkey/x402/server'
import { start, suiteScope, temporaryDirectory } from '../process/commands.test.helper.js'
import { hostedLatchkey } from '../support/latchkey.test.helper.js'
import { openMarket } from './support/market.test.helper.js'
import { rawRequest } from './support/rawRequest.test.helper.js'

type Signed = { format: string; signature: string }
type Published = {
  extractReceiptFromResponse: (response: Response) => Signed | undefined
  verifyReceiptSignatureJWS: (receipt: Signed) => Promise<{ [name: string]: unknown }>
  verifyOfferSignatureJWS: (offer: Signed) => Promise<{ [name: string]: unknown }>
  extractOffersFromPaymentRequired: (required: PaymentRequired) => (Signed & { acceptIndex: number })[]
}

const scope = suiteScope()
const market = await openMarket({ after })
const directory = temporaryDirectory(scope)
const published = createRequire(new URL('../../../published/package.json', import.meta.url))
const theirs = (await import(pathToFileURL(published.resolve('@x402/extensions')).href)) as Published

async function openSeller(
  receipts: GateOptions['receipts'],
  onError = (_: unknown): void => {},
  options: Partial<GateOptions> = {},
): Promise<string> {
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const gate = await market.gate({ routes: { 'GET /weather': { accepts } }, receipts, origin, onError, ...options })
  server.on(
    'request',
    paymentGate(gate, (_, response) => response.end('sunny')),
  )
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `${origin}/weather`
}

/** A seller's key in a wallet of the daemon. */
async function keyInDaemon(): Promise<{ signer: ReceiptSigner.ReceiptSigner; address: string }> {
  const { dataDir } = await start(scope)
  const kmd = await Kmd.connect({ dataDir })
  await kmd.wallets.create({ name: 'shop', password: 'open sesame' })
  const wallet = await kmd.unlock({ name: 'shop', password: 'open sesame' })
  const address = await wallet.generateKey()
  return {
    address,
    signer: ReceiptSigner.fromKmd({ kmd: { dataDir }, wallet: 'shop', password: 'open sesame', address }),
  }
}

const inProcess = ReceiptSigner.fromMnemonic(Mnemonic.encode(new Uint8Array(32).fill(5)))

for (const [name, open] of Object.entries({
  daemon: keyInDaemon,
  process: async () => ({ signer: inProcess, address: inProcess.address }),
})) {
  test(`the published package verifies a receipt signed by a key in the ${name}, and finds one altered byte`, async () => {
    const { signer, address } = await open()
    const url = await openSeller(signer)
    const log = join(directory, `${name}.jsonl`)
    const buyer = market.newBuyer({ payments: new FilePayments(log) })
    const response = await payingFetch(buyer)(url)
    assert.deepEqual([response.status, await response.text()], [200, 'sunny'])
    const receipt = theirs.extractReceiptFromResponse(response)!
    const [payment] = buyer.payments.all()
    const { transactionId } = payment!
    const payload = await theirs.verifyReceiptSignatureJWS(receipt)
    const { version, network, resourceUrl, payer, transaction, issuedAt } = payload
    assert.deepEqual([version, resourceUrl, payer, transaction], [1, url, buyer.address, transactionId])
    assert.ok(market.chain.ids.includes(network as string))
    assert.ok(Math.abs(Date.now() / 1_000 - (issuedAt as number)) < 60)
    // The last character of the signature has bits that no byte has.
    for (let index = 0; index < receipt.signature.length - 1; index += 7) {
      const { signature } = receipt
      const other = signature[index] === 'A' ? 'B' : 'A'
      const altered = signature.slice(0, index) + other + signature.slice(index + 1)
      await assert.rejects(theirs.verifyReceiptSignatureJWS({ format: 'jws', signature: altered }))
      assert.throws(() => SignedReceipt.verify(altered), { code: 'invalid_receipt' })
    }
    // Kept with the payment, also after a restart.
    assert.equal(new FilePayments(log).get(transactionId)!.signedReceipt, receipt.signature)
    assert.equal(SignedReceipt.verify(receipt.signature).signer, address)
    const listed = await hostedLatchkey(['receipts', 'list', '--log', log])
    assert.deepEqual([listed.code, listed.stderr], [0, ''])
    assert.ok(listed.stdout.includes(`${transactionId}  signed by another key, ${address}`), listed.stdout)
    const verified = await hostedLatchkey(['receipts', 'verify', transactionId, '--log', log])
    assert.equal(verified.code, 0)
    assert.match(verified.stdout, new RegExp(`^Valid, signed by another key, ${address}`))
    const alone = await hostedLatchkey(['receipts', 'verify', receipt.signature, '--json'])
    assert.equal(JSON.parse(alone.stdout).receipts[0].signer, address)
    const [start = '', end = ''] = receipt.signature.split(/(?<=^.{100})./)
    const wrong = await hostedLatchkey([
      'receipts',
      'verify',
      `${start}${receipt.signature[100] === 'A' ? 'B' : 'A'}${end}`,
    ])
    assert.deepEqual([wrong.code, wrong.stdout], [3, ''])
    assert.match(wrong.stderr, /the receipt is not valid/)
  })
}

for (const [name, open] of Object.entries({
  daemon: keyInDaemon,
  process: async () => ({ signer: inProcess, address: inProcess.address }),
})) {
  test(`the published package verifies offers signed by a key in the ${name}, and finds one altered byte`, async () => {
    const { signer, address } = await open()
    const url = await openSeller(signer, undefined, { signOffers: true })
    const unpaid = await fetch(`${url}?city=Rome`)
    const header = unpaid.headers.get(paymentRequired)!
    assert.ok(header.length < 4_096, `${header.length} bytes`)
    const required = decodeRequired(header)
    const offers = theirs.extractOffersFromPaymentRequired(required)
    assert.equal(offers.length, required.accepts.length)
    for (const [index, offer] of offers.entries()) {
      const { version, validUntil, ...terms } = await theirs.verifyOfferSignatureJWS(offer)
      const { scheme, network, asset, payTo, amount } = required.accepts[index]!
      assert.deepEqual(terms, { resourceUrl: `${url}?city=Rome`, scheme, network, asset, payTo, amount })
      assert.deepEqual([version, offer.acceptIndex], [1, index])
      assert.ok((validUntil as number) > Date.now() / 1_000 + 200)
      assert.equal(SignedOffer.verify(offer.signature).signer, address)
      const altered = offer.signature.replace(/\.(.)/, (_, first: string) => `.${first === 'A' ? 'B' : 'A'}`)
      await assert.rejects(theirs.verifyOfferSignatureJWS({ format: 'jws', signature: altered }))
    }
    // The same offer is not signed again, and a payment is accepted with the extension that its buyer copies.
    const again = decodeRequired((await fetch(`${url}?city=Rome`)).headers.get(paymentRequired)!)
    assert.deepEqual(theirs.extractOffersFromPaymentRequired(again), offers)
    const response = await payingFetch(market.newBuyer())(url)
    assert.deepEqual([response.status, await response.text()], [200, 'sunny'])
  })
}

test('an offer that cannot be signed, or is another one, is sent without a signature', async () => {
  const other = ReceiptSigner.fromSeed(new Uint8Array(32).fill(6))
  const { address, sign } = inProcess
  const signers: { [name: string]: ReceiptSigner.ReceiptSigner } = {
    'a signer that throws': { address, sign, signOffer: () => Promise.reject(new Error('no daemon')) },
    'a signer that returns nonsense': { address, sign, signOffer: () => 'nonsense' },
    'another key': { address, sign, signOffer: other.signOffer },
    'another price': { address, sign, signOffer: (offer) => inProcess.signOffer!({ ...offer, amount: '1' }) },
  }
  for (const [name, signer] of Object.entries(signers)) {
    const errors: unknown[] = []
    const url = await openSeller(signer, (error) => errors.push(error), { signOffers: true })
    const unpaid = await fetch(url)
    assert.equal(unpaid.status, 402)
    const required = decodeRequired(unpaid.headers.get(paymentRequired)!)
    assert.deepEqual(theirs.extractOffersFromPaymentRequired(required), [], name)
    assert.ok(errors.length > 0, name)
  }
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
  const routes = { 'GET /weather': { accepts } }
  const options = { routes, origin: 'https://shop.example', receipts: { address, sign }, signOffers: true }
  await assert.rejects(market.gate(options), { code: 'invalid_option' })
})

test('a receipt that cannot be signed, or is another one, delays and loses no paid response', async () => {
  const other = ReceiptSigner.fromSeed(new Uint8Array(32).fill(6))
  const signers: { [name: string]: ReceiptSigner.ReceiptSigner } = {
    'a signer that throws': { address: inProcess.address, sign: () => Promise.reject(new Error('no daemon')) },
    'a signer that returns nonsense': { address: inProcess.address, sign: () => 'nonsense' },
    'another key': { address: inProcess.address, sign: other.sign },
    'another payer': {
      address: inProcess.address,
      sign: (fields) => inProcess.sign({ ...fields, payer: Address.encode(new Uint8Array(32)) }),
    },
  }
  for (const [name, signer] of Object.entries(signers)) {
    const errors: unknown[] = []
    const url = await openSeller(signer, (error) => errors.push(error))
    const buyer = market.newBuyer()
    const response = await payingFetch(buyer)(url)
    assert.deepEqual([response.status, await response.text()], [200, 'sunny'], name)
    assert.equal(theirs.extractReceiptFromResponse(response), undefined, name)
    assert.equal(errors.length, 1, name)
    assert.equal(buyer.payments.all()[0]!.signedReceipt, undefined, name)
  }
})

test('a receipt names the origin of the seller, not the Host header of a buyer', async () => {
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
  const routes = { 'GET /weather': { accepts } }
  await assert.rejects(market.gate({ routes, receipts: inProcess }), { code: 'invalid_option' })
  const url = await openSeller(inProcess)
  const { host } = new URL(url)
  const unpaid = await rawRequest(url, '/weather', { host: 'bank.example' })
  const header = /payment-required: (\S+)/i.exec(unpaid.head)![1]!
  const payment = await market.payment(new Response(null, { headers: { 'payment-required': header } }))
  const paid = await rawRequest(url, '/weather', {
    host: 'bank.example',
    headers: { 'PAYMENT-SIGNATURE': payment },
  })
  const settlement = JSON.parse(Buffer.from(/payment-response: (\S+)/i.exec(paid.head)![1]!, 'base64').toString())
  const jws = settlement.extensions['offer-receipt'].info.receipt.signature
  assert.equal(SignedReceipt.verify(jws).receipt.resourceUrl, `http://${host}/weather`)
})

test('a buyer keeps no receipt of another payment or of an invalid signature', async () => {
  const url = await openSeller(inProcess)
  const buyer = market.newBuyer()
  const first = theirs.extractReceiptFromResponse(await payingFetch(buyer)(url))!.signature
  const replaced =
    (jws: string): typeof fetch =>
    async (input, init) => {
      const response = await fetch(input, init)
      const header = response.headers.get('payment-response')
      if (header === null) return response
      const settlement = JSON.parse(Buffer.from(header, 'base64').toString())
      settlement.extensions['offer-receipt'].info.receipt.signature = jws
      const headers = new Headers(response.headers)
      headers.set('payment-response', Buffer.from(JSON.stringify(settlement)).toString('base64'))
      return new Response(response.body, { status: response.status, headers })
    }
  for (const jws of [first, `${first.slice(0, -10)}AAAAAAAAAA`, 'x', '', 'A'.repeat(100_000)]) {
    const other = market.newBuyer()
    const response = await payingFetch(other, { fetch: replaced(jws), rememberPrices: false })(url)
    assert.equal(response.status, 200)
    assert.equal(other.payments.all()[0]!.signedReceipt, undefined, jws.slice(0, 20))
  }
})
