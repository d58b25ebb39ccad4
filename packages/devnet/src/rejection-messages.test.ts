/** Tests every rejection that does not depend on the state, with a node's message. */
import { test } from 'node:test'
import { Group, Hash, Multisig, Submission, Transaction } from '@latchkey/algorand'
import * as MapKey from './ledger/MapKey.js'
import {
  type ExpectedRejection,
  expectRejection,
  type Person,
  personOf,
  sign,
  signGroup,
  signMultisig,
  TestNode,
  unsigned,
} from './testing/TestNode.test.helper.js'

type Txn = Transaction.Transaction
type Fields = Partial<Txn>

const filled = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte)
const text = (length: number): string => 'x'.repeat(length)
const stranger = personOf(9)
const keys: Fields = { votekey: filled(1), selkey: filled(2), votekd: 10n, votelst: 500n, sprfkey: filled(3, 64) }
const online = (fields: Fields): Fields => ({ ...keys, ...fields })
const zeroAddress = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ'

const together = 'the following transaction fields need to be clear/set together : votekey, selkey, votekd'
const order = 'transaction first voting round need to be less than its last voting round'
const offlineRounds =
  'on going offline key registration transaction, the vote first and vote last fields should not be set'
const goingOnline = 'transaction tries to register keys to go online, but'
const noStateProof = 'online keyreg transaction cannot have empty field StateProofPK'
const otherType = (type: string, other: string): string =>
  `transaction of type ${type} has non-zero fields for type ${other}`

/** Type, fields, reason. `SENDER` in a reason is the sender's address. */
const malformed: readonly (readonly [string, Fields | ((sender: Person, node: TestNode) => Fields), string])[] = [
  ['pay', ({ publicKey }) => ({ close: publicKey }), 'transaction cannot close account to its sender SENDER'],
  ['pay', { snd: filled(0) }, `transaction cannot close account to its sender ${zeroAddress}`],
  [
    'pay',
    (_, { genesis }) => ({ snd: MapKey.bytes(genesis.chain.feeSink) }),
    'cannot spend from fee sink address SENDER',
  ],
  ['axfer', { aamt: 1n }, 'asset ID cannot be zero'],
  ['axfer', { xaid: 5n, asnd: filled(1), aclose: filled(2) }, 'cannot close asset by clawback'],
  ['acfg', { apar: { an: text(33) } }, 'transaction asset name too big: 33 > 32'],
  ['acfg', { apar: { an: 'é'.repeat(17) } }, 'transaction asset name too big: 34 > 32'],
  ['acfg', { apar: { un: text(9) } }, 'transaction asset unit name too big: 9 > 8'],
  ['acfg', { apar: { au: text(97) } }, 'transaction asset url too big: 97 > 96'],
  ['acfg', { apar: { dc: 20 } }, 'transaction asset decimals is too high (max is 19)'],
  ['afrz', { fadd: filled(1) }, 'asset ID cannot be zero'],
  ['afrz', { faid: 5n }, 'freeze account cannot be empty'],

  [
    'keyreg',
    (_, { genesis }) => ({ snd: MapKey.bytes(genesis.chain.feeSink) }),
    "cannot register participation key for fee sink's address SENDER",
  ],
  ['keyreg', online({ votefst: 501n }), order],
  ['keyreg', { votefst: 1n }, order],
  ['keyreg', { votelst: 1n }, offlineRounds],
  ['keyreg', online({ votekey: undefined }), together],
  ['keyreg', online({ selkey: undefined }), together],
  ['keyreg', online({ votekd: undefined }), together],
  ['keyreg', { votekey: filled(1) }, together],
  ['keyreg', { selkey: filled(1) }, together],
  ['keyreg', { votekd: 1n }, together],
  ['keyreg', online({ votelst: undefined }), `${goingOnline} vote last is set to zero`],
  [
    'keyreg',
    online({ votefst: 1002n, votelst: 2000n }),
    `${goingOnline} first voting round is beyond the round after last valid round`,
  ],
  ['keyreg', online({ nonpart: true }), `${goingOnline} nonparticipatory flag is set`],
  ['keyreg', online({ sprfkey: undefined }), noStateProof],
  ['keyreg', { sprfkey: filled(3, 64) }, 'offline keyreg transactions should contain empty stateProofPK'],
  [
    'keyreg',
    { sprfkey: filled(3, 64), nonpart: true },
    'non participation keyreg transactions should contain empty stateProofPK',
  ],
  ['keyreg', online({ votelst: 16_777_216n }), 'validity period for keyreg transaction is too long'],

  ['foo', {}, 'unknown tx type foo'],
  ['', {}, 'unknown tx type '],
  ['appl', { apid: 1n, apan: 6n }, 'invalid application OnCompletion (6)'],
  ['appl', {}, 'bad ApprovalProgram: invalid program (empty)'],
  ['appl', { apid: 1n, apep: 1 }, 'inappropriate non-zero tx.ExtraProgramPages (1)'],
  ['appl', { apid: 1n, apep: 8 }, 'tx.ExtraProgramPages exceeds MaxAbsoluteExtraProgramPages = 7'],
  ['stpf', {}, 'state proofs not supported by this development ledger'],
  ['hb', { hb: { a: filled(1) } }, 'heartbeat transaction not supported by this development ledger'],

  ['keyreg', { amt: 1n }, otherType('keyreg', 'pay')],
  ['pay', { votekd: 1n }, otherType('pay', 'keyreg')],
  ['pay', { apar: { t: 1n } }, otherType('pay', 'acfg')],
  ['pay', { xaid: 1n }, otherType('pay', 'axfer')],
  ['acfg', { faid: 1n }, otherType('acfg', 'afrz')],
  ['axfer', { apid: 1n }, otherType('axfer', 'appl')],
  ['pay', { sptype: 1n }, otherType('pay', 'stpf')],
  ['afrz', { faid: 1n, fadd: filled(1), hb: { a: filled(1) } }, otherType('afrz', 'hb')],

  ['pay', { fv: 10n, lv: 9n }, 'transaction invalid range (10--9)'],
  ['pay', { fv: 10n, lv: undefined }, 'transaction invalid range (10--0)'],
  ['pay', { lv: 1001n }, 'transaction window size excessive (0--1001)'],
  ['pay', { note: filled(1, 4097), fee: 2000n }, 'transaction note too big: 4097 > 4096'],
  [
    'axfer',
    (_, { genesis }) => ({ snd: MapKey.bytes(genesis.chain.rewardsPool) }),
    'transaction from incentive pool is invalid',
  ],
  ['keyreg', { snd: filled(0) }, 'transaction cannot have zero sender'],
]

