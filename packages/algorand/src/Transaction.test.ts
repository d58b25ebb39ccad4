import assert from 'node:assert/strict'
import { test } from 'node:test'
import algosdk from 'algosdk'
import * as Ed25519 from './Ed25519.js'
import { Writer } from './Msgpack.js'
import * as Transaction from './Transaction.js'

const alice = Ed25519.publicKey(new Uint8Array(32).fill(1))
const bob = Ed25519.publicKey(new Uint8Array(32).fill(2))
const header = { snd: alice, fee: 1000n, fv: 1n, lv: 1001n, gen: 'dockernet-v1', gh: new Uint8Array(32).fill(7) }
const minimal = { type: 'pay', snd: alice }

test('a payment has the published bytes and id', () => {
  const payment = { ...header, type: 'pay', rcv: bob, amt: 1_000_000n, note: new Uint8Array(Buffer.from('hi')) }
  const bytes = Transaction.encode(payment)
  assert.equal(
    hex(bytes),
    '8aa3616d74ce000f4240a3666565cd03e8a2667601a367656eac646f636b65726e65742d7631a26768c4200707070707070707070707070707070707070707070707070707070707070707a26c76cd03e9a46e6f7465c4026869a3726376c4208139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394a3736e64c4208a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5ca474797065a3706179',
  )
  assert.equal(Transaction.id(payment), 'X6U6I34YBAZIXHNB67SU4MILBDQ7RNBP2W75YWIW4QN7MJMGRN7A')
  assert.deepEqual(Transaction.decode(bytes), payment)
  assert.equal(Buffer.from(Transaction.bytesToSign(bytes)).subarray(0, 2).toString(), 'TX')
})

test('other types have the published ids', () => {
  const usdc = { t: 10n ** 12n, dc: 6, un: 'USDC', an: 'USD Coin', m: alice, r: alice, f: alice, c: alice }
  assert.equal(Transaction.encode({ ...header, type: 'acfg', apar: usdc }).length, 305)
  const ids = {
    VOIWGMIXUSPGRGDZG3VVPIGNPMNRFXYKIG726OE3MHKSCVABZI5Q: { ...header, type: 'axfer', xaid: 1001n, arcv: alice },
    TRJWYPAL6M7Z4QSCZVXFBB74GD6DA6ZDWAGA6FGDTOTWKU3QZKOA: { ...header, type: 'acfg', apar: usdc },
    NIKX3YFLZSDRGQ2LKTNLCSUDQEEAYHMUBEKGM7G3CTB7REM2SXYA: { ...header, type: 'acfg', caid: 1001n },
    '75IOKSK42TCVP3HUBK6WMFRQH656226DRXAOYQ7C6RDQO35KTTYA': { ...header, type: 'keyreg' },
  }
  for (const [id, transaction] of Object.entries(ids)) assert.equal(Transaction.id(transaction), id)
})

test('an application call with an access list, as algosdk writes it, is canonical', () => {
  const address = algosdk.encodeAddress(bob)
  const theirs = algosdk.makeApplicationCallTxnFromObject({
    sender: algosdk.encodeAddress(alice),
    appIndex: 77,
    onComplete: algosdk.OnApplicationComplete.NoOpOC,
    access: [
      { address },
      { appIndex: 5 },
      { assetIndex: 6 },
      { holding: { address, assetIndex: 6 } },
      { locals: { address, appIndex: 5 } },
      { box: { appIndex: 5, name: Uint8Array.of(1, 2) } },
      { box: { appIndex: 77, name: new Uint8Array() } },
    ],
    suggestedParams: { fee: 1000, minFee: 1000, flatFee: true, firstValid: 1, lastValid: 2, genesisHash: header.gh },
  })
  const bytes = algosdk.encodeUnsignedTransaction(theirs)
  const decoded = Transaction.decode(bytes)
  assert.deepEqual(decoded.al?.[3], { h: { d: 1n, s: 3n } })
  assert.deepEqual(Transaction.encode(decoded), bytes)
  assert.equal(Transaction.canonicalize(bytes).bytes, bytes)
  assert.equal(Transaction.id(bytes), theirs.txID())
})

