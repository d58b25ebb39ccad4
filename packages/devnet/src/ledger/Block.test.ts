import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Hash, Submission, Transaction } from '@latchkey/algorand'
import algosdk from 'algosdk'
import { createAsset, fund, personOf, sign, signGroup, TestNode } from '../testing/TestNode.test.helper.js'
import type { Outcome } from './apply/index.js'
import * as Block from './Block.js'
import * as MapKey from './MapKey.js'

type Recorded = { round: number; hash: string; transactionIds: string[]; header: string; block: string }
// biome-ignore lint/suspicious/noExplicitAny: msgpack read by another library
type Fields = Map<string, any>

/** Blocks as served by a reference node. */
const recorded: { blocks: Recorded[] } = JSON.parse(
  readFileSync(new URL('../../src/ledger/fixtures/blocks.json', import.meta.url), 'utf8'),
)

function mapOf(bytes: Uint8Array): Fields {
  const options = { intDecoding: algosdk.IntDecoding.BIGINT }
  return algosdk.msgpackRawDecodeAsMap(Buffer.from(bytes), options) as Fields
}

function fieldsOf(block: Uint8Array): Fields {
  return mapOf(block).get('block')
}

/** The header-only form is a map with only `block`: seven bytes, then the header. */
const headerOf = (response: string): Buffer => Buffer.from(response, 'base64').subarray(7)

/** Returns the signed transaction of an entry, with the values that blocks omit. */
function signedOf(entry: Fields, block: Fields): Submission.Submitted {
  const txn: Fields = new Map(entry.get('txn') as Fields).set('gh', block.get('gh'))
  if (entry.get('hgi') === true) txn.set('gen', block.get('gen'))
  const transactions = new Map([...entry].filter(([name]) => ['sig', 'msig', 'sgnr'].includes(name)))
  return Submission.decodeFirst(algosdk.msgpackRawEncode(transactions.set('txn', txn))).signed
}

function outcomeOf(entry: Fields): Outcome {
  return {
    ...(entry.has('ca') ? { closingAmount: entry.get('ca') } : {}),
    ...(entry.has('aca') ? { assetClosingAmount: entry.get('aca') } : {}),
    ...(entry.has('caid') ? { createdAssetId: entry.get('caid') } : {}),
  }
}

test('fixtures contain blocks of a real node', () => {
  assert.deepEqual(
    recorded.blocks.map(({ transactionIds }) => transactionIds.length),
    [1, 2, 3, 5, 1, 1, 1, 0],
  )
})

for (const { round, hash, transactionIds, header, block } of recorded.blocks) {
  const bytes = Buffer.from(block, 'base64')
  const fields = fieldsOf(bytes)
  const entries: Fields[] = fields.get('txns') ?? []

  test(`block ${round} of a real node: computes its hash`, () => {
    assert.equal(Hash.toText(Hash.hash(Hash.domains.blockHeader, headerOf(header))), hash)
  })

  test(`block ${round} of a real node: computes its transaction ids and roots`, () => {
    const rebuilt = entries.map((entry) => {
      const signed = signedOf(entry, fields)
      const rebuiltEntry = Block.commitmentEntryOf(Submission.withBytes(signed), outcomeOf(entry))
      return { transaction: Transaction.encode(signed.txn), entry: rebuiltEntry.entry.slice() }
    })
    assert.deepEqual(
      rebuilt.map(({ transaction }) => Transaction.id(transaction)),
      transactionIds,
    )
    for (const [index, { entry }] of rebuilt.entries()) {
      assert.deepEqual(Buffer.from(entry), Buffer.from(algosdk.msgpackRawEncode(entries[index]!)))
    }
    const roots = Block.rootsOf(rebuilt)
    for (const name of ['txn', 'txn256', 'txn512'] as const) {
      assert.deepEqual(roots[name] && Buffer.from(roots[name]), fields.get(name), name)
    }
  })

  test(`block ${round} of a real node: encodes it from header and transactions`, () => {
    const transactions = entries.map((entry) => {
      const signed = signedOf(entry, fields)
      const key = MapKey.of(Transaction.digest(signed.txn))
      return { key, signed: Submission.encode(signed).slice(), outcome: outcomeOf(entry) }
    })
    const none = new Uint8Array(0)
    const own = {
      round: BigInt(round),
      timestamp: 0n,
      hash: none,
      hash512: none,
      header: headerOf(header),
      load: { load: 0n, tax: 0n },
      transactions,
    }
    assert.deepEqual(Buffer.from(Block.encode(own)), bytes)
  })
}