for (const [index, [type, fields, reason]] of malformed.entries()) {
  test(`malformed ${index}, ${type || 'no type'}: ${reason}`, async () => {
    const node = new TestNode()
    const sender = node.funded(0)
    const txn = node.txn(type, sender, typeof fields === 'function' ? fields(sender, node) : fields)
    const own = reason.replace('SENDER', MapKey.address(MapKey.of(txn.snd)))
    await expectRejection(node, [sign(txn, sender)], { kind: 'malformed', reason: own })
    const good = node.pay(sender, sender, 1n)
    await expectRejection(node, [sign(good, sender), sign(txn, sender)], { kind: 'malformed', reason: own, at: 1 })
  })
}

type Case = (node: TestNode, alice: Person, bob: Person) => { group: Uint8Array[] } & ExpectedRejection

const none = Hash.toText(new Uint8Array(32))
const idOf = (txns: readonly Txn[]): string => Hash.toText(Group.id(txns))

function incomplete(claimed: readonly Txn[], sent: readonly Txn[]): string {
  const members = sent.map((txn) => Transaction.id({ ...txn, grp: undefined })).join(' ')
  return `transactionGroup: incomplete group: ${idOf(claimed)} != ${idOf(sent)} ({{} [${members}]})`
}

const groups: { readonly [title: string]: Case } = {
  'no group id in a group of two': (node, alice) => ({
    group: [sign(node.pay(alice, alice, 1n), alice), sign(node.pay(alice, alice, 2n), alice)],
    kind: 'group',
    reason: 'transactionGroup: [0] had zero Group but was submitted in a group of 2',
  }),
  'no group id in the first of three': (node, alice) => {
    const [, second, third] = signGroup([1n, 2n, 3n].map((amt) => [node.pay(alice, alice, amt), alice]))
    return {
      group: [sign(node.pay(alice, alice, 1n), alice), second!, third!],
      kind: 'group',
      reason: 'transactionGroup: [0] had zero Group but was submitted in a group of 3',
    }
  },
  'no group id in the second': (node, alice) => {
    const txns = [node.pay(alice, alice, 1n), node.pay(alice, alice, 2n)]
    const [first] = Group.assign(txns)
    return {
      group: [sign(first!, alice), sign(txns[1]!, alice)],
      kind: 'group',
      reason: `transactionGroup: inconsistent group values: ${none} != ${idOf(txns)}`,
      at: 1,
    }
  },
  'another group id in the third': (node, alice) => {
    const txns = [1n, 2n, 3n].map((amt) => node.pay(alice, alice, amt))
    const other = { ...txns[2]!, grp: filled(7) }
    return {
      group: [...Group.assign(txns).slice(0, 2), other].map((txn) => sign(txn, alice)),
      kind: 'group',
      reason: `transactionGroup: inconsistent group values: ${Hash.toText(filled(7))} != ${idOf(txns)}`,
      at: 2,
    }
  },
  'one member of two': (node, alice) => {
    const txns = [node.pay(alice, alice, 1n), node.pay(alice, alice, 2n)]
    const [first] = Group.assign(txns)
    return { group: [sign(first!, alice)], kind: 'incomplete', reason: incomplete(txns, [first!]) }
  },
  'members in another order': (node, alice) => {
    const txns = [node.pay(alice, alice, 1n), node.pay(alice, alice, 2n)]
    const turned = Group.assign(txns).reverse()
    return {
      group: turned.map((txn) => sign(txn, alice)),
      kind: 'incomplete',
      reason: incomplete(txns, turned),
    }
  },
}

