/** Tests that a transaction which violates two rules gets the error of the rule that nodes check first. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Group, Hash, Multisig, Submission, Transaction } from '@latchkey/algorand'
import {
  type ExpectedRejection,
  expectRejection,
  fund,
  type Person,
  personOf,
  sign,
  signGroup,
  TestNode,
  unsigned,
} from '../testing/TestNode.test.helper.js'
import * as MapKey from './MapKey.js'

const filled = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte)
const unverified = "At least one signature didn't pass verification"

function signedBadly(txn: Transaction.Transaction): Uint8Array {
  return Submission.encode({ txn, sig: filled(1, 64) })
}

type Case = (
  node: TestNode,
  alice: Person,
  poor: Person,
) => Promise<{ group: Uint8Array[] } & ExpectedRejection> | ({ group: Uint8Array[] } & ExpectedRejection)

const cases: { readonly [title: string]: Case } = {
  'the type before fields of other types, the window, the note and the sender': (node) => {
    const txn = node.txn('afrz', filled(0), { amt: 1n, fv: 2n, lv: 1n, note: filled(1, 5000) })
    return { group: [unsigned(txn)], kind: 'malformed', reason: 'asset ID cannot be zero' }
  },
  'fields of other types before the validity window': (node) => {
    const txn = node.txn('acfg', filled(0), { amt: 1n, fv: 2n, lv: 1n, note: filled(1, 5000) })
    const reason = 'transaction of type acfg has non-zero fields for type pay'
    return { group: [unsigned(txn)], kind: 'malformed', reason }
  },
  'the validity window before the note': (node) => {
    const txn = node.txn('acfg', filled(0), { fv: 2n, lv: 1n, note: filled(1, 5000) })
    return { group: [unsigned(txn)], kind: 'malformed', reason: 'transaction invalid range (2--1)' }
  },
  'the note before the sender': (node) => {
    const txn = node.txn('acfg', filled(0), { note: filled(1, 5000) })
    return { group: [unsigned(txn)], kind: 'malformed', reason: 'transaction note too big: 5000 > 4096' }
  },
  'the validity of keys before their completeness': (node, alice) => {
    const fields = { votekey: filled(1), selkey: filled(2), votekd: 1n, votelst: 20_000_000n }
    const group = [sign(node.txn('keyreg', alice, fields), alice)]
    return { group, kind: 'malformed', reason: 'validity period for keyreg transaction is too long' }
  },
  'nonparticipation before the validity of keys': (node, alice) => {
    const fields = { votekey: filled(1), selkey: filled(2), votekd: 1n, votelst: 20_000_000n, nonpart: true }
    const reason = 'transaction tries to register keys to go online, but nonparticipatory flag is set'
    return { group: [sign(node.txn('keyreg', alice, fields), alice)], kind: 'malformed', reason }
  },
  'malformed before the group': (node, alice) => ({
    group: [sign(node.pay(alice, alice, 1n), alice), sign(node.txn('foo', alice), alice)],
    kind: 'malformed',
    reason: 'unknown tx type foo',
    at: 1,
  }),
  'malformed before signatures': (node, alice) => ({
    group: [unsigned(node.pay(alice, alice, 1n)), unsigned(node.txn('foo', alice))],
    kind: 'malformed',
    reason: 'unknown tx type foo',
    at: 1,
  }),
  'the group before signatures': (node, alice) => ({
    group: [unsigned(node.pay(alice, alice, 1n)), signedBadly(node.pay(alice, alice, 1n))],
    kind: 'group',
    reason: 'transactionGroup: [0] had zero Group but was submitted in a group of 2',
  }),
  'a missing group id in the first member before a different one': (node, alice) => ({
    group: [node.pay(alice, alice, 1n), node.pay(alice, alice, 1n, { grp: filled(1) })].map(unsigned),
    kind: 'group',
    reason: 'transactionGroup: [0] had zero Group but was submitted in a group of 2',
  }),
  'an incomplete group before signatures': (node, alice) => {
    const txn = node.pay(alice, alice, 1n, { grp: filled(1) })
    const values = `${Hash.toText(filled(1))} != ${Hash.toText(Group.id([txn]))}`
    const ungrouped = Transaction.id({ ...txn, grp: undefined })
    const reason = `transactionGroup: incomplete group: ${values} ({{} [${ungrouped}]})`
    return { group: [unsigned(txn)], kind: 'incomplete', reason }
  },
  'no signature on the second before a wrong one on the first': (node, alice) => {
    const [first, second] = Group.assign([node.pay(alice, alice, 1n), node.pay(alice, alice, 2n)])
    const group = [signedBadly(first!), unsigned(second!)]
    return { group, kind: 'unsigned', reason: 'signedtxn has no sig', at: 1 }
  },
  'a needless signer before a missing signature': (node, alice) => ({
    group: [Submission.encode({ txn: node.pay(alice, alice, 1n), sgnr: alice.publicKey })],
    kind: 'unsigned',
    reason: 'AuthAddr must be different from Sender',
  }),
  'the form of a multisig before its signatures': (node) => {
    const multisig = { version: 1, threshold: 2, publicKeys: [filled(1), filled(2)] }
    const txn = node.txn('pay', Multisig.address(multisig))
    const subsig = [{ pk: filled(1), s: filled(1, 64) }, { pk: filled(2) }]
    const group = [Submission.encode({ txn, msig: { v: 1, thr: 2, subsig } })]
    return { group, kind: 'unsigned', reason: 'multisig validation failed: Invalid number of signatures' }
  },
  'signatures before expiry': (node, alice) => {
    node.node.mine(10)
    return {
      group: [signedBadly(node.pay(alice, alice, 1n, { fv: 1n, lv: 2n }))],
      kind: 'signature',
      reason: unverified,
    }
  },
  'expiry before the network': (node, alice) => {
    node.node.mine(10)
    const txn = node.pay(alice, alice, 1n, { fv: 1n, lv: 2n, gen: 'foo-v1', gh: filled(1) })
    return { group: [sign(txn, alice)], kind: 'bare', reason: 'txn dead: round 11 outside of 1--2' }
  },
  'the genesis id before the genesis hash': (node, alice) => ({
    group: [sign(node.pay(alice, alice, 1n, { gen: 'foo-v1', gh: undefined }), alice)],
    kind: 'bare',
    reason: 'tx.GenesisID <foo-v1> does not match expected <dockernet-v1>',
  }),
  'the network before the lease': async (node, alice) => {
    await node.send(sign(node.pay(alice, alice, 1n, { lx: filled(1) }), alice))
    const group = [sign(node.pay(alice, alice, 1n, { lx: filled(1), gh: undefined }), alice)]
    return { group, kind: 'bare', reason: 'required tx.GenesisHash is missing' }
  },
  'in the ledger, the lease before the transaction': async (node, alice) => {
    const txn = node.pay(alice, alice, 1n, { lx: filled(1) })
    await node.send(sign(txn, alice))
    const holder = `(${alice.address}, ${MapKey.address(MapKey.of(filled(1)))})`
    const reason = `transaction ${Transaction.id(txn)} using an overlapping lease (sender, lease):${holder}`
    return { group: [sign(txn, alice)], kind: 'bare', reason }
  },
  'in a group, the transaction before the lease': (node, alice) => {
    const txn = node.pay(alice, alice, 1n, { lx: filled(1) })
    const [first, second] = Group.assign([txn, txn])
    return {
      group: [sign(first!, alice), sign(second!, alice)],
      kind: 'bare',
      reason: `transaction already in ledger: ${Transaction.id(first!)}`,
      at: 1,
    }
  },
  'in a group, the lease of another member': (node, alice) => {
    const members = [1n, 2n].map((amt) => [node.pay(alice, alice, amt, { lx: filled(1) }), alice] as const)
    const second = Group.assign(members.map(([txn]) => txn))[1]!
    const holder = `(${alice.address}, ${MapKey.address(MapKey.of(filled(1)))})`
    return {
      group: signGroup(members),
      kind: 'bare',
      reason: `transaction ${Transaction.id(second)} using an overlapping lease (sender, lease):${holder}`,
      at: 1,
    }
  },
  'the lease before the authorizer': async (node, alice, poor) => {
    await node.send(sign(node.pay(alice, alice, 1n, { lx: filled(1) }), alice))
    const txn = node.pay(alice, alice, 2n, { lx: filled(1) })
    const holder = `(${alice.address}, ${MapKey.address(MapKey.of(filled(1)))})`
    const reason = `transaction ${Transaction.id(txn)} using an overlapping lease (sender, lease):${holder}`
    return { group: [sign(txn, poor)], kind: 'bare', reason }
  },
  'the duplicate before the authorizer': async (node, alice, poor) => {
    const txn = node.pay(alice, alice, 1n)
    await node.send(sign(txn, alice))
    const reason = `transaction already in ledger: ${Transaction.id(txn)}`
    return { group: [sign(txn, poor)], kind: 'bare', reason }
  },
  'the authorizer before the balance': (node, alice, poor) => ({
    group: [sign(node.pay(poor, alice, 5_000_000n, { fee: 900_000n }), alice)],
    kind: 'state',
    reason: `should have been authorized by ${poor.address} but was actually authorized by ${alice.address}`,
  }),
  'the fee before the amount': (node, alice, poor) => ({
    group: [sign(node.pay(poor, alice, 5_000_000n, { fee: 900_000n }), poor)],
    kind: 'state',
    reason: `overspend (account ${poor.address}, data {MicroAlgos:200mA}, tried to spend 900mA)`,
  }),
  'the amount before a fee too low': (node, alice, poor) => ({
    group: [sign(node.pay(poor, alice, 5_000_000n, { fee: undefined }), poor)],
    kind: 'state',
    reason: `overspend (account ${poor.address}, data {MicroAlgos:200mA}, tried to spend 5A)`,
  }),
  'the minimum balance before a fee too low': (node, alice, poor) => ({
    group: [sign(node.pay(poor, alice, 150_000n, { fee: 1n }), poor)],
    kind: 'state',
    reason: `account ${poor.address} balance 49999 below min 100000 (0 assets)`,
  }),
  'the minimum balance after each member, although a later one would restore it': (node, alice, poor) => ({
    group: signGroup([
      [node.pay(poor, alice, 150_000n), poor],
      [node.pay(alice, poor, 1_000_000n), alice],
    ]),
    kind: 'state',
    reason: `account ${poor.address} balance 49000 below min 100000 (0 assets)`,
  }),
  'the first member that fails': (node, alice, poor) => ({
    group: signGroup([
      [node.pay(alice, alice, 1n), alice],
      [node.pay(poor, alice, 7_000_000n), poor],
      [node.pay(poor, alice, 8_000_000n), poor],
    ]),
    kind: 'state',
    reason: `overspend (account ${poor.address}, data {MicroAlgos:199mA}, tried to spend 7A)`,
    at: 1,
  }),
  'pooled fees that are too low, after the last member': (node, alice, poor) => ({
    group: signGroup([
      [node.pay(alice, alice, 1n, { fee: 1999n }), alice],
      [node.pay(poor, alice, 1n, { fee: undefined }), poor],
      [node.pay(poor, alice, 1n), poor],
    ]),
    kind: 'bare',
    reason: 'txgroup with 2.999mA fees is less than 3mA (usage=3.000000 * base=1mA)',
    at: 2,
  }),
}

for (const [title, build] of Object.entries(cases)) {
  test(title, async () => {
    const node = new TestNode()
    const { group, ...expected } = await build(node, node.funded(0), fund(node, personOf(41), 200_000n))
    await expectRejection(node, group, expected)
  })
}

test('submitting reports an expired member first, simulating the first failure', async () => {
  const node = new TestNode()
  const [alice, poor] = [node.funded(0), fund(node, personOf(41), 200_000n)]
  node.node.mine(10)
  const group = signGroup([
    [node.pay(poor, alice, 5_000_000n), poor],
    [node.pay(alice, alice, 1n, { fv: 1n, lv: 2n }), alice],
  ])
  const { json: submitted } = await node.submit(...group)
  const { json: simulated } = await node.simulate(group)
  const [result] = simulated['txn-groups']
  assert.equal(submitted.message, 'TransactionPool.Remember: txn dead: round 11 outside of 1--2')
  assert.match(result['failure-message'], /^transaction [A-Z2-7]{52}: overspend \(/)
  assert.deepEqual(result['failed-at'], [0])
})

test('a member that is not valid yet is reported in its position', async () => {
  const node = new TestNode()
  const [alice, poor] = [node.funded(0), fund(node, personOf(41), 200_000n)]
  const group = signGroup([
    [node.pay(poor, alice, 5_000_000n), poor],
    [node.pay(alice, alice, 1n, { fv: 900n, lv: 902n }), alice],
  ])
  const reason = `overspend (account ${poor.address}, data {MicroAlgos:199mA}, tried to spend 5A)`
  await expectRejection(node, group, { kind: 'state', reason })
})
