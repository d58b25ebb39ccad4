import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alice, B, bob, carol, hash, header } from './Description.test.helper.js'
import * as Network from './Network.js'
import * as Readable from './Readable.js'
import * as Transaction from './Transaction.js'

const local = new Uint8Array(32).fill(9)
const usdc = 31566704n

function decoded(members: Partial<Transaction.Transaction>): Transaction.Transaction {
  const given = { ...header, type: 'pay', ...members } as Transaction.Transaction
  return Transaction.decode(Transaction.encode(given))
}

const transfer = (members: Partial<Transaction.Transaction> = {}): Transaction.Transaction =>
  decoded({ type: 'axfer', gen: 'dockernet-v1', gh: local, xaid: usdc, aamt: 10_000n, arcv: bob, ...members })

const dollars = { dollarAssetIds: [usdc] }
// Whole: an attacker can find an address with the same beginning.
const payee = B

test('a payment leads with who pays how much to whom and for what', () => {
  const text = Readable.payment(transfer(), { payer: 'shopper', claimedUrl: 'http://127.0.0.1:4021/quote', ...dollars })
  assert.equal(text, `shopper wants to pay $0.01 to ${payee} for http://127.0.0.1:4021/quote (not checked)`)
  assert.equal(Readable.payment(transfer(), dollars), `Pays $0.01 to ${payee}`)
  assert.equal(
    Readable.payment(transfer(), { payeeName: 'the shop', ...dollars }),
    `Pays $0.01 to "the shop" (${payee})`,
  )
  assert.equal(Readable.payment(decoded({ rcv: bob, amt: 2_500_000_000n })), `Pays 2,500 ALGO to ${payee}`)
})

test('an asset without a known unit stays in base units, and on a public network only its own USDC is a dollar', () => {
  assert.equal(Readable.payment(transfer()), `Pays 10,000 base units of asset 31566704 to ${payee}`)
  const onTestNet = { gh: hash(Network.testnet), gen: 'testnet-v1.0' }
  assert.equal(Readable.payment(transfer(onTestNet), dollars), `Pays 10,000 base units of asset 31566704 to ${payee}`)
  assert.equal(Readable.payment(transfer({ ...onTestNet, xaid: 10458941n })), `Pays $0.01 to ${payee}`)
})

test('a transaction with another effect is not called a payment', () => {
  const others: Partial<Transaction.Transaction>[] = [
    { rekey: carol },
    { aclose: carol },
    { asnd: carol },
    { aamt: undefined, arcv: alice },
  ]
  for (const other of others) {
    const text = Readable.payment(transfer(other), { payer: 'shopper', ...dollars })
    assert.match(text, /^shopper wants to sign: /)
    assert.doesNotMatch(text, /wants to pay/)
  }
  assert.match(Readable.payment(decoded({ rcv: bob, amt: 1n, close: carol }), { payer: 'x' }), /^x wants to sign: /)
})

test('untrusted names and addresses cannot continue the sentence', () => {
  const options = { payer: 'owner\u202e', claimedUrl: 'http://shop.example/ (checked)\nApproved', ...dollars }
  const text = Readable.payment(transfer(), options)
  assert.equal(
    text,
    `"owner\ufffd" wants to pay $0.01 to ${payee} for "http://shop.example/ (checked)\ufffdApproved" (not checked)`,
  )
  const long = Readable.payment(transfer(), { claimedUrl: `http://x/${'a'.repeat(10_000)}`, ...dollars })
  assert.ok(long.length < 300)
  assert.ok(long.endsWith('... (not checked)'))
})

test('dollars have no decimals or at least two', () => {
  const amounts: [bigint, string][] = [
    [0n, '$0'],
    [10_000n, '$0.01'],
    [500_000n, '$0.50'],
    [1_000n, '$0.001'],
    [5_000_000n, '$5'],
    [1_234_567_890_000n, '$1,234,567.89'],
    [-10_000n, '-$0.01'],
  ]
  for (const [amount, text] of amounts) assert.equal(Readable.dollars(amount), text)
})

test('amounts in another unit have separators, the unit and the id', () => {
  const assets = new Map([[7n, { decimals: 2, unitName: 'GLD' }]])
  assert.equal(Readable.money({ assetId: 7n, amount: 123_456_789n }, { assets }), '1,234,567.89 GLD (asset 7)')
  assert.equal(Readable.money({ assetId: 8n, amount: 1n }, { assets }), '1 base unit of asset 8')
})

test('times have no milliseconds, and an impossible time is no error', () => {
  assert.equal(Readable.time(Date.UTC(2026, 0, 2, 3, 4, 5, 678)), '2026-01-02 03:04:05 UTC')
  assert.equal(Readable.time(Number.NaN), 'an unknown time')
  assert.equal(Readable.time(1e300), 'an unknown time')
})

test('networks have names', () => {
  assert.equal(Readable.network(Network.testnet.caip2), 'TestNet')
  assert.equal(Readable.network(Network.caip2(local)), 'local network')
})

test('two kinds of USDC are explained, one is not', () => {
  assert.equal(Readable.dollarKinds([usdc, usdc]), undefined)
  assert.match(Readable.dollarKinds([usdc, 10458941n])!, /two kinds of USDC: .*MainNet.* and .*TestNet/)
})

test('the options of a description name the dollars of a local network', () => {
  const transaction = transfer()
  const { assets } = Readable.describeOptions(transaction, dollars)
  assert.deepEqual(assets?.get(usdc), { decimals: 6, unitName: 'USDC' })
})
