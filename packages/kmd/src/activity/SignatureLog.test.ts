import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Program, Transaction } from '@latchkey/algorand'
import { SignatureLog } from './SignatureLog.js'

const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)
const address = (byte: number): string => Address.encode(key(byte))
const payment = (amt: bigint, more: object = {}): Uint8Array =>
  Transaction.encode({ type: 'pay', snd: key(1), rcv: key(2), amt, fee: 1000n, fv: 1n, lv: 2n, gh: key(3), ...more })

const numbers = (signings: SignatureLog, after = 0): number[] => signings.after(after).map(({ number }) => number)

test('records are listed with the signed transaction', () => {
  let nowMs = 1_700_000_000_000
  const signings = new SignatureLog({ now: () => nowMs++ })
  const bytes = payment(2n ** 64n - 1n)
  signings.add('w1', bytes, false)
  signings.add('w2', payment(1n), true)
  const [first, second] = signings.after(0)
  assert.deepEqual(first, {
    number: 1,
    atMs: 1_700_000_000_000,
    walletKey: 'w1',
    isMultisig: false,
    facts: {
      transactionId: Transaction.id(bytes),
      program: '',
      type: 'pay',
      sender: address(1),
      receiver: address(2),
      amount: 2n ** 64n - 1n,
      assetId: 0n,
      feeMicroAlgos: 1000n,
      warnings: [],
    },
  })
  assert.deepEqual([second!.number, second!.isMultisig, second!.walletKey], [2, true, 'w2'])
})

test('the bytes are copied, so the caller may change them afterwards', () => {
  const signings = new SignatureLog()
  const bytes = payment(7n)
  signings.add('w', bytes, false)
  const id = Transaction.id(bytes)
  bytes.fill(0)
  assert.equal(signings.after(0)[0]!.facts.transactionId, id)
})

const types: [fields: object, expected: object][] = [
  [
    { type: 'axfer', snd: key(1), xaid: 31566704n, aamt: 5n, arcv: key(4) },
    { receiver: address(4), amount: 5n, assetId: 31566704n },
  ],
  [
    { type: 'axfer', snd: key(1), xaid: 9n },
    { receiver: address(0), amount: 0n, assetId: 9n },
  ],
  [
    { type: 'pay', snd: key(1) },
    { receiver: address(0), amount: 0n, assetId: 0n, feeMicroAlgos: 0n },
  ],
  [
    { type: 'acfg', snd: key(1), caid: 8n },
    { receiver: '', amount: 0n, assetId: 8n },
  ],
  [
    { type: 'afrz', snd: key(1), faid: 6n, fadd: key(4) },
    { receiver: '', amount: 0n, assetId: 6n },
  ],
  [
    { type: 'appl', snd: key(1), apid: 5n },
    { receiver: '', amount: 0n, assetId: 0n },
  ],
  [
    { type: 'keyreg', snd: key(1) },
    { receiver: '', amount: 0n, assetId: 0n },
  ],
]
for (const [fields, expected] of types) {
  test(`type ${(fields as { type: string }).type} is described by its own fields (${Object.keys(fields)})`, () => {
    const signings = new SignatureLog()
    signings.add('w', Transaction.encode(fields as Transaction.Transaction), false)
    const { facts } = signings.after(0)[0]!
    for (const [name, value] of Object.entries(expected)) assert.deepEqual(facts[name as keyof typeof facts], value)
  })
}

test('warnings are recorded', () => {
  const signings = new SignatureLog()
  signings.add('w', payment(1n, { rekey: key(9) }), false)
  assert.match(signings.after(0)[0]!.facts.warnings.join('\n'), new RegExp(address(9)))
})

test('the latest records are kept, and numbering continues', () => {
  const signings = new SignatureLog({ limit: 3 })
  assert.deepEqual(numbers(signings), [])
  for (let i = 0; i < 3; i++) signings.add('w', payment(1n), false)
  assert.deepEqual(numbers(signings), [1, 2, 3])
  for (let i = 0; i < 4; i++) signings.add('w', payment(1n), false)
  assert.deepEqual(numbers(signings), [5, 6, 7])
  assert.deepEqual(numbers(signings, 5), [6, 7])
  assert.deepEqual(numbers(signings, 7), [])
  assert.deepEqual(numbers(signings, Number.MAX_SAFE_INTEGER), [])
})

test('a thousand records are kept by default', () => {
  const signings = new SignatureLog()
  const bytes = payment(1n)
  for (let i = 0; i < 1_001; i++) signings.add('w', bytes, false)
  const kept = numbers(signings)
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [1_000, 2, 1_001])
})

test('unread transactions take no more memory than the limit', () => {
  const bytes = payment(1n)
  const signings = new SignatureLog({ limitBytes: 2 * bytes.length })
  for (let i = 0; i < 4; i++) signings.add('w', bytes, false)
  assert.deepEqual(numbers(signings), [3, 4])
  // These are now read, and their bytes freed.
  for (let i = 0; i < 2; i++) signings.add('w', bytes, false)
  assert.deepEqual(numbers(signings), [3, 4, 5, 6])
  signings.add('w', payment(1n, { note: new Uint8Array(1024) }), false)
  assert.deepEqual(numbers(signings), [7], 'a record above the limit by itself is still listed')
  signings.add('w', bytes, false)
  assert.deepEqual(numbers(signings), [7, 8])
})

test('transactions of any length are stored intact', () => {
  const signings = new SignatureLog({ limitBytes: 16 * 1024 * 1024 })
  const all = Array.from({ length: 300 }, (_, i) => payment(BigInt(i + 1), { note: new Uint8Array((i * 37) % 1024) }))
  all.push(Transaction.encode({ type: 'appl', snd: key(1), apid: 1n, apaa: [new Uint8Array(15_000)] }))
  for (const bytes of all) signings.add('w', bytes, false)
  assert.deepEqual(
    signings.after(0).map(({ facts }) => facts.transactionId),
    all.map((bytes) => Transaction.id(bytes)),
  )
})

test('programs are recorded by address, with the account that they may act for', () => {
  const signings = new SignatureLog({ limitBytes: 1024 })
  const program = new Uint8Array(100_000).fill(4)
  signings.addProgram('w', program, key(5), true)
  signings.add('w', payment(1n), false)
  const [first, second] = signings.after(0)
  assert.equal(second!.facts.program, '', 'the bytes of a program are not kept, so that it displaces nothing')
  assert.deepEqual(first!.facts, {
    ...{ transactionId: '', program: Address.encode(Program.address(program)), type: 'program', sender: address(5) },
    ...{ receiver: '', amount: 0n, assetId: 0n, feeMicroAlgos: 0n },
    warnings: first!.facts.warnings,
  })
  assert.match(first!.facts.warnings[0]!, new RegExp(`sign for ${address(5)} whatever the program allows`))
  assert.equal(first!.isMultisig, true)
})

test('records are read a few at a time', () => {
  const signings = new SignatureLog({ limit: 5 })
  for (let i = 0; i < 5; i++) signings.add('w', payment(1n), false)
  assert.equal(signings.lastNumber, 5)
  assert.deepEqual(
    signings.after(1, 2).map(({ number }) => number),
    [2, 3],
  )
  // Dropped between two reads.
  for (let i = 0; i < 4; i++) signings.add('w', payment(1n), false)
  assert.deepEqual(
    signings.after(3, 2).map(({ number }) => number),
    [5, 6],
  )
})
