/** Programs and requests that would use memory or time without limit. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Group, Program, Submission } from '@latchkey/algorand'
import * as MapKey from './ledger/MapKey.js'
import { appAddress } from './ledger/programs/AppRecords.js'
import { blockReader } from './ledger/programs/chainReader.js'
import { compile, deploy, fundApplication } from './testing/applications.test.helper.js'
import { errorMessageOf, sign, TestNode } from './testing/TestNode.test.helper.js'

const trace = { enable: true, 'stack-change': true, 'scratch-change': true, 'state-change': true }
const tooLarge = 'the trace of the simulation is larger than 64 MB'

const traced: { readonly [description: string]: string } = {
  'long values on the stack': 'int 4096; bzero; loop: dup; pop; b loop',
  'a deep stack that is moved': 'int 1; dupn 254; dupn 254; loop: cover 254; b loop',
  'a large box that is changed':
    'byte "b"; int 32768; box_create; pop; loop: byte "b"; int 0; byte 0x01; box_replace; b loop',
  'long keys that are read':
    'int 4000; bzero; store 0; int 0; loop: int 1; +; dup; itob; load 0; concat; app_global_get; pop; b loop',
}

/** As much as a trace of 64 MB needs, where that is less than the maximum. */
const budgets: { readonly [description: string]: number } = {
  'long values on the stack': 40_000,
  'a deep stack that is moved': 10_000,
  'a large box that is changed': 20_000,
}

for (const [description, source] of Object.entries(traced)) {
  test(`limits the trace of ${description}`, async () => {
    const node = new TestNode()
    const alice = node.funded(0)
    const apid = await deploy(node, alice, source)
    fundApplication(node, apid)
    const apbx = [{ n: Buffer.from('b') }, ...new Array<object>(7).fill({})]
    const group = [sign(node.txn('appl', alice, { apid, apbx }), alice)]
    const options = {
      'extra-opcode-budget': budgets[description] ?? 320_000,
      'allow-unnamed-resources': true,
      'exec-trace-config': trace,
    }
    assert.equal(errorMessageOf(await node.simulate(group, options)), tooLarge)
    // Without a trace, only the budget ends the program.
    const untraced = await node.simulate(group, { 'allow-unnamed-resources': true })
    assert.match(untraced.json['txn-groups'][0]['failure-message'], /dynamic cost budget exceeded/)
    assert.deepEqual(node.errors, [])
  })
}

test('the trace of an inner transaction and of a logic signature counts too', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const inner = await deploy(
    node,
    alice,
    'int 4096; bzero; loop: dup; pop; global OpcodeBudget; int 600; >; bnz loop; int 1',
  )
  const outer = await deploy(
    node,
    alice,
    `loop: itxn_begin; int appl; itxn_field TypeEnum; txna Applications 1; itxn_field ApplicationID; itxn_submit
    global OpcodeBudget; int 5000; >; bnz loop; int 1`,
  )
  const call = sign(node.txn('appl', alice, { apid: outer, apfa: [inner], fee: 1_000_000n }), alice)
  const options = { 'extra-opcode-budget': 320_000, 'exec-trace-config': trace }
  assert.equal(errorMessageOf(await node.simulate([call], options)), tooLarge)
  assert.deepEqual(node.errors, [])
})

test('the open block is limited by the transactions that applications make, too', async () => {
  const node = new TestNode({ blocks: 'manual' })
  const alice = node.funded(0)
  await deploy(
    node,
    alice,
    `int 4096; bzero; store 0; int 0; loop: itxn_begin
    ${new Array(16).fill('int pay; itxn_field TypeEnum; load 0; itxn_field Note; int 0; itxn_field Fee').join('; itxn_next;')}
    itxn_submit; int 1; +; dup; int 5; <; bnz loop`,
  )
  await node.post('/devnet/mine')
  const apid = node.ledger.state.transactionCount()
  fundApplication(node, apid)
  const call = () => sign(node.txn('appl', alice, { apid, fee: 1_000_000n }), alice)
  let accepted = 0
  let response = await node.submit(call())
  for (; response.status === 200 && accepted < 30; accepted++) response = await node.submit(call())
  assert.match(errorMessageOf(response), /transaction pool have reached capacity/)
  assert.equal(accepted, 15)
  await node.post('/devnet/mine')
  assert.equal((await node.submit(call())).status, 200)
})

