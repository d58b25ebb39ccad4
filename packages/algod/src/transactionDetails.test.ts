/** Tests the content of transactions and the time of blocks, as nodes report them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Address, Bytes, type Json, Transaction } from '@latchkey/algorand'
import { FakeNode, missing, ok } from './FakeNode.test.helper.js'
import { Algod } from './index.js'
import { decodeTransaction } from './readResponse.js'

const bytes = (fill: number, length = 32): Uint8Array => new Uint8Array(length).fill(fill)
const common = { snd: bytes(1), fee: 1000n, fv: 5n, lv: 1005n, gh: bytes(9), gen: 'dev-v1' }

const transactions: { [type: string]: Transaction.Transaction } = {
  pay: { ...common, type: 'pay', rcv: bytes(2), amt: 2n ** 63n, note: bytes(0xff, 4), close: bytes(3), lx: bytes(4) },
  axfer: { ...common, type: 'axfer', xaid: 7n, aamt: 5n, arcv: bytes(2), aclose: bytes(3), rekey: bytes(5) },
  acfg: { ...common, type: 'acfg', apar: { t: 10n, dc: 6, un: 'USD', an: 'Dollar', m: bytes(1), am: bytes(8) } },
  afrz: { ...common, type: 'afrz', faid: 7n, fadd: bytes(2), afrz: true },
  keyreg: { ...common, type: 'keyreg', votekey: bytes(2), selkey: bytes(3), sprfkey: bytes(4, 64), votelst: 9n },
  appl: {
    ...{ ...common, type: 'appl', apid: 9n, apan: 1n, apaa: [bytes(1, 4), bytes(2, 2)], apat: [bytes(6)], apfa: [3n] },
    ...{ apas: [7n], apbx: [{ i: 1n, n: bytes(7, 3) }], apgs: { nui: 1n }, apap: bytes(6, 5), apep: 1 },
  },
}

/** Converts a value to the JSON of nodes. */
function toJson(value: unknown, name = ''): unknown {
  if (value instanceof Uint8Array) return isAddress(name) ? Address.encode(value) : Bytes.toBase64(value)
  if (Array.isArray(value)) return value.map((one) => toJson(one, name))
  if (typeof value === 'bigint') return value
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, toJson(one, key)]))
}

const isAddress = (name: string): boolean =>
  ['snd', 'rcv', 'close', 'asnd', 'arcv', 'aclose', 'rekey', 'fadd', 'm', 'r', 'f', 'c', 'apat'].includes(name)

for (const [type, transaction] of Object.entries(transactions)) {
  test(`reads a transaction of the type ${type} in the JSON of nodes`, () => {
    const id = Transaction.id(transaction)
    const found = decodeTransaction(toJson(transaction), id)
    assert.deepEqual(Transaction.encode(found!), Transaction.encode(transaction))
  })
}

test('rejects content that does not have the id', () => {
  const id = Transaction.id(transactions['pay']!)
  const json = toJson(transactions['pay']) as Json.Members
  for (const other of [
    { ...json, amt: 1 },
    { ...json, rcv: Address.encode(bytes(9)) },
    { ...json, snd: 'invalid' },
    { ...json, note: 5 },
    { ...json, type: [] },
    ...[undefined, null, [], 'text', {}],
  ]) {
    assert.equal(decodeTransaction(other, id), undefined)
  }
})

function algodOf(t: TestContext, ...nodes: FakeNode[]): Algod {
  const fetch = (url: string | URL | Request, init?: RequestInit): Promise<Response> =>
    nodes[Number(new URL(String(url)).hostname.slice(1))]!.fetch(url, init)
  const algod = new Algod({ nodes: nodes.map((_, index) => ({ url: `http://n${index}` })), fetch: fetch as never })
  t.after(() => algod.close())
  return algod
}

const pending = (transaction: Transaction.Transaction, more: object): string =>
  JSON.stringify({ 'pool-error': '', txn: { sig: '', txn: toJson(transaction) }, ...more }, (_, value) =>
    typeof value === 'bigint' ? Number(value) : value,
  )

test('a transaction comes with its content, from the node that knows most', async (t) => {
  const transaction = { ...transactions['pay']!, amt: 5n }
  const [first, second] = [new FakeNode(), new FakeNode()]
  const algod = algodOf(t, first, second)
  first.on('GET pending', () => missing)
  second.on('GET pending', () => ok(pending(transaction, { 'confirmed-round': 12 })))
  const id = Transaction.id(transaction)
  const { state, transaction: found } = await algod.transactionDetails(id)
  assert.deepEqual(state, { type: 'confirmed', round: 12n })
  assert.equal(Transaction.id(found!), id)
  second.on('GET pending', () => ok(pending({ ...transaction, amt: 6n }, {})))
  assert.deepEqual(await algod.transactionDetails(id), { state: { type: 'pending' }, transaction: undefined })
  second.on('GET pending', () => ok({ 'pool-error': 'overspend' }))
  assert.deepEqual((await algod.transactionDetails(id)).state, { type: 'dropped', reason: 'overspend' })
  second.on('GET pending', () => missing)
  assert.deepEqual(await algod.transactionDetails(id), { state: { type: 'unknown' }, transaction: undefined })
})

test('the time of a block is read', async (t) => {
  const node = new FakeNode()
  const algod = algodOf(t, node)
  node.on('GET block', () => ok({ block: { ts: 1_700_000_000 } }))
  assert.equal((await algod.blockTime(5n)).toISOString(), '2023-11-14T22:13:20.000Z')
  node.on('GET block', () => ok({ block: {} }))
  assert.equal((await algod.blockTime(0n)).getTime(), 0)
  for (const wrong of [{ block: { ts: 2 ** 50 } }, { block: { ts: '5' } }, { block: 1 }]) {
    node.on('GET block', () => ok(wrong))
    await assert.rejects(algod.blockTime(5n), { code: 'not_a_node' })
  }
  node.on('GET block', () => missing)
  await assert.rejects(algod.blockTime(5n), { code: 'not_found' })
})