const onlyOne = 'signedtxn should have only one type of signature'
const unverified = "At least one signature didn't pass verification"
const pq: Submission.PostQuantumSignature = { sch: filled(1, 2), slt: 2, pk: filled(1, 1793), sig: filled(1, 1423) }

/** Encodes a transaction with any signature. */
function signedWith(node: TestNode, sender: Person, members: Partial<Submission.Submitted>): Uint8Array {
  return Submission.encode({ txn: node.pay(sender, sender, 1n), ...members })
}

const signatures: { readonly [title: string]: Case } = {
  none: (node, alice) => ({
    group: [unsigned(node.pay(alice, alice, 1n))],
    kind: 'unsigned',
    reason: 'signedtxn has no sig',
  }),
  'none on the second member': (node, alice) => {
    const [first, second] = Group.assign([node.pay(alice, alice, 1n), node.pay(alice, alice, 2n)])
    return { group: [sign(first!, alice), unsigned(second!)], kind: 'unsigned', reason: 'signedtxn has no sig', at: 1 }
  },
  'of zeroes only': (node, alice) => ({
    group: [signedWith(node, alice, { sig: filled(0, 64) })],
    kind: 'unsigned',
    reason: 'signedtxn has no sig',
  }),
  'the sender as signer': (node, alice) => {
    const txn = node.pay(alice, alice, 1n)
    const { signed } = Submission.decodeFirst(sign(txn, alice))
    const group = [Submission.encode({ ...signed, sgnr: alice.publicKey })]
    return { group, kind: 'unsigned', reason: 'AuthAddr must be different from Sender' }
  },
  'sig and msig': (node, alice) => ({
    group: [signedWith(node, alice, { sig: filled(1, 64), msig: { v: 1, thr: 1, subsig: [{ pk: alice.publicKey }] } })],
    kind: 'unsigned',
    reason: onlyOne,
  }),
  'sig and lsig': (node, alice) => ({
    group: [signedWith(node, alice, { sig: filled(1, 64), lsig: { l: filled(1, 3) } })],
    kind: 'unsigned',
    reason: onlyOne,
  }),
  'sig and pqsig': (node, alice) => ({
    group: [signedWith(node, alice, { sig: filled(1, 64), pqsig: pq })],
    kind: 'unsigned',
    reason: onlyOne,
  }),
  lsig: (node, alice) => ({
    group: [signedWith(node, alice, { lsig: { l: filled(1, 3) } })],
    kind: 'unsigned',
    reason: 'LogicNot signed and not a Logic-only account',
  }),
  pqsig: (node, alice) => ({
    group: [signedWith(node, alice, { pqsig: pq })],
    kind: 'unsigned',
    reason: 'pq signature validation failed: pq signature scheme not supported',
  }),
  'changed after signing': (node, alice) => {
    const txn = node.pay(alice, alice, 1n)
    const { signed } = Submission.decodeFirst(sign(txn, alice))
    const group = [Submission.encode({ ...signed, txn: { ...txn, amt: 2n } })]
    return { group, kind: 'signature', reason: unverified }
  },
  'by another key': (node, alice, bob) => {
    const txn = node.pay(alice, alice, 1n)
    const { signed } = Submission.decodeFirst(sign(txn, bob))
    return { group: [Submission.encode({ ...signed, sgnr: undefined })], kind: 'signature', reason: unverified }
  },
  'by an unauthorized key': (node, alice, bob) => ({
    group: [sign(node.pay(alice, alice, 1n), bob)],
    kind: 'state',
    reason: `should have been authorized by ${alice.address} but was actually authorized by ${bob.address}`,
  }),
}

