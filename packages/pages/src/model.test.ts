/** The console's own arithmetic, bundled as the page has it and run here. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import algosdk from 'algosdk'
import { build } from 'vite'

type Bytes = Uint8Array
type Spend = { atMs: number; amount: bigint; isSettled: boolean }
type Slot = { publicKey: Bytes; signature: Bytes | undefined }

type Model = {
  address: { encode(publicKey: Bytes): string; decode(address: string): Bytes }
  amounts: { format(units: bigint | string, decimals: number): string; roundUp(value: bigint): bigint }
  buckets: {
    bucketsOf(
      spends: readonly Spend[],
      nowMs: number,
    ): { stepMs: number; buckets: { fromMs: number; settled: bigint; unsettled: bigint }[] }
  }
  bytes: { fromPasted(text: string): Bytes; fromFile(bytes: Bytes): Bytes; toBase64(bytes: Bytes): string }
  envelope: {
    split(bytes: Bytes): Bytes[]
    multisigIn(transaction: Bytes): { threshold: number; slots: Slot[] } | undefined
    unsigned(transaction: Bytes): Bytes
  }
  payments: { Payments: new () => Payments }
  time: { formatDuration(seconds: number): string }
}

type Payments = {
  lastNumber: number
  add(sinceMs: number, signings: readonly object[]): void
  due(nowMs: number, most: number): string[]
  see(sightings: readonly object[]): void
  spending(): { assetId: string; spends: Spend[] }[]
}

const names = ['address', 'amounts', 'buckets', 'bytes', 'envelope', 'payments', 'time'] as const
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

test('addresses are those of algosdk, and a mistyped one is told', () => {
  for (let turn = 0; turn < 50; turn++) {
    const { addr } = algosdk.generateAccount()
    assert.equal(model.address.encode(addr.publicKey), addr.toString())
    assert.deepEqual(model.address.decode(addr.toString()), addr.publicKey)
    const at = turn + 1
    const letter = addr.toString()[at] === 'A' ? 'B' : 'A'
    const mistyped = addr.toString().slice(0, at) + letter + addr.toString().slice(at + 1)
    assert.throws(() => model.address.decode(mistyped), /mistyped/)
  }
  assert.throws(() => model.address.decode('ABC'), /58 characters, this has 3/)
  assert.throws(() => model.address.decode('a'.repeat(58)), /only A to Z and 2 to 7, not "a"/)
})

test('amounts are exact at every size', () => {
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
  for (const [units, decimals, text] of cases) assert.equal(model.amounts.format(units, decimals), text)
  assert.deepEqual([0n, 1n, 3n, 14n, 51n, 100n].map(model.amounts.roundUp), [1n, 1n, 5n, 20n, 100n, 100n])
})

test('durations have the two largest units', () => {
  assert.deepEqual([0, 59.9, 61, 3_600, 90_061].map(model.time.formatDuration), [
    '0 s',
    '59 s',
    '1 min 1 s',
    '1 h 0 min',
    '1 d 1 h',
  ])
})

test('every spend is in one bucket, however long the range', () => {
  const nowMs = Date.UTC(2026, 0, 31, 12, 34, 56)
  for (const rangeMs of [0, 30_000, 600_000, 7_200_000, 86_400_000, 30 * 86_400_000, 400 * 86_400_000]) {
    const spends = Array.from({ length: 40 }, (_, index) => ({
      atMs: nowMs - Math.floor((rangeMs * index) / 39),
      amount: BigInt(index + 1),
      isSettled: index % 2 === 0,
    }))
    const { stepMs, buckets } = model.buckets.bucketsOf(spends, nowMs)
    assert.ok(buckets.length >= 24 && buckets.length <= 36, `${buckets.length}`)
    const sum = buckets.reduce((total, { settled, unsettled }) => total + settled + unsettled, 0n)
    assert.equal(sum, 820n)
    assert.ok(buckets.every(({ fromMs }, index) => index === 0 || fromMs - buckets[index - 1]!.fromMs === stepMs))
    assert.ok(buckets.at(-1)!.fromMs <= nowMs && nowMs < buckets.at(-1)!.fromMs + stepMs)
  }
})

test('what people paste is read: wrapped lines, several pieces, URL-safe letters; anything else is refused', () => {
  const bytes = Uint8Array.from({ length: 200 }, (_, index) => (index * 37) & 255)
  const base64 = model.bytes.toBase64(bytes)
  const wrapped = base64.replace(/.{76}/g, '$&\n')
  const urlSafe = base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  for (const text of [base64, ` ${wrapped}\n`, urlSafe, `["${base64}"]`]) {
    assert.deepEqual(model.bytes.fromPasted(text), bytes)
  }
  const pieces = ['gqE=', 'gqJhYg=='].join('\n')
  assert.deepEqual(Buffer.from(model.bytes.fromPasted(pieces)).toString('hex'), '82a182a26162')
  assert.deepEqual(model.bytes.fromFile(new TextEncoder().encode(base64)), bytes)
  assert.deepEqual(model.bytes.fromFile(Uint8Array.of(0x82, 1, 2)), Uint8Array.of(0x82, 1, 2))
  for (const text of ['', '   ', 'not base64!', '====', 'A'])
    assert.throws(() => model.bytes.fromPasted(text), /not base64/)
})

test('pasted transactions are told apart, and bring their multisig signature with them', () => {
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
  const wrapped = model.envelope.unsigned(bare)
  assert.equal(algosdk.decodeSignedTransaction(wrapped).txn.txID(), transaction.txID())
  const parts = [bare, blob, wrapped]
  assert.deepEqual(model.envelope.split(Buffer.concat(parts)).map(Buffer.from), parts.map(Buffer.from))
  const found = model.envelope.multisigIn(blob)
  assert.equal(found?.threshold, 2)
  assert.deepEqual(
    found?.slots.map(({ signature }) => signature?.length),
    [undefined, 64],
  )
  for (const other of [bare, wrapped, blob.subarray(0, 90), Uint8Array.of(0xc1), new Uint8Array()]) {
    assert.equal(model.envelope.multisigIn(other), undefined)
  }
})

test('what is nested without end, or says it is longer than it is, is not followed', () => {
  const deep = new Uint8Array(100_000).fill(0x91)
  const long = Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff)
  const cut = Uint8Array.of(0xc6, 0xff, 0xff, 0xff, 0xff)
  for (const bytes of [deep, long, cut]) assert.deepEqual(model.envelope.split(bytes), [bytes])
})

const signing = (number: number, more: object = {}): object => ({
  number,
  atMs: number * 1000,
  transactionId: `T${number}`,
  sender: 'S',
  receiver: 'R',
  amount: '5',
  assetId: '0',
  unitName: 'ALGO',
  decimals: 6,
  ...more,
})

test('a transaction that two members signed is spent once, and what one pays oneself is not spent', () => {
  const payments = new model.payments.Payments()
  payments.add(1, [
    signing(1),
    signing(2, { transactionId: 'T1' }),
    signing(3, { receiver: 'S' }),
    signing(4, { assetId: '31566704', amount: '18446744073709551615' }),
    signing(5, { amount: '0' }),
  ])
  payments.see([{ transactionId: 'T1', state: 'confirmed', round: 9 }])
  const [algos, dollars] = payments.spending()
  assert.deepEqual(algos?.spends, [{ atMs: 1000, amount: 5n, isSettled: true }])
  assert.deepEqual(dollars?.spends, [{ atMs: 4000, amount: 2n ** 64n - 1n, isSettled: false }])
  payments.add(1, [signing(5), signing(6)])
  assert.equal(payments.lastNumber, 6)
  // Another start of the daemon counts from one again.
  payments.add(2, [signing(1)])
  assert.equal(payments.lastNumber, 1)
})

test('all that is not settled is asked for in turn, the old ones seldom', () => {
  const payments = new model.payments.Payments()
  payments.add(
    1,
    Array.from({ length: 5 }, (_, index) => signing(index + 1)),
  )
  const asked = new Set<string>()
  for (let turn = 0; turn < 3; turn++) for (const id of payments.due(10_000 + turn, 2)) asked.add(id)
  assert.equal(asked.size, 5)
  payments.see([{ transactionId: 'T3', state: 'confirmed', round: 1 }])
  assert.equal(payments.due(11_000, 50).includes('T3'), false)
  const later = 3_600_000
  assert.equal(payments.due(later, 50).length, 4)
  assert.equal(payments.due(later + 2_000, 50).length, 0)
  assert.equal(payments.due(later + 61_000, 50).length, 4)
})
