/** Tests rules for transactions of every type: authorization, fees, validity and duplicates. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Group, Multisig, Submission, type Transaction } from '@latchkey/algorand'
import {
  expectRejection,
  fund,
  type Person,
  personOf,
  sign,
  signGroup,
  signMultisig,
  TestNode,
} from '../testing/TestNode.test.helper.js'

const filled = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte)
const [alice, bob, ghost] = [personOf(91), personOf(92), personOf(93)]

function setUp() {
  const node = new TestNode()
  for (const who of [alice, bob]) fund(node, who, 10_000_000n)
  const rekey = (from: Person, to: Person, by = from): Promise<string> =>
    node.send(sign(node.pay(from, from, 0n, { rekey: to.publicKey }), by))
  const balance = (who: Person): bigint => node.ledger.state.account(who.key).microAlgos
  return { node, rekey, balance, state: node.ledger.state }
}

const unauthorized = (should: Person, was: Person): string =>
  `should have been authorized by ${should.address} but was actually authorized by ${was.address}`

test('after rekeying only the new key signs', async () => {
  const { node, rekey, state } = setUp()
  await rekey(alice, bob)
  assert.equal(state.account(alice.key).authorizer, bob.key)
  await expectRejection(node, [sign(node.pay(alice, bob, 1n), alice)], {
    kind: 'state',
    reason: unauthorized(bob, alice),
  })
  await node.send(sign(node.pay(alice, bob, 1n), bob))
  assert.equal((await node.get(`/v2/accounts/${alice.address}`)).json['auth-addr'], bob.address)
})

test('rekeying does not chain', async () => {
  const { node, rekey } = setUp()
  await rekey(alice, bob)
  await rekey(bob, ghost)
  await node.send(sign(node.pay(alice, bob, 1n), bob))
})

test("rekeying to itself restores the account's own key", async () => {
  const { node, rekey, state } = setUp()
  await rekey(alice, bob)
  await rekey(alice, alice, bob)
  assert.equal(state.account(alice.key).authorizer, undefined)
  await node.send(sign(node.pay(alice, bob, 1n), alice))
})

test('rekeying in a group applies from the next member on', async () => {
  const { node, state } = setUp()
  const txns = () => [node.pay(alice, bob, 1n, { rekey: bob.publicKey }), node.pay(alice, bob, 2n)] as const
  const [first, second] = txns()
  await expectRejection(
    node,
    signGroup([
      [first, alice],
      [second, alice],
    ]),
    { kind: 'state', reason: unauthorized(bob, alice), at: 1 },
  )
  await node.send(
    ...signGroup([
      [first, alice],
      [second, bob],
    ]),
  )
  assert.equal(state.account(alice.key).authorizer, bob.key)
})

test('closing an account ends its rekeying', async () => {
  const { node, rekey, state } = setUp()
  await rekey(alice, bob)
  await node.send(sign(node.pay(alice, bob, 0n, { close: bob.publicKey }), bob))
  fund(node, alice, 1_000_000n)
  assert.equal(state.account(alice.key).authorizer, undefined)
  await node.send(sign(node.pay(alice, bob, 1n), alice))
})

test('closing wins over rekeying in the same transaction', async () => {
  const { node, state } = setUp()
  await node.send(sign(node.pay(alice, bob, 0n, { close: bob.publicKey, rekey: bob.publicKey }), alice))
  assert.equal(state.allAccounts().has(alice.key), false)
})

test('an account without Algos cannot be rekeyed', async () => {
  const { node } = setUp()
  const group = signGroup([
    [node.pay(alice, bob, 1n, { fee: 2000n }), alice],
    [node.pay(ghost, bob, 0n, { fee: undefined, rekey: bob.publicKey }), ghost],
  ])
  const reason = `account ${ghost.address} balance 0 below min 100000 (0 assets)`
  await expectRejection(node, group, { kind: 'state', reason, at: 1 })
})

test('enough members of a multisig account can spend from it, and more may sign', async () => {
  const { node } = setUp()
  const members = [alice, bob, ghost]
  const account = { version: 1, threshold: 2, publicKeys: members.map(({ publicKey }) => publicKey) }
  const publicKey = Multisig.address(account)
  await node.send(sign(node.txn('pay', alice, { rcv: publicKey, amt: 1_000_000n }), alice))
  const pay = () => node.txn('pay', publicKey, { rcv: bob.publicKey, amt: 10n })
  await node.send(signMultisig(pay(), account, [alice, ghost]))
  await node.send(signMultisig(pay(), account, members))
})

test('an account may be rekeyed to a multisig account', async () => {
  const { node } = setUp()
  const account = { version: 1, threshold: 1, publicKeys: [bob.publicKey, ghost.publicKey] }
  const sgnr = Multisig.address(account)
  await node.send(sign(node.pay(alice, alice, 0n, { rekey: sgnr }), alice))
  const { signed } = Submission.decodeFirst(signMultisig(node.pay(alice, bob, 1n), account, [ghost]))
  await node.send(Submission.encode({ ...signed, sgnr }))
})

test('one member may pay the fees of all, even of one without Algos', async () => {
  const { node, balance } = setUp()
  await node.send(
    ...signGroup([
      [node.pay(ghost, bob, 0n, { fee: undefined }), ghost],
      [node.pay(alice, bob, 0n, { fee: 2000n }), alice],
    ]),
  )
  assert.equal(balance(alice), 9_998_000n)
  assert.equal(node.ledger.state.allAccounts().has(ghost.key), false)
})

test('a fee above the minimum is taken in full', async () => {
  const { node, balance } = setUp()
  await node.send(sign(node.pay(alice, bob, 0n, { fee: 1_000_000n }), alice))
  assert.equal(balance(alice), 9_000_000n)
  assert.equal(node.ledger.state.account(node.genesis.chain.feeSink).microAlgos, 1_100_000n)
})

test('a long note costs more: 1100 microAlgos for 2024 bytes, 1308 for 4096', async () => {
  const { node } = setUp()
  for (const [length, fee] of [
    [1024, 1000n],
    [1025, 1001n],
    [2024, 1100n],
    [4096, 1308n],
  ] as const) {
    const txn = (its: bigint): Transaction.Transaction =>
      node.pay(alice, bob, 0n, { note: filled(length, length), fee: its })
    assert.equal((await node.submit(sign(txn(fee - 1n), alice))).status, 400)
    await node.send(sign(txn(fee), alice))
  }
})

test('the genesis id is optional', async () => {
  const { node } = setUp()
  await node.send(sign(node.pay(alice, bob, 0n, { gen: undefined }), alice))
})

test('the validity window includes its first and last round', async () => {
  const { node } = setUp()
  node.node.mine(9)
  await node.send(sign(node.pay(alice, bob, 0n, { fv: 10n, lv: 10n }), alice))
  assert.equal((await node.submit(sign(node.pay(alice, bob, 0n, { fv: 1n, lv: 10n }), alice))).status, 400)
  assert.equal((await node.submit(sign(node.pay(alice, bob, 0n, { fv: 12n, lv: 13n }), alice))).status, 400)
  await node.send(sign(node.pay(alice, bob, 0n, { fv: 11n, lv: 1011n }), alice))
})

test('a transaction counts as a duplicate until its last valid round', async () => {
  const { node, state } = setUp()
  const signed = sign(node.pay(alice, bob, 1n, { lv: 5n }), alice)
  await node.send(signed)
  for (let round = 2n; round <= 5n; round++) {
    const { json } = await node.submit(signed)
    assert.match(json.message, /^TransactionPool.Remember: transaction already in ledger: /)
    assert.equal(state.copy().transactions.size, 1)
    node.node.mine(1)
  }
  assert.equal(state.copy().transactions.size, 0)
  assert.match((await node.submit(signed)).json.message, /txn dead: round 6 outside of 0--5$/)
})

test('a lease lasts until the last valid round, for its sender only', async () => {
  const { node, state } = setUp()
  const lease = (who: Person, lv: bigint): Uint8Array => sign(node.pay(who, bob, 1n, { lx: filled(1), lv }), who)
  await node.send(lease(alice, 5n))
  await node.send(lease(bob, 4n))
  await node.send(sign(node.pay(alice, bob, 1n, { lx: filled(2), lv: 3n }), alice))
  for (let round = node.ledger.last.round + 1n; round <= 5n; round++) {
    assert.match((await node.submit(lease(alice, 100n))).json.message, /using an overlapping lease/)
    node.node.mine(1)
  }
  await node.send(lease(alice, 7n))
  assert.match((await node.submit(lease(alice, 100n))).json.message, /using an overlapping lease/)
  node.node.mine(1)
  assert.equal(state.copy().leases.size, 0)
})

test('a rejected transaction may be submitted again', async () => {
  const { node } = setUp()
  const signed = sign(node.pay(ghost, bob, 1n, { lx: filled(1) }), ghost)
  assert.equal((await node.submit(signed)).status, 400)
  fund(node, ghost, 1_000_000n)
  await node.send(signed)
})

test('a group has up to sixteen members', async () => {
  const { node } = setUp()
  const txns = Array.from({ length: 17 }, (_, index) => node.pay(alice, bob, BigInt(index)))
  const group = Group.assign(txns.slice(1)).map((txn) => sign(txn, alice))
  assert.equal((await node.submit(...txns.map((txn) => sign(txn, alice)))).json.message, 'max group size is 16')
  await node.send(...group)
  assert.equal(node.ledger.last.transactions.length, 16)
})
