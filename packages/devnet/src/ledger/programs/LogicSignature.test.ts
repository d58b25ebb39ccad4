import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ed25519, Group, Multisig, Program, Submission, type Transaction } from '@latchkey/algorand'
import { assemble } from '@latchkey/avm'
import { errorMessageOf, expectRejection, fund, personOf, sign, TestNode } from '../../testing/TestNode.test.helper.js'
import * as MapKey from '../MapKey.js'

type Logic = NonNullable<Submission.Submitted['lsig']>

const receiver = personOf(40)
const atMost1000 = assemble('#pragma version 6\ntxn Amount\nint 1000\n<=').program
const accepts = assemble('#pragma version 6\nint 1').program

function withLogic(txn: Transaction.Transaction, lsig: Logic): Uint8Array {
  return Submission.encode({ txn, lsig })
}

/** An account that only the program controls, with Algos. */
function contract(node: TestNode, program: Uint8Array): Uint8Array {
  const publicKey = Program.address(program)
  node.ledger.fund({ type: 'fund', to: MapKey.of(publicKey), microAlgos: 1_000_000n, assets: [] })
  return publicKey
}

test('the account of a program pays if the program accepts', async () => {
  const node = new TestNode()
  const account = contract(node, atMost1000)
  const txn = node.txn('pay', account, { rcv: node.funded(0).publicKey, amt: 1000n })
  await node.send(withLogic(txn, { l: atMost1000 }))
  assert.equal(node.ledger.state.account(MapKey.of(account)).microAlgos, 998_000n)
})

test('a program that rejects, fails or is invalid refuses the transaction', async () => {
  const node = new TestNode()
  const rejected = async (source: string, amt: bigint, reason: (id: string) => string, args?: Uint8Array[]) => {
    const { program } = assemble(source)
    const txn = node.txn('pay', contract(node, program), { rcv: node.funded(0).publicKey, amt })
    const signed = withLogic(txn, args === undefined ? { l: program } : { l: program, arg: args })
    const { id } = Submission.decodeFirst(signed)
    const message = errorMessageOf(await node.submit(signed))
    assert.equal(message, `transaction {${id}} invalid : ${reason(id)}`)
  }
  const failing = (text: string) => (id: string) => `transaction ${id}: rejected by logic err=${text}`
  await rejected('#pragma version 6\ntxn Amount\nint 1000\n<=', 1001n, (id) => `transaction ${id}: rejected by logic`)
  await rejected('#pragma version 6\nerr', 1n, failing('err opcode executed. Details: pc=1'))
  const budget = 'dynamic cost budget exceeded, executing b: local program cost was 20000. Details: pc=1'
  await rejected('#pragma version 4\na: b a', 1n, failing(budget))
  await rejected('#pragma version 6\nint 0\nbalance', 1n, () => 'pc=  3 balance not allowed in current mode')
  const many = new Array(256).fill(Uint8Array.of(1)) as Uint8Array[]
  await rejected('#pragma version 6\nint 1', 1n, failing('LogicSig has too many arguments. Details: pc=1'), many)
})

test('a logic signature needs a program', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const reason = 'LogicSig fields without LogicSig program'
  for (const lsig of [{ arg: [Uint8Array.of(1)] }, { sig: new Uint8Array(64).fill(1) }]) {
    await expectRejection(node, [withLogic(node.pay(alice, receiver, 200_000n), lsig)], { kind: 'group', reason })
  }
})

test('the transactions of a group share a limit of the arguments of logic signatures', async () => {
  const node = new TestNode()
  const account = contract(node, accepts)
  const payment = (note: number) => node.txn('pay', account, { rcv: account, note: Uint8Array.of(note) })
  const group = (...sizes: number[]): Uint8Array[] => {
    const txns = sizes.length === 1 ? [payment(0)] : Group.assign(sizes.map((_, index) => payment(index)))
    return txns.map((txn, index) => withLogic(txn, { l: accepts, arg: [new Uint8Array(sizes[index]!)] }))
  }
  const limit = (bytes: number, pool: number) =>
    `txgroup had ${bytes} bytes of LogicSig args, more than the available size pool of ${pool} bytes (per-LogicSig allowance is 1000)`
  await expectRejection(node, group(1001), { kind: 'incomplete', reason: limit(1001, 1000) })
  await expectRejection(node, group(2000, 1), { kind: 'incomplete', reason: limit(2001, 2000) })
  assert.equal((await node.submit(...group(1000))).status, 200)
  assert.equal((await node.submit(...group(2000, 0))).status, 200)
})

test('the form of a logic signature is checked before its program runs', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const cases: [string, Logic][] = [
    ['LogicSig.Logic bad version', { l: Uint8Array.of(0x80) }],
    ['LogicSig.Logic version too new', { l: Uint8Array.of(14, 0x81, 1) }],
    ['pc=  1 illegal opcode 0xff', { l: Uint8Array.of(6, 0xff) }],
    ['LogicNot signed and not a Logic-only account', { l: accepts }],
    ['LogicSig Msig field not supported in this consensus version', { l: accepts, msig: oneOf(alice.publicKey) }],
    ["At least one signature didn't pass verification", { l: accepts, sig: new Uint8Array(64).fill(1) }],
  ]
  for (const [reason, lsig] of cases) {
    const signed = withLogic(node.pay(alice, receiver, 200_000n), lsig)
    await expectRejection(node, [signed], { kind: 'unsigned', reason })
  }
})

function oneOf(publicKey: Uint8Array): Multisig.Signature {
  return { v: 1, thr: 1, subsig: [{ pk: publicKey, s: new Uint8Array(64).fill(1) }] }
}

