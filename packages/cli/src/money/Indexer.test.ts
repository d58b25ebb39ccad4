import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Address, Transaction } from '@latchkey/algorand'
import { choose, lookUp } from './Indexer.js'

const bytes = (fill: number): Uint8Array => new Uint8Array(32).fill(fill)
const base64 = (value: Uint8Array): string => Buffer.from(value).toString('base64')
const [alice, bob] = [bytes(1), bytes(2)]
const common = { snd: alice, fee: 1000n, fv: 5n, lv: 1005n, gh: bytes(9), gen: 'dev-v1' }
const pay: Transaction.Transaction = { ...common, type: 'pay', rcv: bob, amt: 7n, note: Uint8Array.of(1, 255) }
const transfer: Transaction.Transaction = {
  ...common,
  type: 'axfer',
  xaid: 3n,
  arcv: bob,
  aamt: 2n ** 53n - 1n,
  aclose: bob,
}

function indexed(transaction: Transaction.Transaction, own: object): object {
  return {
    ...{ id: Transaction.id(transaction), 'tx-type': transaction.type, sender: Address.encode(alice), fee: 1000 },
    ...{ 'first-valid': 5, 'last-valid': 1005, 'genesis-hash': base64(bytes(9)), 'genesis-id': 'dev-v1' },
    ...{ 'confirmed-round': 7, 'round-time': 1_700_000_000, ...own },
  }
}

const indexedPay = indexed(pay, {
  note: base64(Uint8Array.of(1, 255)),
  'payment-transaction': { receiver: Address.encode(bob), amount: 7, 'close-amount': 0 },
})

async function serve(t: TestContext, reply: (path: string) => [number, string]) {
  const seen: { path: string; token: unknown }[] = []
  const server = createServer((request, response) => {
    seen.push({ path: request.url!, token: request.headers['x-indexer-api-token'] })
    const [status, text] = reply(request.url!)
    response.writeHead(status, status === 302 ? { Location: '/' } : {}).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

test('reads payments and transfers whose id matches', async (t) => {
  let body: object = { transaction: indexedPay }
  const { url, seen } = await serve(t, () => [200, JSON.stringify(body)])
  const found = await lookUp({ url: `${url}/`, token: 'secret' }, Transaction.id(pay))
  assert.deepEqual([found?.round, found?.time?.toISOString()], [7n, '2023-11-14T22:13:20.000Z'])
  assert.equal(Transaction.id(found!.transaction!), Transaction.id(pay))
  assert.deepEqual(seen, [{ path: `/v2/transactions/${Transaction.id(pay)}`, token: 'secret' }])
  const own = {
    receiver: Address.encode(bob),
    amount: Number.MAX_SAFE_INTEGER,
    'asset-id': 3,
    'close-to': Address.encode(bob),
  }
  body = { transaction: indexed(transfer, { 'asset-transfer-transaction': own }) }
  const id = Transaction.id(transfer)
  assert.equal(Transaction.id((await lookUp({ url: url, token: undefined }, id))!.transaction!), id)
})

test('describes nothing without the right id, and accepts no other transaction', async (t) => {
  let body: object = { transaction: { ...indexedPay, fee: 2000 } }
  const { url } = await serve(t, () => [200, JSON.stringify(body)])
  const found = await lookUp({ url: url, token: undefined }, Transaction.id(pay))
  assert.deepEqual([found?.round, found?.transaction], [7n, undefined])
  for (const wrong of [
    { transaction: { ...indexedPay, id: 'B'.repeat(52) } },
    { transaction: { ...indexedPay, 'confirmed-round': 'x' } },
    { transaction: [] },
    {},
  ]) {
    body = wrong
    await assert.rejects(lookUp({ url: url, token: undefined }, Transaction.id(pay)), { code: 'indexer_unavailable' })
  }
})

test('a failure, a redirect, a web page or an oversized response is an error, and 404 is not', async (t) => {
  let reply: [number, string] = [404, '{"message":"no transaction found"}']
  const { url } = await serve(t, () => reply)
  const id = Transaction.id(pay)
  assert.equal(await lookUp({ url: url, token: undefined }, id), undefined)
  for (const wrong of [
    [500, '{}'],
    [302, ''],
    [200, '<html>'],
    [200, `"${'x'.repeat(2 * 1024 * 1024)}"`],
  ] as [number, string][]) {
    reply = wrong
    await assert.rejects(lookUp({ url: url, token: undefined }, id), { code: 'indexer_unavailable' })
  }
  await assert.rejects(lookUp({ url: 'http://127.0.0.1:1', token: undefined }, id), { code: 'indexer_unavailable' })
})

test('the indexer is the given one, that of the environment for its network, or a public one', () => {
  const testnet = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'
  const environment = { INDEXER_URL: 'http://own' }
  const secret = { ...environment, INDEXER_TOKEN: 'secret' }
  assert.deepEqual(choose(undefined, testnet, secret, true), { url: 'http://own', token: 'secret' })
  const others = [
    [choose('http://given', testnet, secret, true), 'http://given'],
    [choose(undefined, testnet, secret, false), 'https://testnet-idx.algonode.cloud'],
    [choose(undefined, testnet, { ...secret, INDEXER_URL: '' }, true), 'https://testnet-idx.algonode.cloud'],
  ] as const
  for (const [place, url] of others)
    assert.deepEqual(place, { url, token: undefined }, 'no other indexer gets the token')
  assert.equal(choose(undefined, `algorand:${'x'.repeat(32)}`, {}, true), undefined)
  assert.throws(() => choose('file:///etc/passwd', testnet, {}, true), { code: 'invalid_value' })
  assert.throws(() => choose('nonsense', testnet, {}, true), { code: 'invalid_value' })
})