const members = [personOf(21), personOf(22), personOf(23)]
const account: Multisig.Multisig = { version: 1, threshold: 2, publicKeys: members.map(({ publicKey }) => publicKey) }

/** A payment of a 2-of-3 multisig account, with its signature changed. */
function multisigCase(reason: string, change: (msig: Multisig.Signature) => Multisig.Signature): Case {
  return (node) => {
    const txn = node.txn('pay', Multisig.address(account), { rcv: stranger.publicKey })
    const { signed } = Submission.decodeFirst(signMultisig(txn, account, members.slice(0, 2)))
    const group = [Submission.encode({ ...signed, msig: change(signed.msig!) })]
    if (reason === unverified) return { group, kind: 'signature', reason }
    return { group, kind: 'unsigned', reason: `multisig validation failed: ${reason}` }
  }
}

const tooFew = 'Invalid number of signatures'
const blank = { pk: filled(0) }

const multisigs: { readonly [title: string]: Case } = {
  'of version 2': multisigCase('unknown version', (msig) => ({ ...msig, v: 2 })),
  'without version': multisigCase('unknown version', (msig) => ({ ...msig, v: 0 })),
  'without threshold': multisigCase('Invalid threshold', (msig) => ({ ...msig, thr: 0 })),
  'with a threshold above its members': multisigCase('Invalid threshold', (msig) => ({ ...msig, thr: 4 })),
  'without members': multisigCase(tooFew, (msig) => ({ ...msig, subsig: [] })),
  'without members, of version 2': multisigCase(tooFew, (msig) => ({ ...msig, v: 2, subsig: [] })),
  'with a blank first member': multisigCase(tooFew, (msig) => ({ ...msig, subsig: [blank, ...msig.subsig] })),
  'with one signature of two': multisigCase(tooFew, ({ subsig: [first, ...rest], ...msig }) => ({
    ...msig,
    subsig: [{ pk: first!.pk }, ...rest],
  })),
  'with another threshold': multisigCase('Invalid address', (msig) => ({ ...msig, thr: 1 })),
  'with members in another order': multisigCase('Invalid address', (msig) => ({
    ...msig,
    subsig: [...msig.subsig].reverse(),
  })),
  'with one wrong signature': multisigCase(unverified, ({ subsig: [first, ...rest], ...msig }) => ({
    ...msig,
    subsig: [{ ...first!, s: filled(1, 64) }, ...rest],
  })),
  'with a wrong signature beyond the threshold': multisigCase(unverified, ({ subsig, ...msig }) => ({
    ...msig,
    subsig: [...subsig.slice(0, 2), { ...subsig[2]!, s: filled(1, 64) }],
  })),
}

for (const [what, cases] of Object.entries({ group: groups, signature: signatures, multisig: multisigs })) {
  for (const [title, build] of Object.entries(cases)) {
    test(`${what}: ${title}`, async () => {
      const node = new TestNode()
      const { group, ...expected } = build(node, node.funded(0), node.funded(1))
      await expectRejection(node, group, expected)
    })
  }
}

test('a multisig of zeroes counts as no signature', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const group = [signedWith(node, alice, { msig: { v: 0, thr: 0, subsig: [] } })]
  await expectRejection(node, group, { kind: 'unsigned', reason: 'signedtxn has no sig' })
})

test('a single transaction may have the id of its group of one', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const [txn] = Group.assign([node.pay(alice, alice, 1n)])
  await node.send(sign(txn!, alice))
})