test('programs and values in the state keep no larger buffer in memory', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const apid = await deploy(
    node,
    alice,
    `byte "g"; int 4096; bzero; extract 0 3; app_global_put
    byte "b"; int 4096; bzero; extract 0 5; box_put; int 1`,
  )
  fundApplication(node, apid)
  await node.send(sign(node.txn('appl', alice, { apid, apbx: [{ n: Buffer.from('b') }] }), alice))
  const { params, globals } = node.ledger.state.application(apid)!
  const stored = [params.approvalProgram, params.clearStateProgram, globals.get('g'), node.ledger.state.box(apid, 'b')]
  const sizes = (stored as Uint8Array[]).map(({ length, buffer }) => [length, buffer.byteLength])
  assert.deepEqual(sizes.slice(2), [
    [3, 3],
    [5, 5],
  ])
  for (const [length, kept] of sizes) assert.equal(length, kept)
})

test('a source that a program of 16 kB would need 100 MB for is refused', async () => {
  const node = new TestNode()
  const program = Buffer.concat([
    Buffer.from([10, 0x26, 1, 0xc0, 0x3e]),
    Buffer.alloc(8000, 0xff),
    Buffer.alloc(8000, 0x28),
  ])
  assert.match(errorMessageOf(await node.post('/v2/teal/disassemble', program)), /^source is longer than/)
})

test('block headers are read once, however often programs use them', async () => {
  const node = new TestNode()
  await node.post('/devnet/mine', { rounds: 2 })
  const { blockHeader } = blockReader(node.genesis.chain.genesisHash, [node.ledger.block(1n)!, node.ledger.last])
  assert.equal(blockHeader(1n), blockHeader(1n))
  assert.notEqual(blockHeader(1n), blockHeader(2n))
})

test('a failed call of an application with boxes, inner transactions and new applications changes nothing', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const program = Buffer.from(await compile('int 1')).toString('hex')
  const apid = await deploy(
    node,
    alice,
    `byte "b"; int 100; box_create; pop; byte "k"; int 1; app_global_put
    itxn_begin; int appl; itxn_field TypeEnum; byte 0x${program}; dup; itxn_field ApprovalProgram; itxn_field ClearStateProgram
    itxn_submit; itxn_begin; int acfg; itxn_field TypeEnum; int 5; itxn_field ConfigAssetTotal; itxn_submit
    itxn_begin; int pay; itxn_field TypeEnum; txn Sender; itxn_field Receiver; int 7; itxn_field Amount; itxn_submit
    byte "hello"; log; txn NumAppArgs`,
  )
  fundApplication(node, apid)
  const fields = { apid, fee: 10_000n, apbx: [{ n: Buffer.from('b') }] }
  const before = structuredClone(node.ledger.snapshot())
  const failed = await node.submit(sign(node.txn('appl', alice, fields), alice))
  assert.match(errorMessageOf(failed), /transaction rejected by ApprovalProgram/)
  assert.deepEqual(structuredClone(node.ledger.snapshot()), before)
  await node.send(sign(node.txn('appl', alice, { ...fields, apaa: [Buffer.from('x')] }), alice))
  const { state } = node.ledger
  assert.deepEqual([state.box(apid, 'b')?.length, state.application(apid)?.globals.get('k')], [100, 1n])
  assert.equal(state.appsCreatedBy(appAddress(apid)).length, 1)
  assert.equal(state.createdBy(appAddress(apid)).length, 1)
})

const groupSize = 16

/** Programs that spend the budget of 16 logic signatures, 320,000, on an instruction that takes long for its cost. */
const costliest: { readonly [description: string]: string } = {
  'comparisons of long byte strings': `int 4096; bzero; store 0; load 0; int 4095; int 1; setbyte; store 1
    loop: load 1; load 1; load 0; ${new Array(31).fill('dup2').join('; ')}; load 1; int 0; int 1; setbyte
    match ${new Array(64).fill('never').join(' ')}; pop; b loop; never: err`,
  'multiples of 32 points': `int 64; bzero; ec_map_to BN254g2; ${new Array(5).fill('dup; concat').join('; ')}
    int 1024; bzero; b~; loop: dup2; ec_multi_scalar_mul BN254g2; pop; b loop`,
  'pairings of two points': `int 64; bzero; ec_map_to BN254g2; dup; concat; int 32; bzero; ec_map_to BN254g1; dup; concat
    loop: dup2; ec_pairing_check BN254g2; pop; b loop`,
}