const spellings: [string, (writer: Writer) => void][] = [
  ['keys in any order', (w) => w.mapHeader(2).str('type').str('pay').str('snd').bin(alice)],
  ['text for bytes', (w) => w.mapHeader(2).str('snd').strBytes(alice).str('type').str('pay')],
  [
    'bytes for text, also in keys',
    (w) => w.mapHeader(2).bin(Buffer.from('snd')).bin(alice).str('type').bin(Buffer.from('pay')),
  ],
  ['an address as an array of integers', (w) => intArray(w.mapHeader(2).str('snd'), alice).str('type').str('pay')],
  [
    'a wide map header',
    (w) =>
      w
        .raw(Uint8Array.of(0xdf, 0, 0, 0, 2))
        .str('snd')
        .bin(alice)
        .str('type')
        .str('pay'),
  ],
  [
    'nil, zero and empty members',
    (w) =>
      map(w, 7)
        .str('amt')
        .uint(0)
        .str('apar')
        .mapHeader(0)
        .str('apat')
        .arrayHeader(0)
        .str('note')
        .nil()
        .str('nonpart')
        .bool(false)
        .str('type')
        .str('pay'),
  ],
  ['a zero address', (w) => map(w, 3).str('rcv').bin(new Uint8Array(32)).str('type').str('pay')],
  ['an empty address', (w) => map(w, 3).str('rcv').bin(new Uint8Array()).str('type').str('pay')],
  ['no bytes, as an array', (w) => map(w, 3).str('note').arrayHeader(0).str('type').str('pay')],
  ['an absent heartbeat', (w) => map(w, 3).str('hb').nil().str('type').str('pay')],
  ['an array of values', (w) => w.arrayHeader(2).str('pay').bin(alice)],
  ['bytes after the end', (w) => map(w, 2).str('type').str('pay').raw(Uint8Array.of(0xc1, 0xff))],
]

for (const [name, spell] of spellings) {
  test(`normalised: ${name}`, () => {
    const writer = new Writer()
    spell(writer)
    const { bytes, sender } = Transaction.canonicalize(writer.bytes())
    assert.deepEqual(bytes, Transaction.encode(minimal))
    assert.deepEqual(sender, alice)
    assert.deepEqual(Transaction.decode(writer.bytes()), minimal)
  })
}

