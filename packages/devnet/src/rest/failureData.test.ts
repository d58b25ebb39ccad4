/** The data of a refused group: the state of its programs when one of them failed, as recorded from a node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Program, Submission } from '@latchkey/algorand'
import { compile, deploy, fundApplication } from '../testing/applications.test.helper.js'
import { type Person, sign, signGroup, TestNode } from '../testing/TestNode.test.helper.js'

async function started(): Promise<{ node: TestNode; alice: Person }> {
  const node = new TestNode()
  return { node, alice: node.funded(0) }
}

// biome-ignore lint/suspicious/noExplicitAny: tests read members of any type
async function dataOf(node: TestNode, ...signed: Uint8Array[]): Promise<any> {
  const { status, json } = await node.submit(...signed)
  assert.equal(status, 400)
  return json.data
}

const b64 = (text: string): string => Buffer.from(text).toString('base64')

test('the data of a refused call has plain values: integers and base64', async () => {
  const { node, alice } = await started()
  const apid = await deploy(
    node,
    alice,
    'byte "log"; log; int 7; store 1; byte "s"; store 3; int 18446744073709551615; byte ""; byte "x"; err',
  )
  const response = await node.submit(sign(node.txn('appl', alice, { apid }), alice))
  const { data } = response.json
  assert.deepEqual(Object.keys(data), ['app-index', 'eval-states', 'group-index', 'pc'])
  assert.deepEqual([data['app-index'], data['group-index'], typeof data.pc], [Number(apid), 0, 'number'])
  assert.match(response.text, /"stack":\[18446744073709551615,"","eA=="\]/)
  assert.deepEqual([data['eval-states'].length, data['eval-states'][0].logs], [1, [b64('log')]])
  assert.deepEqual(data['eval-states'][0].scratch, [0, 7, 0, b64('s')])
})

test('the data of a refused call has the states of all transactions before it, and not of those after it', async () => {
  const { node, alice } = await started()
  const first = await deploy(node, alice, 'byte "one"; log; int 5; store 0; int 1')
  const failing = await deploy(node, alice, 'byte "two"; log; int 9; err')
  const group = signGroup([
    [node.pay(alice, alice, 0n), alice],
    [node.txn('appl', alice, { apid: first }), alice],
    [node.txn('appl', alice, { apid: failing }), alice],
    [node.txn('appl', alice, { apid: first }), alice],
  ])
  const data = await dataOf(node, ...group)
  assert.equal(data['group-index'], 2)
  assert.deepEqual(data['eval-states'], [{}, { logs: [b64('one')], scratch: [5] }, { logs: [b64('two')], stack: [9] }])
})

const innerCall = (apid: bigint): string =>
  `itxn_begin; int appl; itxn_field TypeEnum; int ${apid}; itxn_field ApplicationID; int 0; itxn_field Fee`

test('the data of a call with a refused inner call has its message and data, at every depth', async () => {
  const { node, alice } = await started()
  const bottom = await deploy(node, alice, 'byte "deep"; log; int 3; err')
  const middle = await deploy(node, alice, `int 2; store 0; ${innerCall(bottom)}; itxn_submit; int 1`)
  const top = await deploy(
    node,
    alice,
    `itxn_begin; int pay; itxn_field TypeEnum; int 0; itxn_field Fee; itxn_next
    int appl; itxn_field TypeEnum; int ${middle}; itxn_field ApplicationID; int 0; itxn_field Fee; itxn_submit; int 1`,
  )
  for (const apid of [middle, top]) fundApplication(node, apid)
  const call = node.txn('appl', alice, { apid: top, apfa: [middle, bottom], fee: 9000n })
  const data = await dataOf(node, sign(call, alice))
  assert.equal(data['app-index'], Number(top))
  assert.deepEqual(data['eval-states'], [{}])
  assert.match(data['inner-msg'], /^logic eval error: inner tx 0 failed: logic eval error: err opcode executed\. Det/)
  const { 'inner-attrs': inner } = data
  assert.deepEqual([inner['app-index'], inner['group-index']], [Number(middle), 1])
  assert.deepEqual(inner['eval-states'], [{}, { scratch: [2] }])
  assert.match(inner['inner-msg'], /^logic eval error: err opcode executed\. Details: app=\d+, pc=\d+, opcodes=/)
  const deepest = inner['inner-attrs']
  assert.deepEqual([deepest['app-index'], deepest['group-index']], [Number(bottom), 0])
  assert.deepEqual(deepest['eval-states'], [{ logs: [b64('deep')], stack: [3] }])
  assert.deepEqual([deepest['inner-msg'], deepest['inner-attrs']], [undefined, undefined])
})

test('an inner transaction that fails outside of a program has a message, and no data of its own', async () => {
  const { node, alice } = await started()
  const rejecting = await deploy(node, alice, 'int 0')
  const sources = [
    'itxn_begin; int pay; itxn_field TypeEnum; int 1; itxn_field Amount; int 0; itxn_field Fee; itxn_submit; int 1',
    `${innerCall(rejecting)}; itxn_submit; int 1`,
  ]
  const messages = [/overspend/, /^transaction rejected by ApprovalProgram$/]
  for (const [index, source] of sources.entries()) {
    const apid = await deploy(node, alice, source)
    const data = await dataOf(node, sign(node.txn('appl', alice, { apid, apfa: [rejecting], fee: 9000n }), alice))
    assert.match(data['inner-msg'], messages[index]!)
    assert.deepEqual([data['inner-attrs'], data['app-index']], [undefined, Number(apid)])
  }
})

test('a call that is rejected without an error has no data', async () => {
  const { node, alice } = await started()
  const apid = await deploy(node, alice, 'byte "log"; log; int 0')
  assert.equal(await dataOf(node, sign(node.txn('appl', alice, { apid }), alice)), undefined)
})

test('the stack of a refused call is without the arguments that its last instruction had taken', async () => {
  const { node, alice } = await started()
  for (const [source, stack] of [
    ['int 5; int 0; byte "b"; app_box_len; pop; pop; return', [5, b64('b')]],
    ['int 5; itxn_begin; int 7; itxn_field TypeEnum; int 77; itxn_field ApplicationID; int 1', [5]],
    ['int 5; byte "abc"; extract 2 5; pop', [5, 0]],
    ['int 5; byte "{}"; byte "k"; json_ref JSONUint64; pop', [5, b64('{}')]],
  ] as const) {
    const apap = await compile(`#pragma version 13\ntxn ApplicationID; bz end\n${source}\nend: int 1`)
    const apid = await deploy(node, alice, 'int 1', { apap, apsu: await compile('#pragma version 13\nint 1') })
    const data = await dataOf(node, sign(node.txn('appl', alice, { apid }), alice))
    assert.deepEqual(data['eval-states'], [{ stack }], source)
  }
})

test('an operation that fails at the contents of a box has taken its arguments', async () => {
  const { node, alice } = await started()
  const box = 'int 5; byte "b"; int 4; box_create; pop; byte "b"'
  for (const [source, stack] of [
    [`${box}; byte "123"; box_put`, [5]],
    [`${box}; int 2; int 3; box_extract; pop`, [5, 0]],
    [`${box}; int 2; byte "123"; box_replace`, [5, b64('b'), 2, b64('123')]],
  ] as const) {
    const apid = await deploy(node, alice, source)
    fundApplication(node, apid)
    const call = node.txn('appl', alice, { apid, apbx: [{ n: Buffer.from('b') }] })
    const data = await dataOf(node, sign(call, alice))
    assert.deepEqual(data['eval-states'], [{ stack }], source)
  }
})

test('the data of a refused logic signature has its state and those of earlier ones, and no application', async () => {
  const { node, alice } = await started()
  const [good, bad] = await Promise.all(['int 4; store 0; int 1', 'int 6; store 1; byte "x"; err'].map(compile))
  const signed = signGroup([
    [node.txn('pay', Program.address(good!)), alice],
    [node.pay(alice, alice, 0n), alice],
    [node.txn('pay', Program.address(bad!)), alice],
  ])
  const withLogic = signed.map((bytes, index) => {
    const { txn } = Submission.decodeFirst(bytes).signed
    const l = index === 0 ? good : index === 2 ? bad : undefined
    return l === undefined ? bytes : Submission.encode({ txn, lsig: { l } })
  })
  const data = await dataOf(node, ...withLogic)
  assert.deepEqual(Object.keys(data), ['eval-states', 'group-index', 'pc'])
  assert.equal(data['group-index'], 2)
  assert.deepEqual(data['eval-states'], [{ scratch: [4] }, {}, { scratch: [0, 6], stack: [b64('x')] }])
  const rejecting = await compile('int 0')
  const { txn } = Submission.decodeFirst(sign(node.txn('pay', Program.address(rejecting)), alice)).signed
  assert.equal(await dataOf(node, Submission.encode({ txn, lsig: { l: rejecting } })), undefined)
})

test('states of more than 8 MiB are left out of the data', async () => {
  const { node, alice } = await started()
  const failing = await deploy(node, alice, 'int 1; store 0; err')
  const stores = Array.from({ length: 256 }, (_, slot) => `dup; store ${slot}`)
  const filling = await deploy(node, alice, ['int 4096; bzero', ...stores, 'int 1; return'].join('; '))
  for (const [count, isWhole] of [
    [7, true],
    [8, false],
  ] as const) {
    const ids = [...Array.from({ length: count }, () => filling), failing]
    const group = signGroup(ids.map((apid) => [node.txn('appl', alice, { apid }), alice]))
    const data = await dataOf(node, ...group)
    assert.deepEqual([data['app-index'], data['group-index']], [Number(failing), count])
    assert.equal(data['eval-states'] !== undefined, isWhole)
  }
})
