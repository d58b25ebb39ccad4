/**
 * Simulates and submits random calls of random applications: verdict, effects and failed transactions must agree, failed
 * groups must change nothing, and the totals of accounts must be those of their applications and boxes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Group, Submission, type Transaction } from '@latchkey/algorand'
import fc from 'fast-check'
import { noApps } from './ledger/Account.js'
import type { MapKey } from './ledger/MapKey.js'
import { appAddress } from './ledger/programs/AppRecords.js'
import * as Dump from './store/Dump.js'
import { compile, deploy, fundApplication } from './testing/applications.test.helper.js'
import { type Person, sign, TestNode } from './testing/TestNode.test.helper.js'
import '../../../test/seed.mjs'

type Txn = Transaction.Transaction

const usualRuns = 30
const numRuns = Math.max(usualRuns, Math.floor(Number(process.env['LATCHKEY_FUZZ'] ?? 0) / 20))

/** Parts of programs. Each leaves the stack as it was, or fails. */
const parts = [
  'byte "g"; byte "g"; app_global_get; int 1; +; app_global_put',
  'byte "h"; txn TxID; app_global_put',
  'byte "g"; app_global_del',
  'txn Sender; byte "l"; global Round; app_local_put',
  'txn Sender; byte "l"; app_local_del',
  'byte "b"; int 100; box_create; pop',
  'byte "b"; int 3; byte "xyz"; box_replace',
  'byte "b"; box_del; pop',
  'byte "c"; int 2000; bzero; box_put',
  'byte "b"; int 300; box_resize',
  'byte "logged"; log',
  'int 7; store 1',
  'txn GroupIndex; bz first; txn GroupIndex; int 1; -; gloads 1; pop; first:',
  'itxn_begin; int pay; itxn_field TypeEnum; txn Sender; itxn_field Receiver; int 5; itxn_field Amount; itxn_submit',
  'itxn_begin; int pay; itxn_field TypeEnum; txn Sender; itxn_field CloseRemainderTo; itxn_submit',
  'itxn_begin; int acfg; itxn_field TypeEnum; int 5; itxn_field ConfigAssetTotal; itxn_submit; itxn CreatedAssetID; itob; log',
  'itxn_begin; int appl; itxn_field TypeEnum; byte 0x0a8101; dup; itxn_field ApprovalProgram; itxn_field ClearStateProgram; itxn_next; int pay; itxn_field TypeEnum; itxn_submit',
  'itxn_begin; int appl; itxn_field TypeEnum; txna Applications 1; itxn_field ApplicationID; itxn_submit',
  'itxn_begin; int appl; itxn_field TypeEnum; txna Applications 1; itxn_field ApplicationID; int OptIn; itxn_field OnCompletion; itxn_submit',
  'itxn_begin; int appl; itxn_field TypeEnum; txna Applications 1; itxn_field ApplicationID; int ClearState; itxn_field OnCompletion; itxn_submit',
  'itxn_begin; int appl; itxn_field TypeEnum; txna Applications 1; itxn_field ApplicationID; int DeleteApplication; itxn_field OnCompletion; itxn_submit',
  'txn NumAppArgs; assert',
  'int 1; txn NumAppArgs; -; pop',
  'global OpcodeBudget; int 300; >; assert',
]

const part = fc.nat(parts.length - 1)
const program = fc.array(part, { maxLength: 6 })
const member = fc.record({
  application: fc.nat(2),
  sender: fc.nat(1),
  completion: fc.constantFrom(0n, 0n, 0n, 0n, 1n, 1n, 2n, 3n, 4n, 5n),
  args: fc.nat(2),
  boxes: fc.nat(3),
  fee: fc.constantFrom(1000n, 5000n, 20_000n, 20_000n),
})
const scenario = fc.record({
  programs: fc.tuple(program, program, program),
  clear: program,
  groups: fc.array(fc.array(member, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 }),
})

type Member = typeof member extends fc.Arbitrary<infer T> ? T : never

/** Labels are unique in a program, because a part may occur twice. */
function sourceOf(program: readonly number[]): string {
  const texts = program.map((index, at) => parts[index]!.replaceAll(/\bfirst\b/g, `first${at}`))
  return [...texts, 'int 1'].join('\n')
}

function transactionOf(
  node: TestNode,
  one: Member,
  ids: readonly bigint[],
  people: readonly Person[],
  update: Uint8Array,
) {
  const { application, completion, args, boxes, fee } = one
  const apid = ids[application]!
  const named = [{ n: Buffer.from('b') }, { n: Buffer.from('c') }, {}].slice(0, boxes)
  const fields: Partial<Txn> = {
    apid,
    apan: completion,
    fee,
    apfa: [ids[(application + 1) % 3]!],
    apbx: named,
    apaa: new Array(args).fill(Buffer.from('argument')),
  }
  if (completion === 4n) Object.assign(fields, { apap: update, apsu: update })
  return node.txn('appl', people[one.sender]!, fields)
}

