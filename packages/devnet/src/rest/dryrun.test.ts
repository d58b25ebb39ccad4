import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Msgpack, Submission } from '@latchkey/algorand'
import * as Consensus from '../ledger/Consensus.js'
import { compile } from '../testing/applications.test.helper.js'
import { errorMessageOf, personOf, sign, TestNode } from '../testing/TestNode.test.helper.js'

const alice = personOf(71)
const base64 = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64')

/** A body in JSON. Integers of transactions are not quoted. */
function bodyOf(signed: readonly Uint8Array[], members: object): string {
  const txns = signed.map((bytes) => Submission.toJson(Submission.decodeFirst(bytes).signed))
  const text = JSON.stringify({ ...members, txns }, (_, value) => (typeof value === 'bigint' ? `#${value}#` : value))
  return text.replace(/"#([0-9]+)#"/g, '$1')
}

test('runs a logic signature', async () => {
  const node = new TestNode()
  const l = await compile('arg 0; btoi; store 2; load 2; int 2; ==')
  const run = async (argument: number) => {
    const txn = node.pay(alice, alice, 1n)
    const body = bodyOf([Submission.encode({ txn, lsig: { l, arg: [Uint8Array.of(argument)] } })], {})
    return (await node.post('/v2/teal/dryrun', body)).json
  }
  const response = await run(2)
  assert.deepEqual([response.error, response['protocol-version']], ['', Consensus.version])
  const [result] = response.txns
  assert.deepEqual(result['logic-sig-messages'], ['PASS'])
  assert.deepEqual(result['logic-sig-disassembly'].slice(0, 3), ['#pragma version 10', 'arg_0', 'btoi'])
  assert.equal(result['logic-sig-trace'].length, 7)
  assert.deepEqual(result['logic-sig-trace'][1], {
    line: 2,
    pc: 2,
    stack: [{ bytes: base64(Uint8Array.of(2)), type: 1, uint: 0 }],
  })
  assert.deepEqual(result['logic-sig-trace'].at(-1).scratch.at(-1), { bytes: '', type: 2, uint: 2 })
  assert.deepEqual((await run(3)).txns[0]['logic-sig-messages'], ['REJECT'])
})

const source = `txna ApplicationArgs 0; byte "fail"; ==; bz run; err
  run: byte "n"; byte "n"; app_global_get; int 1; +; app_global_put
  txn Sender; byte "l"; byte "text"; app_local_put; byte "done"; log; int 1`

async function application() {
  return {
    id: 5000,
    params: {
      creator: alice.address,
      'approval-program': base64(await compile(source)),
      'clear-state-program': base64(await compile('int 1')),
      'global-state-schema': { 'num-uint': 1, 'num-byte-slice': 0 },
      'local-state-schema': { 'num-uint': 0, 'num-byte-slice': 1 },
      'global-state': [{ key: base64('n'), value: { type: 2, bytes: '', uint: 41 } }],
    },
  }
}

const account = {
  address: alice.address,
  amount: 1_000_000,
  'apps-local-state': [{ id: 5000, schema: { 'num-uint': 0, 'num-byte-slice': 1 } }],
}

test('runs an application on the state of the request, and leaves that of the ledger unchanged', async () => {
  const node = new TestNode()
  const before = structuredClone(node.ledger.snapshot())
  const call = (text: string) => sign(node.txn('appl', alice, { apid: 5000n, apaa: [Buffer.from(text)] }), alice)
  const state = { apps: [await application()], accounts: [account] }
  const [passed] = (await node.post('/v2/teal/dryrun', bodyOf([call('run')], state))).json.txns
  assert.deepEqual(passed['app-call-messages'], ['ApprovalProgram', 'PASS'])
  assert.deepEqual(passed['global-delta'], [{ key: base64('n'), value: { action: 2, uint: 42 } }])
  assert.deepEqual(passed['local-deltas'], [
    { address: alice.address, delta: [{ key: base64('l'), value: { action: 1, bytes: base64('text') } }] },
  ])
  assert.deepEqual(passed.logs, [base64('done')])
  assert.equal(passed['budget-added'], 700)
  assert.ok(passed['budget-consumed'] > 10)
  assert.equal(passed['app-call-trace'][0].stack.length, 0)
  const [failed] = (await node.post('/v2/teal/dryrun', bodyOf([call('fail')], state))).json.txns
  const [, verdict, reason] = failed['app-call-messages']
  assert.equal(verdict, 'REJECT')
  assert.match(reason, /err opcode executed/)
  assert.match(failed['app-call-trace'].at(-1).error, /err opcode executed/)
  const [unknown] = (await node.post('/v2/teal/dryrun', bodyOf([call('run')], {}))).json.txns
  assert.match(unknown['app-call-messages'][1], /does not exist/)
  assert.deepEqual(structuredClone(node.ledger.snapshot()), before)
})

test('reads msgpack', async () => {
  const node = new TestNode()
  const signed = sign(node.txn('appl', alice, { apid: 5000n, apaa: [Buffer.from('run')] }), alice)
  const { params } = await application()
  const writer = new Msgpack.Writer().mapHeader(3).str('accounts').arrayHeader(1).mapHeader(2)
  writer.str('address').str(alice.address).str('apps-local-state').arrayHeader(1).mapHeader(2).str('id').uint(5000n)
  writer.str('schema').mapHeader(1).str('num-byte-slice').uint(1n)
  writer.str('apps').arrayHeader(1).mapHeader(2).str('id').uint(5000n).str('params').mapHeader(4)
  writer.str('approval-program').bin(Buffer.from(params['approval-program'], 'base64'))
  writer.str('clear-state-program').bin(Buffer.from(params['clear-state-program'], 'base64'))
  writer.str('creator').str(alice.address).str('global-state-schema').mapHeader(1).str('num-uint').uint(1n)
  writer.str('txns').arrayHeader(1).raw(signed)
  const [result] = (await node.post('/v2/teal/dryrun', writer.bytes())).json.txns
  assert.deepEqual(result['app-call-messages'], ['ApprovalProgram', 'PASS'])
})

test('refuses what it cannot read, and limits the trace', async () => {
  const node = new TestNode()
  const refused = async (body: Uint8Array | string) => errorMessageOf(await node.post('/v2/teal/dryrun', body))
  assert.match(await refused(''), /EOF/)
  assert.match(await refused('{}'), /no transactions/)
  assert.match(await refused('{"txns":5}'), /not a list/)
  assert.match(await refused(Uint8Array.of(0x81, 0xa1)), /failed to decode/)
  assert.match(await refused(Uint8Array.of(0x81, 0xa1, 0x61, ...new Array(20).fill(0x91), 0xc0)), /nested too deeply/)
  const l = await compile('int 4096; bzero; loop: dup; pop; b loop')
  const txns = [Submission.encode({ txn: node.pay(alice, alice, 1n), lsig: { l } })]
  assert.match(await refused(bodyOf(txns, {})), /larger than 64 MB/)
  assert.deepEqual(node.errors, [])
})