for (const [description, source] of Object.entries(costliest)) {
  test(`logic signatures end with their budget: ${description}`, async () => {
    const node = new TestNode()
    const program = await compile(source)
    const account = Program.address(program)
    node.ledger.fund({ type: 'fund', to: MapKey.of(account), microAlgos: 100_000_000n, assets: [] })
    const group = Group.assign(Array.from({ length: groupSize }, () => node.txn('pay', account, { fee: 1_000_000n })))
    const before = structuredClone(node.ledger.snapshot())
    const signed = group.map((txn) => Submission.encode({ lsig: { l: program }, txn }))
    assert.match(errorMessageOf(await node.submit(...signed)), /rejected by logic err=dynamic cost budget exceeded/)
    assert.deepEqual(structuredClone(node.ledger.snapshot()), before)
  })
}

/** Programs that spend the budget of 16 calls and 240 inner calls, 179,200, on an instruction with a cost of 1. */
const costliestCalls: { readonly [description: string]: string } = {
  'fields of inner transactions': 'int 4096; bzero; itxn_begin; loop: dup; itxn_field ApprovalProgram; b loop',
  'boxes of 32 kB': 'loop: byte "b"; int 32768; box_create; pop; byte "b"; box_del; pop; b loop',
}

for (const [description, source] of Object.entries(costliestCalls)) {
  test(`calls end with their budget: ${description}`, async () => {
    const node = new TestNode()
    const alice = node.funded(0)
    const called = await deploy(node, alice, 'int 1')
    const inner = 'int appl; itxn_field TypeEnum; txna Applications 1; itxn_field ApplicationID'
    const calls = new Array(groupSize).fill(inner).join('; itxn_next; ')
    const apid = await deploy(
      node,
      alice,
      `int 15; inner: itxn_begin; ${calls}; itxn_submit; int 1; -; dup; bnz inner; pop\n${source}`,
      { apep: 1 },
    )
    fundApplication(node, apid)
    const apbx = [{ n: Buffer.from('b') }, ...new Array<object>(6).fill({})]
    const fields = { apid, apfa: [called], apbx, fee: 1_000_000n }
    const group = Group.assign(Array.from({ length: groupSize }, () => node.txn('appl', alice, fields)))
    const before = structuredClone(node.ledger.snapshot())
    const refused = await node.submit(...group.map((txn) => sign(txn, alice)))
    assert.match(errorMessageOf(refused), /dynamic cost budget exceeded/)
    assert.deepEqual(structuredClone(node.ledger.snapshot()), before)
  })
}

test('a group creates 256 applications of 8 kB, whose programs are all checked', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  // The program ends with its first instructions; the others are checked, too.
  const create = `int appl; itxn_field TypeEnum; int 3; itxn_field ExtraProgramPages; byte 0x0a810143; itxn_field ApprovalProgram
    load 0; itxn_field ApprovalProgramPages; load 1; itxn_field ApprovalProgramPages; byte 0x0a8101; itxn_field ClearStateProgram`
  const apid = await deploy(
    node,
    alice,
    `byte 0x8101; ${new Array(11).fill('dup; concat').join('; ')}; dup; store 0; int 0; int 4080; extract3; store 1
    itxn_begin; ${new Array(groupSize).fill(create).join('; itxn_next; ')}; itxn_submit; int 1`,
  )
  fundApplication(node, apid, 1_000_000_000n)
  const calls = Array.from({ length: groupSize }, () => node.txn('appl', alice, { apid, fee: 1_000_000n }))
  const response = await node.submit(...Group.assign(calls).map((txn) => sign(txn, alice)))
  assert.equal(response.status, 200, response.text)
  const created = node.ledger.state.appsCreatedBy(appAddress(apid))
  assert.equal(created.length, 256)
  assert.equal(node.ledger.state.application(created[0]!)!.params.approvalProgram.length, 8180)
})
