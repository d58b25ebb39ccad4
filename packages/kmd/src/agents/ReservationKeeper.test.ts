import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AlgodError } from '@latchkey/algod'
import { Bytes, Transaction } from '@latchkey/algorand'
import type { NodeClient } from '../api/NodeClient.js'
import { parametersOf, unusedNode } from '../testing/TestApp.test.helper.js'
import { limit, network, openAgents, pay } from './AgentFixture.test.helper.js'
import { ReservationKeeper } from './ReservationKeeper.js'

type Ledger = { lastRound: bigint; genesisHash: Uint8Array; blocks: Map<bigint, string[]>; firstBlock: bigint }

/** A new ledger, and a keeper that queries its node. */
async function open(t: TestContext) {
  const fixture = openAgents(t)
  const ledger: Ledger = { lastRound: 1n, genesisHash: Bytes.fromBase64(network)!, blocks: new Map(), firstBlock: 0n }
  const failures: unknown[] = []
  const node: NodeClient = {
    ...unusedNode,
    parameters: async () => parametersOf(ledger.genesisHash, { lastRound: ledger.lastRound }),
    blockTransactionIds: async (round) => {
      assert.ok(round > 0n && round <= ledger.lastRound, `block ${round} was asked for`)
      if (round < ledger.firstBlock) throw new AlgodError('not_found', 'no such block')
      return ledger.blocks.get(round) ?? []
    },
  }
  const keeper = new ReservationKeeper({
    agents: fixture.agents,
    node: () => node,
    onFailure: (error) => failures.push(error),
  })
  const { id, token } = await fixture.create([limit('total', 100n)])
  const left = (): bigint => fixture.agents.budget(id)[0]!.left
  return { ...fixture, ledger, keeper, token, left, failures, node }
}

test('a reservation is returned once no block can contain the transaction, and this is recorded', async (t) => {
  const { keeper, ledger, sign, token, left, database, failures } = await open(t)
  const payment = pay(60n, { fv: 5n, lv: 20n })
  await sign(token, payment)
  for (const round of [20n, 29n]) {
    ledger.lastRound = round
    await keeper.run()
    assert.equal(left(), 40n, `at round ${round}`)
  }
  ledger.lastRound = 30n
  await keeper.run()
  assert.equal(left(), 100n)
  const records = database.statement('SELECT record FROM audit ORDER BY number DESC LIMIT 1').all() as {
    record: string
  }[]
  assert.match(records[0]!.record, /"event":"reservation_returned".*"transaction":"[A-Z2-7]{52}"/)
  await sign(token, payment)
  assert.equal(left(), 40n, 'signed again, it counts again')
  assert.deepEqual(failures, [])
})

test('payments in the ledger stay spent', async (t) => {
  const { keeper, ledger, sign, token, left } = await open(t)
  const payment = pay(60n, { fv: 5n, lv: 20n })
  await sign(token, payment)
  ledger.blocks.set(20n, [Transaction.id(payment.bytes)])
  ledger.lastRound = 1_000n
  await keeper.run()
  ledger.blocks.clear()
  await keeper.run()
  assert.equal(left(), 40n)
})

test('a node without all blocks, of another network, or without a response returns nothing', async (t) => {
  const { keeper, ledger, sign, token, left, failures } = await open(t)
  await sign(token, pay(60n, { fv: 5n, lv: 20n }))
  ledger.lastRound = 1_000n
  ledger.genesisHash = new Uint8Array(32)
  await keeper.run()
  assert.equal(left(), 40n, 'another network')
  ledger.genesisHash = Bytes.fromBase64(network)!
  ledger.firstBlock = 6n
  await keeper.run()
  assert.equal(left(), 40n, 'a block is missing')
  assert.deepEqual(failures, [])
})

test('a node that is replaced during the search, or that fails, returns nothing', async (t) => {
  const { agents, sign, token, left, node, ledger } = await open(t)
  await sign(token, pay(60n, { fv: 5n, lv: 20n }))
  ledger.lastRound = 1_000n
  const exchanged: NodeClient = {
    ...node,
    blockTransactionIds: async (round) => {
      if (round === 20n) ledger.genesisHash = new Uint8Array(32)
      return []
    },
  }
  const failing: NodeClient = {
    ...node,
    blockTransactionIds: async () => {
      throw new AlgodError('unreachable', 'no node responds')
    },
  }
  for (const other of [exchanged, failing]) {
    ledger.genesisHash = Bytes.fromBase64(network)!
    await new ReservationKeeper({ agents, node: () => other, onFailure: assert.ifError }).run()
    assert.equal(left(), 40n)
  }
})

test('an agent whose payments use up all blocks of a search does not block another', async (t) => {
  const { create, agents, keeper, ledger, sign, token, left } = await open(t)
  for (let first = 1n; first < 10_000n; first += 1_000n) await sign(token, pay(1n, { fv: first, lv: first + 999n }))
  const other = await create([limit('total', 100n)], { name: 'other' })
  await sign(other.token, pay(60n, { fv: 20_000n, lv: 20_010n }))
  ledger.lastRound = 30_000n
  await keeper.run()
  assert.equal(left(), 94n, 'four are given back')
  await keeper.run()
  assert.equal(agents.budget(other.id)[0]!.left, 100n)
})

test("reservations made after a search, or of another node's network, are decided later", async (t) => {
  const { keeper, ledger, sign, create, agents, failures } = await open(t)
  const elsewhere = Buffer.alloc(32, 9)
  const limits = [network, elsewhere.toString('base64')].map((one) => ({ ...limit('total', 100n), network: one }))
  const both = await create(limits, { name: 'both', networks: limits.map((one) => one.network) })
  const left = (): bigint[] => agents.budget(both.id).map((use) => use.left)
  ledger.lastRound = 10n
  await keeper.run()
  await sign(both.token, pay(60n, { fv: 5n, lv: 20n, gh: elsewhere }))
  ledger.lastRound = 11n
  await keeper.run()
  await sign(both.token, pay(70n, { fv: 5n, lv: 20n }))
  ledger.lastRound = 100n
  await keeper.run()
  assert.deepEqual(left(), [100n, 40n])
  ledger.genesisHash = elsewhere
  await keeper.run()
  assert.deepEqual(left(), [100n, 100n])
  assert.deepEqual(failures, [])
})

test('a transaction that is valid for longer is decided later, even if it came first', async (t) => {
  const { keeper, ledger, sign, token, left } = await open(t)
  await sign(token, pay(10n, { fv: 5n, lv: 500n }))
  await sign(token, pay(60n, { fv: 5n, lv: 20n }))
  ledger.lastRound = 100n
  await keeper.run()
  assert.equal(left(), 90n)
  ledger.lastRound = 600n
  await keeper.run()
  assert.equal(left(), 100n)
})
