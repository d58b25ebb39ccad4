/** Tests the console's pure functions, bundled by Vite as in the page. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import algosdk from 'algosdk'
import { build } from 'vite'

type Bytes = Uint8Array
type Spend = { atMs: number; amount: bigint; isConfirmed: boolean }

type Model = {
  amount: { format(units: bigint | string, decimals: number): string; roundUp(value: bigint): bigint }
  timeBuckets: {
    timeBuckets(
      spends: readonly Spend[],
      nowMs: number,
    ): { stepMs: number; buckets: { fromMs: number; confirmed: bigint; unconfirmed: bigint }[] }
  }
  transactionInput: { fromText(text: string): Bytes; fromFile(bytes: Bytes): Bytes }
  signedTransaction: {
    split(bytes: Bytes): Bytes[]
    multisigOf(transaction: Bytes): { thr: number; subsig: { pk: Bytes; s?: Bytes }[] } | undefined
    unsigned(transaction: Bytes): Bytes
  }
  payments: { Payments: new () => Payments }
  time: { formatDuration(seconds: number): string }
}

type Payments = {
  lastNumber: number
  add(sinceMs: number, entries: readonly object[]): void
  takeDue(nowMs: number, limit: number): string[]
  update(statuses: readonly object[]): void
  spending(): { assetId: string; spends: Spend[] }[]
}

const names = ['amount', 'payments', 'signedTransaction', 'time', 'timeBuckets', 'transactionInput'] as const
const directory = mkdtempSync(join(tmpdir(), 'console-model-'))
const model = {} as { -readonly [name in keyof Model]: Model[name] }

before(async () => {
  const folder = fileURLToPath(new URL('../console/model/', import.meta.url))
  const entry = Object.fromEntries(names.map((name) => [name, join(folder, `${name}.ts`)]))
  await build({
    configFile: false,
    logLevel: 'warn',
    build: { outDir: directory, lib: { entry, formats: ['es'], fileName: (_format, name) => `${name}.mjs` } },
  })
  for (const name of names) model[name] = await import(pathToFileURL(join(directory, `${name}.mjs`)).href)
})
after(() => rmSync(directory, { recursive: true }))

test('formats amounts exactly at every size', () => {
  const cases: [bigint | string, number, string][] = [
    [0n, 6, '0'],
    [1n, 6, '0.000001'],
    ['1500000', 6, '1.5'],
    ['18446744073709551615', 0, '18,446,744,073,709,551,615'],
    ['18446744073709551615', 19, '1.8446744073709551615'],
    ['9007199254740993', 2, '90,071,992,547,409.93'],
    [-1_234_560n, 3, '-1,234.56'],
    [1_000n, 0, '1,000'],
  ]
  for (const [units, decimals, text] of cases) assert.equal(model.amount.format(units, decimals), text)
  assert.deepEqual([0n, 1n, 3n, 14n, 51n, 100n].map(model.amount.roundUp), [1n, 1n, 5n, 20n, 100n, 100n])
})

test('formats durations with the two largest units', () => {
  assert.deepEqual([0, 59.9, 61, 3_600, 90_061].map(model.time.formatDuration), [
    '0 s',
    '59 s',
    '1 min 1 s',
    '1 h 0 min',
    '1 d 1 h',
  ])
})

test('puts every spend in one time bucket, for ranges from seconds to years', () => {
  const nowMs = Date.UTC(2026, 0, 31, 12, 34, 56)
  for (const rangeMs of [0, 30_000, 600_000, 7_200_000, 86_400_000, 30 * 86_400_000, 400 * 86_400_000]) {
    const spends = Array.from({ length: 40 }, (_, index) => ({
      atMs: nowMs - Math.floor((rangeMs * index) / 39),
      amount: BigInt(index + 1),
      isConfirmed: index % 2 === 0,
    }))
    const { stepMs, buckets } = model.timeBuckets.timeBuckets(spends, nowMs)
    assert.ok(buckets.length >= 24 && buckets.length <= 36, `${buckets.length}`)
    const sum = buckets.reduce((total, { confirmed, unconfirmed }) => total + confirmed + unconfirmed, 0n)
    assert.equal(sum, 820n)
    assert.ok(buckets.every(({ fromMs }, index) => index === 0 || fromMs - buckets[index - 1]!.fromMs === stepMs))
    assert.ok(buckets.at(-1)!.fromMs <= nowMs && nowMs < buckets.at(-1)!.fromMs + stepMs)
  }
})

test('reads base64 with line breaks, in several parts and URL-safe, and rejects anything else', () => {
  const bytes = Uint8Array.from({ length: 200 }, (_, index) => (index * 37) & 255)
  const base64 = Buffer.from(bytes).toString('base64')
  const wrapped = base64.replace(/.{76}/g, '$&\n')
  const urlSafe = base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  for (const text of [base64, ` ${wrapped}\n`, urlSafe, `["${base64}"]`]) {
    assert.deepEqual(model.transactionInput.fromText(text), bytes)
  }
  const pieces = ['gqE=', 'gqJhYg=='].join('\n')
  assert.deepEqual(Buffer.from(model.transactionInput.fromText(pieces)).toString('hex'), '82a182a26162')
  assert.deepEqual(model.transactionInput.fromFile(new TextEncoder().encode(base64)), bytes)
  assert.deepEqual(model.transactionInput.fromFile(Uint8Array.of(0x82, 1, 2)), Uint8Array.of(0x82, 1, 2))
  for (const text of ['', '   ', 'not base64!', '====', 'A'])
    assert.throws(() => model.transactionInput.fromText(text), { name: 'ConsoleError', code: 'not_base64' })
})

test('splits concatenated transactions and reads their multisig signature', () => {
  const accounts = [algosdk.generateAccount(), algosdk.generateAccount()]
  const preimage = { version: 1, threshold: 2, addrs: accounts.map(({ addr }) => addr) }
  const transaction = algosdk.makePaymentTxnWithSuggestedParamsFromObject({
    sender: algosdk.multisigAddress(preimage),
    receiver: accounts[0]!.addr,
    amount: 2n ** 60n,
    note: new Uint8Array(1000),
    suggestedParams: { fee: 0, minFee: 1000, firstValid: 70_000, lastValid: 71_000, genesisHash: new Uint8Array(32) },
  })
  const { blob } = algosdk.signMultisigTransaction(transaction, preimage, accounts[1]!.sk)
  const bare = algosdk.encodeUnsignedTransaction(transaction)
  const wrapped = model.signedTransaction.unsigned(bare)
  assert.equal(algosdk.decodeSignedTransaction(wrapped).txn.txID(), transaction.txID())
  const parts = [bare, blob, wrapped]
  assert.deepEqual(model.signedTransaction.split(Buffer.concat(parts)).map(Buffer.from), parts.map(Buffer.from))
  const found = model.signedTransaction.multisigOf(blob)
  assert.equal(found?.thr, 2)
  assert.deepEqual(
    found?.subsig.map(({ s }) => s?.length),
    [undefined, 64],
  )
  for (const other of [bare, wrapped, blob.subarray(0, 90), Uint8Array.of(0xc1), new Uint8Array()]) {
    assert.equal(model.signedTransaction.multisigOf(other), undefined)
  }
})

test('does not split input that is nested too deeply or has wrong lengths', () => {
  const deep = new Uint8Array(100_000).fill(0x91)
  const long = Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff)
  const cut = Uint8Array.of(0xc6, 0xff, 0xff, 0xff, 0xff)
  for (const bytes of [deep, long, cut]) assert.deepEqual(model.signedTransaction.split(bytes), [bytes])
})

const entry = (number: number, more: object = {}): object => ({
  number,
  atMs: number * 1000,
  transactionId: `T${number}`,
  program: '',
  sender: 'S',
  receiver: 'R',
  amount: '5',
  assetId: '0',
  unitName: 'ALGO',
  decimals: 6,
  ...more,
})

test('counts a transaction with two signatures once, and ignores payments to the sender', () => {
  const payments = new model.payments.Payments()
  payments.add(1, [
    entry(1),
    entry(2, { transactionId: 'T1' }),
    entry(3, { receiver: 'S' }),
    entry(4, { assetId: '31566704', amount: '18446744073709551615' }),
    entry(5, { amount: '0' }),
  ])
  payments.update([{ transactionId: 'T1', state: 'confirmed', round: 9 }])
  const [algos, dollars] = payments.spending()
  assert.deepEqual(algos?.spends, [{ atMs: 1000, amount: 5n, isConfirmed: true }])
  assert.deepEqual(dollars?.spends, [{ atMs: 4000, amount: 2n ** 64n - 1n, isConfirmed: false }])
  payments.add(1, [entry(5), entry(6)])
  assert.equal(payments.lastNumber, 6)
  // A restarted daemon numbers its entries from one again.
  payments.add(2, [entry(1)])
  assert.equal(payments.lastNumber, 1)
})

test('queries unconfirmed transactions in turn, old ones less often', () => {
  const payments = new model.payments.Payments()
  payments.add(
    1,
    Array.from({ length: 5 }, (_, index) => entry(index + 1)),
  )
  const queried = new Set<string>()
  for (let round = 0; round < 3; round++) for (const id of payments.takeDue(10_000 + round, 2)) queried.add(id)
  assert.equal(queried.size, 5)
  payments.update([{ transactionId: 'T3', state: 'confirmed', round: 1 }])
  assert.equal(payments.takeDue(11_000, 50).includes('T3'), false)
  const later = 3_600_000
  assert.equal(payments.takeDue(later, 50).length, 4)
  assert.equal(payments.takeDue(later + 2_000, 50).length, 0)
  assert.equal(payments.takeDue(later + 61_000, 50).length, 4)
})
