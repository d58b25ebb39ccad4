/** Tests the evaluator where recorded cases do not: shared budgets, traces and hostile programs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Transaction } from '@latchkey/algorand'
import { assemble } from '../assembler/assemble.js'
import { Budget } from './Budget.js'
import { checkProgram } from './checkProgram.js'
import { evaluateSignature, rejectionOf, type SignatureOptions } from './evaluateSignature.js'
import type { Ledger } from './Ledger.js'

const transaction: Transaction.Transaction = { type: 'pay', snd: new Uint8Array(32).fill(1), fv: 1n, lv: 1000n }
const ledger: Ledger = {
  genesisHash: new Uint8Array(32),
  blockHeader: () => {
    throw new RangeError('no block is needed')
  },
}

function evaluate(source: string, options: Partial<SignatureOptions> = {}) {
  const { program } = assemble(`#pragma version 10\n${source}`)
  return evaluateSignature({ program, group: [transaction], index: 0, ledger, ...options })
}

test('describes why a program did not accept', () => {
  assert.equal(rejectionOf(evaluate('int 1')), undefined)
  assert.equal(rejectionOf(evaluate('int 0')), 'rejected by logic')
  assert.equal(rejectionOf(evaluate('err')), 'rejected by logic err=err opcode executed. Details: pc=1')
})

test('shares a budget among programs', () => {
  const budget = new Budget(5)
  assert.equal(evaluate('pushint 1; pushint 1; &&', { budget }).isAccepted, true)
  assert.equal(budget.remaining, 2)
  const { error, cost } = evaluate('pushint 1; pushint 1; &&', { budget })
  assert.equal(error?.message, 'dynamic cost budget exceeded, executing &&: local program cost was 2')
  assert.equal(cost, 2)
})

test('calls the tracer around each instruction, with the error of the last', () => {
  const calls: string[] = []
  evaluate('int 7; int 0; /', {
    tracer: {
      beforeInstruction: ({ pc, stack }) => calls.push(`before ${pc}: ${stack.join()}`),
      afterInstruction: ({ stack }, error) => calls.push(`after: ${stack.join()} ${error?.message ?? ''}`),
    },
  })
  assert.deepEqual(calls, ['before 1: ', 'after: 7 ', 'before 3: 7', 'after: 7,0 ', 'before 5: 7,0', 'after: 7,0 / 0'])
})

const group = new Array<Transaction.Transaction>(4).fill(transaction)
const hostile: { readonly [name: string]: string } = {
  'a loop over a block of constants': `loop: intcblock ${Array.from({ length: 3000 }, (_, index) => index).join(' ')}
    b loop`,
  'comparisons of copies of a long byte string': `
    int 4096; bzero; dup; int 4095; int 1; setbyte; store 0; store 1
    loop: load 1; dupn 254; load 0; match ${new Array(255).fill('loop').join(' ')}; b loop`,
  'bit lengths of long byte strings': 'int 4096; bzero; loop: dup; bitlen; pop; b loop',
  'copies of long byte strings': 'int 4096; bzero; loop: int 0; int 1; setbit; b loop',
  'calls without returns': 'loop: callsub loop',
}

for (const [name, source] of Object.entries(hostile)) {
  test(`the budget ends ${name}`, () => {
    const { program } = assemble(`#pragma version 10\n${source}`)
    assert.equal(checkProgram(program, { mode: 'signature', group }), undefined)
    const { error, cost } = evaluateSignature({ program, group, index: 0, ledger })
    assert.match(error!.message, /budget exceeded/)
    assert.ok(cost <= 80_000)
  })
}

test('evaluates random bytes to a result', () => {
  let state = 1
  const random = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) & 0xff
  }
  for (let count = 0; count < 3000; count++) {
    const program = Uint8Array.from({ length: 64 }, random)
    program.set([1 + (count % 13), 0x80, 8])
    assert.equal(typeof evaluateSignature({ program, group, index: 0, ledger }).isAccepted, 'boolean')
    checkProgram(program, { mode: 'signature', group })
  }
})