test('simulations and submissions of random calls agree', async () => {
  const update = await compile('int 1')
  await fc.assert(
    fc.asyncProperty(scenario, async ({ programs, clear, groups }) => {
      const node = new TestNode({ nowMs: () => 1_700_000_000_000 })
      const people = [node.funded(0), node.funded(1)]
      const apsu = await compile(sourceOf(clear.filter((index) => !/itxn|box/.test(parts[index]!))))
      const ids: bigint[] = []
      for (const one of programs) ids.push(await deploy(node, people[0]!, sourceOf(one), { apsu }))
      for (const id of ids) fundApplication(node, id, 10_000_000n)
      for (const group of groups) await check(node, group, ids, people, update)
      assert.deepEqual(node.errors, [])
    }),
    { numRuns },
  )
})

const damage = fc.record({
  program,
  changes: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
  isSignature: fc.boolean(),
})

test('damaged programs are refused or run, and cause no internal errors', async () => {
  const node = new TestNode({ nowMs: () => 1_700_000_000_000 })
  const alice = node.funded(0)
  const verdicts = new Set<number>()
  const clear = await compile('int 1')
  await fc.assert(
    fc.asyncProperty(damage, async ({ program, changes, isSignature }) => {
      const damaged = new Uint8Array(await compile(sourceOf(program)))
      for (const [index, byte] of changes) damaged[1 + (index % (damaged.length - 1))] = byte
      const before = Dump.hash(node.ledger.snapshot())
      const signed = isSignature
        ? Submission.encode({ txn: node.pay(alice, alice, 1n), lsig: { l: damaged } })
        : sign(node.txn('appl', alice, { apap: damaged, apsu: clear, apgs: { nui: 4n, nbs: 4n } }), alice)
      const simulated = await node.simulate([signed], { 'allow-unnamed-resources': true })
      assert.equal(simulated.status, 200)
      assert.equal(Dump.hash(node.ledger.snapshot()), before)
      const { status } = await node.submit(signed)
      verdicts.add(status)
      if (status !== 200) assert.equal(Dump.hash(node.ledger.snapshot()), before)
      assert.deepEqual(node.errors, [])
    }),
    { numRuns: 3 * numRuns },
  )
  assert.deepEqual([...verdicts].sort(), [200, 400])
})

async function check(
  node: TestNode,
  group: readonly Member[],
  ids: readonly bigint[],
  people: readonly Person[],
  update: Uint8Array,
): Promise<void> {
  const plain = group.map((one) => transactionOf(node, one, ids, people, update))
  const txns = plain.length === 1 ? plain : Group.assign(plain)
  const signed = txns.map((txn, index) => sign(txn, people[group[index]!.sender]!))
  const before = Dump.hash(node.ledger.snapshot())
  const simulated = (await node.simulate(signed)).json['txn-groups'][0]
  const trace = { enable: true, 'stack-change': true, 'scratch-change': true, 'state-change': true }
  const traced = (await node.simulate(signed, { 'exec-trace-config': trace })).json['txn-groups'][0]
  for (const result of traced['txn-results']) delete result['exec-trace']
  assert.deepEqual(traced, simulated)
  assert.equal(Dump.hash(node.ledger.snapshot()), before)
  const response = await node.submit(...signed)
  if (response.status !== 200) {
    const message: string = response.json.message
    const expected: string = simulated['failure-message']
    assert.equal(message.replace('TransactionPool.Remember: ', ''), expected)
    assert.equal(Dump.hash(node.ledger.snapshot()), before)
  } else {
    assert.equal(simulated['failure-message'], undefined)
    for (const [index, bytes] of signed.entries()) {
      const { id } = Submission.decodeFirst(bytes)
      const { 'confirmed-round': _, ...shown } = (await node.get(`/v2/transactions/pending/${id}`)).json
      assert.deepEqual(shown, simulated['txn-results'][index]['txn-result'])
    }
  }
  checkTotals(node)
}

/** The totals that minimum balances depend on. */
function checkTotals({ ledger: { state } }: TestNode): void {
  const boxes = new Map<MapKey, { boxes: number; boxBytes: number }>()
  const { boxes: all } = state.copy()
  for (const [appId, named] of all) {
    const boxBytes = [...named].reduce((sum, [name, value]) => sum + name.length + value.length, 0)
    boxes.set(appAddress(appId), { boxes: named.size, boxBytes })
  }
  for (const [key, { apps = noApps, assetsHeld, assetsCreated }] of state.allAccounts()) {
    const created = state.appsCreatedBy(key)
    const joined = state.appsOptedInBy(key)
    const schemas = [
      ...created.map((id) => state.application(id)!.params.globalSchema),
      ...joined.map((id) => state.local(key, id)!.schema),
    ]
    const sum = (name: 'integers' | 'byteStrings') => schemas.reduce((total, schema) => total + schema[name], 0)
    assert.deepEqual(
      { ...apps, assetsHeld, assetsCreated },
      {
        created: created.length,
        optedIn: joined.length,
        integers: sum('integers'),
        byteStrings: sum('byteStrings'),
        extraPages: 0,
        ...(boxes.get(key) ?? { boxes: 0, boxBytes: 0 }),
        assetsHeld: state.heldBy(key).length,
        assetsCreated: state.createdBy(key).length,
      },
    )
  }
}