const refusals: [string, (writer: Writer) => void][] = [
  ['nothing', () => {}],
  ['nil', (w) => w.nil()],
  ['a number', (w) => w.uint(1)],
  ['an empty map', (w) => w.mapHeader(0)],
  ['an empty array', (w) => w.arrayHeader(0)],
  ['no type', (w) => map(w, 1)],
  ['a blank type', (w) => map(w, 2).str('type').str('')],
  ['a type of eight characters', (w) => map(w, 2).str('type').str('12345678')],
  ['a type that is not UTF-8', (w) => map(w, 2).str('type').strBytes(Uint8Array.of(0xff))],
  ['no sender', (w) => w.mapHeader(1).str('type').str('pay')],
  ['a zero sender', (w) => w.mapHeader(2).str('snd').bin(new Uint8Array(32)).str('type').str('pay')],
  ['a short sender of zeros', (w) => w.mapHeader(2).str('snd').bin(new Uint8Array(31)).str('type').str('pay')],
  ['a long sender', (w) => w.mapHeader(2).str('snd').bin(new Uint8Array(33).fill(1)).str('type').str('pay')],
  ['a short receiver', (w) => payWith(w, 'rcv').bin(new Uint8Array(31).fill(1))],
  ['a long receiver', (w) => payWith(w, 'rcv').bin(new Uint8Array(33).fill(1))],
  ['a receiver of integers beyond a byte', (w) => payWith(w, 'rcv').arrayHeader(32).raw(new Uint8Array(31)).uint(256)],
  // The Go daemon signs the nil, but empty bytes would be a different transaction.
  ['a nil argument', (w) => payWith(w, 'apaa').arrayHeader(2).bin(bob).nil()],
  ['an unknown field', (w) => payWith(w, 'zzz').uint(1)],
  // The Go daemon takes the last of two values, but merges two maps or lists. No encoder writes a key twice.
  ['a key twice', (w) => map(w, 3).str('type').str('axfer').str('type').str('pay')],
  ['a key twice, with the same value', (w) => map(w, 3).str('type').str('pay').str('type').str('pay')],
  [
    'a key twice, in text and in bytes',
    (w) => map(w, 4).str('amt').uint(5).bin(Buffer.from('amt')).uint(5).str('type').str('pay'),
  ],
  ['a key twice, apart', (w) => map(w, 4).str('amt').uint(5).str('type').str('pay').str('amt').uint(5)],
  ['a key twice, first zero', (w) => map(w, 4).str('amt').uint(0).str('amt').uint(5).str('type').str('pay')],
  ['a key twice, first nil', (w) => map(w, 4).str('amt').nil().str('amt').uint(5).str('type').str('pay')],
  ['a key twice in a map', (w) => payWith(w, 'apar').mapHeader(2).str('t').uint(1).str('t').uint(2)],
  [
    'a map twice, each with another key',
    (w) =>
      map(w, 4)
        .str('apar')
        .mapHeader(1)
        .str('t')
        .uint(1)
        .str('apar')
        .mapHeader(1)
        .str('dc')
        .uint(2)
        .str('type')
        .str('pay'),
  ],
  [
    'a key twice in a map of a list',
    (w) => payWith(w, 'apbx').arrayHeader(1).mapHeader(2).str('i').uint(1).str('i').uint(1),
  ],
  [
    'a reveal twice in a state proof',
    (w) => payWith(w, 'sp').mapHeader(1).str('r').mapHeader(2).uint(1).mapHeader(0).uint(1).mapHeader(0),
  ],
  [
    'a reveal twice in a state proof, once as nil',
    (w) => payWith(w, 'sp').mapHeader(1).str('r').mapHeader(2).nil().mapHeader(0).uint(0).mapHeader(0),
  ],
  ['an unknown field inside another', (w) => payWith(w, 'apar').mapHeader(1).str('zz').uint(1)],
  ['a field name that objects inherit', (w) => payWith(w, '__proto__').uint(1)],
  ['a key that is not text', (w) => map(w, 3).str('type').str('pay').uint(1).uint(1)],
  ['a signed transaction', (w) => w.mapHeader(1).str('txn').raw(Transaction.encode(minimal))],
  ['a negative integer', (w) => payWith(w, 'fee').raw(Uint8Array.of(0xff))],
  ['a float', (w) => payWith(w, 'fee').raw(Uint8Array.of(0xca, 0x40, 0xa0, 0, 0))],
  ['a boolean for an integer', (w) => payWith(w, 'amt').bool(true)],
  ['an integer for a boolean', (w) => payWith(w, 'nonpart').uint(1)],
  ['text for an integer', (w) => payWith(w, 'fee').str('1')],
  ['a list for a struct', (w) => payWith(w, 'apar').arrayHeader(1).uint(1)],
  [
    'decimals beyond 32 bits',
    (w) =>
      payWith(w, 'apar')
        .mapHeader(1)
        .str('dc')
        .uint(2n ** 32n),
  ],
  ['a note beyond 4096 bytes', (w) => payWith(w, 'note').bin(new Uint8Array(4097))],
  ['a genesis id beyond 128 bytes', (w) => payWith(w, 'gen').str('g'.repeat(129))],
  ['a list beyond its bound', (w) => payWith(w, 'apas').arrayHeader(33).raw(new Uint8Array(33))],
  [
    'arguments beyond their total',
    (w) => payWith(w, 'apaa').arrayHeader(2).bin(new Uint8Array(16_384)).bin(new Uint8Array(1)),
  ],
  [
    'an array longer than its stable part',
    (w) => w.arrayHeader(32).str('pay').bin(alice).raw(new Uint8Array(30).fill(0xc0)),
  ],
]

for (const [name, spell] of refusals) {
  test(`refused: ${name}`, () => {
    const writer = new Writer()
    spell(writer)
    assert.throws(() => Transaction.decode(writer.bytes()), Transaction.DecodeError)
    assert.throws(() => Transaction.canonicalize(writer.bytes()), Transaction.DecodeError)
  })
}