test('an account delegates to a program by its key, within the program only', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const lsig = { l: atMost1000, sig: Ed25519.sign(Program.bytesToSign(atMost1000), alice.secretKey) }
  await node.send(withLogic(node.pay(alice, alice, 1000n), lsig))
  const txn = node.pay(alice, alice, 1001n)
  const refused = withLogic(txn, lsig)
  const reason = `transaction ${Submission.decodeFirst(refused).id}: rejected by logic`
  await expectRejection(node, [refused], { kind: 'unsigned', reason })
  const other = { l: accepts, sig: lsig.sig }
  const unverified = "At least one signature didn't pass verification"
  await expectRejection(node, [withLogic(txn, other)], { kind: 'unsigned', reason: unverified })
})

test('a rekeyed account is authorized by the program of its signer', async () => {
  const node = new TestNode()
  const person = fund(node, personOf(41), 1_000_000n)
  const authorizer = Program.address(accepts)
  await node.send(sign(node.pay(person, person, 0n, { rekey: authorizer }), person))
  await node.send(
    Submission.encode({ txn: node.pay(person, receiver, 200_000n), sgnr: authorizer, lsig: { l: accepts } }),
  )
  assert.equal(node.ledger.state.account(receiver.key).microAlgos, 200_000n)
})

const members = [personOf(51), personOf(52), personOf(53)]
const account: Multisig.Multisig = { version: 1, threshold: 2, publicKeys: members.map(({ publicKey }) => publicKey) }

function delegated(program: Uint8Array, signers: number): Multisig.Signature {
  const message = Program.multisigBytesToSign(Multisig.address(account), program)
  const subsig = members.map(({ publicKey, secretKey }, index) =>
    index < signers ? { pk: publicKey, s: Ed25519.sign(message, secretKey) } : { pk: publicKey },
  )
  return { v: 1, thr: 2, subsig }
}

test('a multisig account delegates to a program by enough of its members', async () => {
  const node = new TestNode()
  const publicKey = Multisig.address(account)
  node.ledger.fund({ type: 'fund', to: MapKey.of(publicKey), microAlgos: 1_000_000n, assets: [] })
  const pay = (): Transaction.Transaction => node.txn('pay', publicKey, { rcv: node.funded(0).publicKey, amt: 1n })
  await node.send(withLogic(pay(), { l: accepts, lmsig: delegated(accepts, 2) }))
  const cases: [string, Multisig.Signature][] = [
    ['logic multisig validation failed: Invalid number of signatures', delegated(accepts, 1)],
    ["At least one signature didn't pass verification", delegated(atMost1000, 2)],
    ['logic multisig validation failed: Invalid address', { ...delegated(accepts, 2), thr: 1 }],
  ]
  for (const [reason, lmsig] of cases) {
    await expectRejection(node, [withLogic(pay(), { l: accepts, lmsig })], { kind: 'unsigned', reason })
  }
})

test('the members of a group share the budget of logic signatures', async () => {
  const node = new TestNode()
  // 153 times 130 and some more: above 20,000, below 40,000.
  const { program } = assemble(`#pragma version 7\n${'byte 0x01; keccak256; pop\n'.repeat(154)}int 1`)
  const sender = contract(node, program)
  const alice = node.funded(0)
  const alone = withLogic(node.txn('pay', sender, { rcv: alice.publicKey, amt: 1n }), { l: program })
  assert.match(errorMessageOf(await node.submit(alone)), /dynamic cost budget exceeded, executing keccak256/)
  const [first, second] = Group.assign([
    node.txn('pay', sender, { rcv: alice.publicKey, amt: 1n }),
    node.pay(alice, alice, 1n),
  ])
  await node.send(withLogic(first!, { l: program }), sign(second!, alice))
})

test('a simulation reports the cost and the trace of logic signatures, also of those that reject', async () => {
  const node = new TestNode()
  const sender = contract(node, atMost1000)
  const simulate = async (amt: bigint) => {
    const txn = node.txn('pay', sender, { rcv: node.funded(0).publicKey, amt })
    const trace = { enable: true, 'stack-change': true, 'scratch-change': true }
    const response = await node.simulate([withLogic(txn, { l: atMost1000 })], { 'exec-trace-config': trace })
    return response.json['txn-groups'][0]
  }
  const integer = (uint: number) => ({ type: 2, uint })
  const accepted = await simulate(1000n)
  assert.equal(accepted['failure-message'], undefined)
  const [{ 'exec-trace': trace, 'logic-sig-budget-consumed': cost }] = accepted['txn-results']
  assert.equal(cost, 3)
  assert.deepEqual(trace['logic-sig-trace'], [
    { pc: 1, 'stack-additions': [integer(1000)] },
    { pc: 3, 'stack-additions': [integer(1000)] },
    { pc: 6, 'stack-additions': [integer(1)], 'stack-pop-count': 2 },
  ])
  const refused = await simulate(1001n)
  assert.deepEqual(refused['failed-at'], [0])
  assert.match(refused['failure-message'], /: rejected by logic$/)
  const last = refused['txn-results'][0]['exec-trace']['logic-sig-trace'].at(-1)
  assert.deepEqual(last, { pc: 6, 'stack-additions': [{ type: 2 }], 'stack-pop-count': 2 })
})

test('a program reads the headers of the blocks before its transaction', async () => {
  const node = new TestNode()
  const { program } = assemble('#pragma version 7\ntxn FirstValid\nint 1\n-\nblock BlkTimestamp\nint 1\n>')
  const sender = contract(node, program)
  for (let round = 0; round < 3; round++) node.node.mine(1)
  const txn = node.txn('pay', sender, { rcv: node.funded(0).publicKey, amt: 1n })
  await node.send(withLogic(txn, { l: program }))
})
