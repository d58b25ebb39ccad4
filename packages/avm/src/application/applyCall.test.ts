/** Tests application calls where recorded sessions do not: hosts, observers and hostile programs. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Transaction } from '@latchkey/algorand'
import { assemble } from '../assembler/assemble.js'
import { CallGroup } from './applyCall.js'
import * as ByteKey from './ByteKey.js'
import type { Effects } from './Effects.js'
import type { CallGroupOptions } from './model.js'
import { type TestLedger, testLedger } from './TestLedger.test.helper.js'

type Txn = Transaction.Transaction

const sender = new Uint8Array(32).fill(1)
const name = new Uint8Array([0x62])

function compile(source: string): Uint8Array {
  return assemble(`#pragma version 10\n${source}`).program
}

function perform(ledger: TestLedger, txn: Partial<Txn>, options: Partial<CallGroupOptions> = {}) {
  const transaction: Txn = { type: 'appl', snd: sender, fee: 1_000_000n, fv: 1n, lv: 1000n, ...txn }
  const group = new CallGroup({ transactions: [transaction], ledger, feeUsage: 1_000_000n, ...options })
  const effects: Effects = {}
  const before = ledger.mark()
  let message: string | undefined
  try {
    group.call(0, effects)
    ledger.addTransaction()
  } catch (error) {
    message = (error as Error).message
    ledger.rollback(before)
  }
  return { group, effects, message }
}

function create(ledger: TestLedger, approval: string, clear = 'int 1'): bigint {
  const source = `txn ApplicationID; bnz called; int 1; return; called:\n${approval}`
  const schema = { nui: 4n, nbs: 4n }
  const { effects, message } = perform(ledger, {
    apap: compile(source),
    apsu: compile(clear),
    apgs: schema,
    apls: schema,
  })
  assert.equal(message, undefined)
  return effects.createdAppId!
}

test('creates an application and reports what a call changed', () => {
  const ledger = testLedger()
  const apid = create(ledger, 'byte "k"; int 7; app_global_put; byte "hello"; log; int 1')
  const { effects, group } = perform(ledger, { apid })
  assert.equal(apid, 1001n)
  assert.equal(ledger.globalValue(apid, 'k'), 7n)
  assert.deepEqual([...effects.delta!.globals], [['k', 7n]])
  assert.deepEqual(effects.delta!.logs, [new TextEncoder().encode('hello')])
  assert.deepEqual([group.budgetAdded, group.budgetConsumed], [700, 9])
})

test('undoes the changes of a clear state program that fails, and still drops the local state', () => {
  const ledger = testLedger()
  const apid = create(ledger, 'int 1', 'byte "k"; int 7; app_global_put; err')
  assert.equal(perform(ledger, { apid, apan: 1n }).message, undefined)
  assert.notEqual(ledger.localSchema(ByteKey.of(sender), apid), undefined)
  const { message, effects } = perform(ledger, { apid, apan: 3n })
  assert.equal(message, undefined)
  assert.equal(effects.delta, undefined)
  assert.equal(ledger.globalValue(apid, 'k'), undefined)
  assert.equal(ledger.localSchema(ByteKey.of(sender), apid), undefined)
})

test('calls an observer around programs and inner transactions', () => {
  const ledger = testLedger()
  const inner = create(ledger, 'int 1')
  const apid = create(
    ledger,
    'itxn_begin; int appl; itxn_field TypeEnum; txna Applications 1; itxn_field ApplicationID; itxn_submit; int 1',
  )
  const calls: string[] = []
  const { message } = perform(
    ledger,
    { apid, apfa: [inner] },
    {
      observer: {
        beforeProgram: ({ appId }) => calls.push(`before ${appId === apid ? 'outer' : 'inner'}`),
        afterProgram: ({ appId }) => calls.push(`after ${appId === apid ? 'outer' : 'inner'}`),
        beforeInnerGroup: ({ transactions }) => calls.push(`group of ${transactions.length}`),
        afterInnerTransaction: (_group, index) => calls.push(`transaction ${index}`),
      },
    },
  )
  assert.equal(message, undefined)
  assert.deepEqual(calls, ['before outer', 'group of 1', 'before inner', 'after inner', 'transaction 0', 'after outer'])
})

const hostile: { readonly [name: string]: string } = {
  'an endless loop': 'loop: b loop',
  'writes of a large box':
    'byte "b"; int 32768; box_create; pop; loop: byte "b"; int 0; int 4096; bzero; box_replace; b loop',
  'inner calls that create applications': `loop: itxn_begin; int appl; itxn_field TypeEnum
    byte 0x0a8101; dup; itxn_field ApprovalProgram; itxn_field ClearStateProgram; int 0; itxn_field Fee; itxn_submit; b loop`,
}

for (const [description, source] of Object.entries(hostile)) {
  test(`ends ${description}`, () => {
    const ledger = testLedger()
    const apid = create(ledger, source)
    const apbx = [{ n: name }, ...new Array<object>(15).fill({})]
    const { message, group } = perform(ledger, { apid, apbx })
    assert.match(message!, /budget exceeded|too many inner transactions/)
    assert.ok(group.budgetConsumed <= 700 * 257)
    assert.equal(ledger.box(apid, 'b'), undefined)
    assert.equal(ledger.transactionCount(), 1001n)
  })
}

const equality = 0x12

test('computes the id of the last inner transaction once', () => {
  const ledger = testLedger()
  const pay = 'int pay; itxn_field TypeEnum'
  const apid = create(
    ledger,
    `itxn_begin; ${pay}; itxn_next; ${pay}; itxn_submit; itxn TxID; itxn TxID; ==; gitxn 1 TxID; gitxn 1 TxID; ==; &&`,
  )
  const pairs: boolean[] = []
  const { message } = perform(
    ledger,
    { apid },
    {
      observer: {
        beforeInstruction: ({ program, pc, stack }) => {
          if (program[pc] === equality) pairs.push(stack.at(-1) === stack.at(-2))
        },
      },
    },
  )
  assert.equal(message, undefined)
  assert.deepEqual(pairs, [true, true])
})

test('looks up no key of state that is longer than keys can be', () => {
  const ledger = testLedger()
  const looked: number[] = []
  const long = 'int 4096; bzero'
  const apid = create(
    ledger,
    `${long}; app_global_get; !; assert; int 0; ${long}; app_global_get_ex; !; assert; pop; ${long}; app_global_del
    int 0; ${long}; app_local_get; !; assert; int 0; int 0; ${long}; app_local_get_ex; !; assert; pop
    int 0; ${long}; app_local_del; byte "k"; app_global_get; !`,
  )
  perform(ledger, { apid, apan: 1n })
  const { globalValue, localValue } = ledger
  const observed = {
    ...ledger,
    globalValue: (id: bigint, key: string) => {
      looked.push(key.length)
      return globalValue(id, key)
    },
    localValue: (address: string, id: bigint, key: string) => {
      looked.push(key.length)
      return localValue(address, id, key)
    },
  }
  const { message, effects } = perform(observed, { apid })
  assert.equal(message, undefined)
  assert.equal(effects.delta, undefined)
  assert.deepEqual(looked, [1])
})

test('finds a value among 255 others', () => {
  const ledger = testLedger()
  const labels = Array.from({ length: 255 }, (_, index) => `l${index}`)
  const apid = create(
    ledger,
    `pushints ${labels.map((_, index) => index).join(' ')}; txna ApplicationArgs 0; btoi; match ${labels.join(' ')}; err
    ${labels.map((label, index) => `${label}: int ${index}; b end`).join('\n')}
    end: itob; log; int 1`,
  )
  for (const index of [0, 1, 254]) {
    const { effects } = perform(ledger, { apid, apaa: [Uint8Array.of(index)] })
    assert.deepEqual(effects.delta?.logs[0]?.at(-1), index)
  }
  assert.match(perform(ledger, { apid, apaa: [Uint8Array.of(255)] }).message!, /err opcode executed/)
})

test('a simulation does not report the log of the last instruction of a failed program', () => {
  const ledger = testLedger()
  const failing = create(ledger, 'byte "a"; log; int 1; int 1; byte "b"; log')
  const accepted = create(ledger, 'byte "a"; log; int 1; byte "b"; log')
  const logsOf = (apid: bigint, options: Partial<CallGroupOptions> = {}) =>
    perform(ledger, { apid }, options).effects.delta?.logs.map((log) => String.fromCharCode(...log))
  assert.deepEqual(logsOf(failing, { observer: {} }), ['a'])
  assert.deepEqual(logsOf(failing), ['a', 'b'])
  assert.deepEqual(logsOf(accepted, { observer: {} }), ['a', 'b'])
})

const empty = 'int pay; itxn_field TypeEnum; int 0; itxn_field Fee'
const fullGroup = `itxn_begin; ${empty}; ${`itxn_next; ${empty}; `.repeat(15)}`

/** A program that makes groups of 16 inner payments, and then runs a source. */
function afterGroups(groups: number, source: string): string {
  return `int 0; loop: ${fullGroup} itxn_submit; int 1; +; dup; int ${groups}; <; bnz loop; pop; ${source}`
}

test('an inner transaction beyond the last one can be begun, and not submitted or followed', () => {
  for (const [source, reason] of [
    ['itxn_begin; int 1', undefined],
    [`itxn_begin; ${empty}; int 1`, undefined],
    [`itxn_begin; ${empty}; itxn_submit; int 1`, 'too many inner transactions 1 with 0 left'],
    [`itxn_begin; ${empty}; itxn_next; int 1`, 'too many inner transactions 1 with 0 left'],
  ] as const) {
    const ledger = testLedger()
    const apid = create(ledger, afterGroups(16, source))
    const { message } = perform(ledger, { apid, fee: 300_000n }, { limits: { extraBudget: 20_000 } })
    assert.equal(message?.replace(/^logic eval error: |\. Details.*$/gs, ''), reason, source)
  }
})

test('the transaction after 16 in an inner group is refused with the number of those before it', () => {
  const ledger = testLedger()
  const apid = create(ledger, `${fullGroup} itxn_next; int 1`)
  const { message } = perform(ledger, { apid }, { limits: { extraBudget: 20_000 } })
  assert.match(message!, /too many inner transactions 16 with 256 left/)
})