test('every truncation is rejected', () => {
  const bytes = Transaction.encode({ ...header, type: 'appl', apbx: [{}, { i: 1n }], apfa: [5n], hb: {} })
  for (let length = 0; length < bytes.length; length++) {
    assert.throws(() => Transaction.canonicalize(bytes.slice(0, length)), Transaction.DecodeError)
  }
})

test('bounds are inclusive', () => {
  const large: Transaction.Transaction = {
    ...header,
    type: '1234567',
    note: new Uint8Array(4096),
    gen: 'g'.repeat(128),
    amt: 2n ** 64n - 1n,
    apaa: [new Uint8Array(16_384)],
    apas: new Array(32).fill(0n),
    apar: { dc: 2 ** 32 - 1, un: '8'.repeat(8), an: 'n'.repeat(32), au: 'u'.repeat(96) },
  }
  const bytes = Transaction.encode(large)
  assert.equal(Transaction.canonicalize(bytes).bytes, bytes)
  assert.deepEqual(Transaction.decode(bytes), large)
})

test('a short sender is filled with zeros', () => {
  const writer = new Writer().mapHeader(2).str('snd').bin(alice.slice(0, 31)).str('type').str('pay')
  assert.deepEqual(Transaction.canonicalize(writer.bytes()).sender, Uint8Array.of(...alice.slice(0, 31), 0))
})

test('list elements and a heartbeat stay even when empty', () => {
  const transaction = {
    ...minimal,
    apaa: [new Uint8Array()],
    apat: [new Uint8Array(32)],
    apfa: [0n],
    apbx: [{}],
    hb: {},
  }
  const bytes = Transaction.encode(transaction)
  assert.ok(
    hex(bytes).startsWith(`87a46170616191c400a46170617491c420${'00'.repeat(32)}a4617062789180a4617066619100a2686280`),
  )
  assert.deepEqual(Transaction.decode(bytes), transaction)
})

test('asset texts that are not UTF-8 survive as bytes', () => {
  const transaction = { ...minimal, apar: { an: Uint8Array.of(0xff, 0xfe) } }
  const bytes = Transaction.encode(transaction)
  assert.deepEqual(Transaction.decode(bytes), transaction)
  assert.equal(Transaction.canonicalize(bytes).bytes, bytes)
})

test('encoding rejects values that decoding would reject, and misspelled fields', () => {
  const wrong: Record<string, unknown>[] = [
    { type: 'pay' },
    { snd: alice },
    { ...minimal, type: '' },
    { ...minimal, snd: new Uint8Array(32) },
    { ...minimal, recv: bob },
    { ...minimal, amt: -1n },
    { ...minimal, amt: 2n ** 64n },
    { ...minimal, amt: '5' },
    { ...minimal, amt: null },
    { ...minimal, rcv: bob.slice(1) },
    { ...minimal, rcv: [...bob] },
    { ...minimal, note: '' },
    { ...minimal, note: new Uint8Array(4097) },
    { ...minimal, gen: 'g'.repeat(129) },
    { ...minimal, gen: Uint8Array.of(65) },
    { ...minimal, nonpart: 1 },
    { ...minimal, apar: { dc: 2 ** 32 } },
    { ...minimal, apar: { decimals: 0 } },
    { ...minimal, apas: new Array(33).fill(1n) },
    { ...minimal, apaa: [new Uint8Array(16_384), Uint8Array.of(1)] },
    { ...minimal, sp: { r: new Map([[1, {}]]) } },
  ]
  for (const transaction of wrong) {
    assert.throws(() => Transaction.encode(transaction as Transaction.Transaction), Transaction.EncodeError)
  }
})

function map(writer: Writer, entries: number): Writer {
  return writer.mapHeader(entries).str('snd').bin(alice)
}

function payWith(writer: Writer, name: string): Writer {
  return map(writer, 3).str('type').str('pay').str(name)
}

function intArray(writer: Writer, bytes: Uint8Array): Writer {
  writer.arrayHeader(bytes.length)
  for (const byte of bytes) writer.uint(byte)
  return writer
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