async function ownBlocks(): Promise<TestNode> {
  const node = new TestNode()
  const [alice, bob] = [node.funded(0), fund(node, personOf(11), 1_000_000n)]
  const asset = await createAsset(node, alice, { t: 100n, m: alice.publicKey })
  fund(node, bob, 1_000_000n, [{ assetId: asset, amount: 5n }])
  await node.send(
    ...signGroup([
      [node.txn('axfer', bob, { xaid: asset, aclose: alice.publicKey }), bob],
      [node.pay(bob, undefined, 0n, { close: alice.publicKey }), bob],
      [node.txn('keyreg', alice, { gen: undefined }), alice],
    ]),
  )
  node.node.mine(1)
  return node
}

test('algosdk decodes our blocks with their outcomes', async () => {
  const node = await ownBlocks()
  const read = (round: bigint) =>
    algosdk.decodeMsgpack(Block.encode(node.ledger.block(round)!), algosdk.modelsv2.BlockResponse).block
  assert.equal(read(1n).payset[0]?.signedTxn.applyData.configAsset, 1001n)
  const { payset, header } = read(2n)
  assert.deepEqual([header.round, header.genesisID, header.txnCounter], [2n, 'dockernet-v1', 1004n])
  assert.equal(payset[0]?.signedTxn.applyData.assetClosingAmount, 5n)
  assert.equal(payset[1]?.signedTxn.applyData.closingAmount, 1_998_000n)
  assert.deepEqual(
    payset.map(({ hasGenesisID }) => hasGenesisID),
    [true, true, false],
  )
  assert.equal(read(3n).payset.length, 0)
  assert.equal(read(0n).header.round, 0n)
})

test('each block commits to the previous one and to its transactions', async () => {
  const node = await ownBlocks()
  for (let round = 1n; round <= node.ledger.last.round; round++) {
    const { header, hash, transactions } = node.ledger.block(round)!
    const before = node.ledger.block(round - 1n)!
    const fields = mapOf(header)
    assert.deepEqual(Buffer.from(hash), createHash('sha512-256').update('BH').update(header).digest())
    assert.deepEqual(fields.get('prev'), Buffer.from(before.hash))
    assert.deepEqual(fields.get('prev512'), createHash('sha512').update('BH').update(before.header).digest())
    const roots = Block.rootsOf(
      transactions.map(({ signed, outcome }) => {
        const { signed: read } = Submission.decodeFirst(signed)
        const { entry } = Block.commitmentEntryOf(Submission.withBytes(read), outcome)
        return { transaction: Transaction.encode(read.txn), entry }
      }),
    )
    assert.deepEqual(fields.get('txn'), roots.txn && Buffer.from(roots.txn))
    assert.deepEqual(fields.get('txn512'), Buffer.from(roots.txn512))
    assert.deepEqual([...fields.keys()], [...fields.keys()].sort())
  }
})

test('the header contains collected fees and the transaction counter', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  await node.send(sign(node.pay(alice, alice, 1n, { fee: 7000n }), alice))
  const fields = mapOf(node.ledger.last.header)
  assert.deepEqual([fields.get('fc'), fields.get('tc'), fields.get('rnd')], [7000n, 1001n, 1n])
})
