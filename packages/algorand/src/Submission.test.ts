import assert from 'node:assert/strict'
import { test } from 'node:test'
import algosdk from 'algosdk'
import * as Address from './Address.js'
import * as Ed25519 from './Ed25519.js'
import { Writer } from './Msgpack.js'
import * as Multisig from './Multisig.js'
import * as SignedTransaction from './SignedTransaction.js'
import * as Submission from './Submission.js'
import * as Transaction from './Transaction.js'

const [a, b, c] = [1, 2, 3].map((fill) => Ed25519.keyPairFromSeed(new Uint8Array(32).fill(fill))) as [
  Ed25519.KeyPair,
  Ed25519.KeyPair,
  Ed25519.KeyPair,
]
const [addressA, addressB, addressC] = [a, b, c].map(({ publicKey }) => Address.encode(publicKey)) as [
  string,
  string,
  string,
]
const gh = new Uint8Array(32).fill(7)
const header = { snd: a.publicKey, fee: 1000n, fv: 1n, lv: 1001n, gen: 'dockernet-v1', gh }
const payment = { ...header, type: 'pay', rcv: b.publicKey, amt: 1_000_000n, note: new Uint8Array(Buffer.from('hi')) }
const sig = new Uint8Array(64).fill(9)

const suggestedParams = {
  fee: 1000,
  minFee: 1000,
  flatFee: true,
  firstValid: 1,
  lastValid: 1001,
  genesisID: 'dockernet-v1',
  genesisHash: gh,
}
const common = { sender: addressA, suggestedParams }
const multisig = { version: 1, threshold: 2, publicKeys: [a.publicKey, b.publicKey, c.publicKey] }
const theirMultisig = { version: 1, threshold: 2, addrs: [addressA, addressB, addressC] }

function theirTransactions(): Record<string, algosdk.Transaction> {
  return {
    pay: algosdk.makePaymentTxnWithSuggestedParamsFromObject({
      ...common,
      receiver: addressB,
      amount: 1_000_000,
      note: payment.note,
    }),
    'pay and close': algosdk.makePaymentTxnWithSuggestedParamsFromObject({
      ...common,
      receiver: addressB,
      amount: 0,
      closeRemainderTo: addressC,
      rekeyTo: addressC,
      lease: new Uint8Array(32).fill(5),
    }),
    axfer: algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
      ...common,
      receiver: addressB,
      amount: 5,
      assetIndex: 1001,
      assetSender: addressC,
    }),
    'acfg that creates': algosdk.makeAssetCreateTxnWithSuggestedParamsFromObject({
      ...common,
      total: 10n ** 12n,
      decimals: 6,
      unitName: 'USDC',
      assetName: 'USD Coin',
      assetURL: 'https://circle.com/usdc/',
      manager: addressA,
      reserve: addressA,
      freeze: addressA,
      clawback: addressA,
    }),
    'acfg that destroys': algosdk.makeAssetDestroyTxnWithSuggestedParamsFromObject({ ...common, assetIndex: 1001 }),
    afrz: algosdk.makeAssetFreezeTxnWithSuggestedParamsFromObject({
      ...common,
      assetIndex: 1001,
      freezeTarget: addressB,
      frozen: true,
    }),
    'keyreg online': algosdk.makeKeyRegistrationTxnWithSuggestedParamsFromObject({
      ...common,
      voteKey: new Uint8Array(32).fill(1),
      selectionKey: new Uint8Array(32).fill(2),
      stateProofKey: new Uint8Array(64).fill(3),
      voteFirst: 1,
      voteLast: 1_000_000,
      voteKeyDilution: 1000,
    }),
    'keyreg offline': algosdk.makeKeyRegistrationTxnWithSuggestedParamsFromObject({ ...common }),
  }
}

test('transactions signed by algosdk are read, and written the same, for every type', () => {
  for (const [name, transaction] of Object.entries(theirTransactions())) {
    for (const key of [a, c]) {
      const bytes = transaction.signTxn(key.secretKey)
      const { signed, end } = Submission.decodeFirst(bytes)
      assert.equal(end, bytes.length, name)
      assert.deepEqual(Buffer.from(Submission.encode(signed)), Buffer.from(bytes), name)
      assert.deepEqual(signed.sgnr, key === a ? undefined : c.publicKey, name)
      assert.equal(Transaction.id(Submission.transactionBytes(signed.txn)), transaction.txID(), name)
      assert.deepEqual(signed, SignedTransaction.decode(bytes), name)
    }
  }
})

test('the JSON form matches algosdk', () => {
  for (const [name, transaction] of Object.entries(theirTransactions())) {
    const bytes = transaction.signTxn(c.secretKey)
    const theirs: unknown = JSON.parse(algosdk.encodeJSON(algosdk.decodeSignedTransaction(bytes)))
    const ours = Submission.toJson(Submission.decodeFirst(bytes).signed)
    assert.deepEqual(plain(ours), theirs, name)
    assert.deepEqual(Buffer.from(Submission.encode(Submission.fromJson(theirs))), Buffer.from(bytes), name)
  }
})

test('a multisig transaction of algosdk is read, and so is its JSON form', () => {
  assert.equal(Address.encode(Multisig.address(multisig)), 'MN72UOZMBF2UWDIWE3YK4IFLD3OSIWNB63WQAJFBZEKJL3GI5TAH2T6D7A')
  const transaction = algosdk.makePaymentTxnWithSuggestedParamsFromObject({
    ...common,
    sender: algosdk.multisigAddress(theirMultisig),
    receiver: addressB,
    amount: 1,
  })
  const partial = algosdk.signMultisigTransaction(transaction, theirMultisig, a.secretKey).blob
  const bytes = algosdk.appendSignMultisigTransaction(partial, theirMultisig, c.secretKey).blob
  const { signed } = Submission.decodeFirst(bytes)
  assert.deepEqual(Buffer.from(Submission.encode(signed)), Buffer.from(bytes))
  const message = Transaction.bytesToSign(Submission.transactionBytes(signed.txn))
  assert.equal(Multisig.verify(signed.msig!, message), true)
  assert.deepEqual(Submission.fromJson(Submission.toJson(signed)), signed)
})

test('a payment has the published signature', () => {
  const [theirs] = Object.values(theirTransactions())
  const bytes = theirs!.signTxn(a.secretKey)
  assert.equal(bytes.length, 250)
  const { signed } = Submission.decodeFirst(bytes)
  assert.deepEqual(signed.txn, payment)
  assert.equal(Submission.transactionBytes(signed.txn).length, 175)
  assert.match(Buffer.from(signed.sig!).toString('hex'), /^671631202aec18df.*44df570a$/)
})

test('the members of a group are read one after another', () => {
  const pair = [
    algosdk.makePaymentTxnWithSuggestedParamsFromObject({
      sender: addressB,
      receiver: addressB,
      amount: 0,
      suggestedParams: { ...suggestedParams, fee: 2000 },
    }),
    algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
      sender: addressA,
      receiver: addressC,
      amount: 1000,
      assetIndex: 1001,
      suggestedParams: { ...suggestedParams, fee: 0 },
    }),
  ]
  assert.deepEqual(
    pair.map((transaction) => transaction.txID()),
    ['LRFLTCYRQMFX5DW7MBGW25HBD7ZZ7DA55PCMBTDNYD2UFLJV5Y7A', 'VFLNP6VU7KTSUTLH4TH7354JLYKP5SKBWIKYUFLIXQ3ZK2VLWSLQ'],
  )
  algosdk.assignGroupID(pair)
  const parts = [pair[0]!.signTxn(b.secretKey), pair[1]!.signTxn(a.secretKey)]
  const all = Submission.decodeAll(Buffer.concat(parts), 16)
  assert.deepEqual(
    all.map(({ signed }) => Transaction.id(signed.txn)),
    ['KJ6WUHFUQR4BBEWS636JWCHTFNQ2OWD6ESKPT2IFNPKVTXDA5J3Q', 'BJKQPF22UYIAE6OJUFGGC5SACKRWD36PZYMK3KOKJ5R4CDUSZG3A'],
  )
  assert.deepEqual(Submission.decodeFirst(Buffer.concat(parts), parts[0]!.length).signed, all[1]!.signed)
  assert.deepEqual(
    all.map(({ bytes }) => Buffer.from(bytes)),
    parts.map((part) => Buffer.from(part)),
  )
  assert.deepEqual(
    all.map(({ id }) => id),
    pair.map((transaction) => transaction.txID()),
  )
})

test('stops reading one transaction above the limit', () => {
  const one = Submission.encode({ txn: payment, sig })
  const many = Buffer.concat([...new Array(20).fill(one), Buffer.of(0xc1)])
  assert.equal(Submission.decodeAll(new Uint8Array(), 16).length, 0)
  assert.equal(Submission.decodeAll(many.subarray(0, one.length * 16), 16).length, 16)
  assert.equal(Submission.decodeAll(many, 16).length, 17)
  assert.throws(() => Submission.decodeAll(many, 20), Submission.DecodeError)
})

test('a transaction without type or sender is read, and has an id', () => {
  const nothing = { type: '', snd: new Uint8Array(32) }
  for (const bytes of [
    Uint8Array.of(0x80),
    Uint8Array.of(0xc0),
    Buffer.from([0x81, 0xa3, ...Buffer.from('txn'), 0x80]),
  ]) {
    const { signed } = Submission.decodeFirst(bytes)
    assert.deepEqual(signed, { txn: nothing })
    assert.deepEqual([...Submission.encode(signed)], [0x80])
    assert.deepEqual([...Submission.transactionBytes(signed.txn)], [0x80])
  }
  assert.deepEqual(Submission.fromJson({}), { txn: nothing })
  assert.deepEqual(Submission.toJson({ txn: nothing }), {})

  const writer = new Writer().mapHeader(1).str('txn').mapHeader(1).str('fee').uint(7)
  assert.deepEqual(Submission.decodeFirst(writer.bytes()).signed, { txn: { ...nothing, fee: 7n } })
})

test('reads texts and notes longer than the ledger accepts, up to a limit', () => {
  const bounds = { un: 1024, an: 1024, au: 1024 }
  for (const [name, max] of Object.entries(bounds)) {
    const txn = { ...header, type: 'acfg', apar: { [name]: 'x'.repeat(max) } }
    assert.deepEqual(Submission.decodeFirst(Submission.encode({ txn })).signed, { txn })
    assert.deepEqual(Submission.fromJson(Submission.toJson({ txn })), { txn })
    assert.throws(() => Transaction.encode(txn), Transaction.EncodeError)
    const longer = { txn: { ...txn, apar: { [name]: 'x'.repeat(max + 1) } } }
    assert.throws(() => Submission.encode(longer), Submission.EncodeError)
    assert.throws(() => Submission.fromJson(Submission.toJson(longer)), { message: `txn.apar.${name}: text too long` })
  }
  const txn = { ...payment, note: new Uint8Array(65_536).fill(1) }
  assert.deepEqual(Submission.decodeFirst(Submission.encode({ txn })).signed, { txn })
  assert.deepEqual(Submission.fromJson(Submission.toJson({ txn })), { txn })
  const longer = Submission.toJson({ txn: { ...payment, note: new Uint8Array(65_537) } })
  assert.throws(() => Submission.fromJson(longer), { message: 'txn.note: byte string too long' })
})

test('a multisig without members is read', () => {
  const writer = new Writer().mapHeader(1).str('msig').mapHeader(1).str('v').uint(1)
  assert.deepEqual(Submission.decodeFirst(writer.bytes()).signed.msig, { v: 1, thr: 0, subsig: [] })
  const signed = Submission.fromJson({ msig: { thr: 2 }, lsig: { lmsig: { v: 1 } } })
  assert.deepEqual(signed.msig, { v: 0, thr: 2, subsig: [] })
  assert.deepEqual(Submission.decodeFirst(Submission.encode(signed)).signed, signed)
})

test('reads a post-quantum signature where a node accepts one, and nowhere else', () => {
  const pqsig = { sch: Uint8Array.of(0x66, 0x31), slt: 3, pk: new Uint8Array(1793).fill(1), sig: new Uint8Array(1423) }
  const theirs = new algosdk.SignedTransaction({ txn: theirTransactions()['pay']!, pqsig })
  const bytes = algosdk.encodeMsgpack(theirs)
  const { signed } = Submission.decodeFirst(bytes)
  assert.deepEqual(signed.pqsig, pqsig)
  assert.deepEqual(Buffer.from(Submission.encode(signed)), Buffer.from(bytes))
  assert.deepEqual(Submission.fromJson(Submission.toJson(signed)), signed)

  const delegated = Submission.encode({ txn: payment, lsig: { l: Uint8Array.of(1), pqsig } })
  assert.deepEqual(Submission.decodeFirst(delegated).signed.lsig?.pqsig, pqsig)
  assert.throws(() => SignedTransaction.decode(bytes), { message: 'unknown field "pqsig"' })
})

test('an error has the path of the member and the position of the reader', () => {
  const refusals: [string, number, (writer: Writer) => void][] = [
    ['unknown field "zz"', 4, (w) => w.mapHeader(1).str('zz').uint(1)],
    ['txn: unknown field "a\\nb"', 10, (w) => w.mapHeader(1).str('txn').mapHeader(1).str('a\nb').uint(1)],
    ['txn.amt: expected an integer', 11, (w) => w.mapHeader(1).str('txn').mapHeader(1).str('amt').str('5')],
    [
      'txn.apar.an: text too long',
      1043,
      (w) => {
        w.mapHeader(1).str('txn').mapHeader(1).str('apar').mapHeader(1).str('an').str('x'.repeat(1025))
      },
    ],
    ['sgnr: wrong number of bytes', 39, (w) => w.mapHeader(1).str('sgnr').bin(new Uint8Array(31))],
    ['expected a map', 1, (w) => w.uint(1)],
  ]
  for (const [message, position, write] of refusals) {
    const writer = new Writer()
    write(writer)
    assert.throws(() => Submission.decodeAll(writer.bytes(), 16), { name: 'DecodeError', message, position })
  }
  const second = Uint8Array.of(0x80, 0x01)
  assert.throws(() => Submission.decodeAll(second, 16), { message: 'expected a map', position: 2 })
  assert.throws(() => Submission.decodeFirst(second, 2), { message: 'input ends too early', position: 2 })
  const longName = new Writer().mapHeader(1).str('n'.repeat(5000)).uint(1)
  assert.throws(() => Submission.decodeAll(longName.bytes(), 16), { message: `unknown field "${'n'.repeat(32)}…"` })
})

test('every address in JSON is text', () => {
  const address = addressB
  const raw = b.publicKey
  const txn: Transaction.Transaction = {
    type: 'appl',
    ...{ snd: raw, rcv: raw, close: raw, rekey: raw, asnd: raw, arcv: raw, aclose: raw, fadd: raw },
    apar: { m: raw, r: raw, f: raw, c: raw, am: raw },
    apat: [raw, new Uint8Array(32)],
    al: [{ d: raw }, {}],
    hb: { a: raw, sd: raw },
    gh: raw,
  }
  const base64 = Buffer.from(raw).toString('base64')
  const zeroAddress = Address.encode(new Uint8Array(32))
  const signed = { sgnr: raw, txn }
  const json = Submission.toJson(signed)
  assert.deepEqual(json, {
    sgnr: address,
    txn: {
      type: 'appl',
      ...{ snd: address, rcv: address, close: address, rekey: address, asnd: address, arcv: address },
      ...{ aclose: address, fadd: address },
      apar: { m: address, r: address, f: address, c: address, am: base64 },
      apat: [address, zeroAddress],
      al: [{ d: address }, {}],
      hb: { a: address, sd: base64 },
      gh: base64,
    },
  })
  assert.deepEqual(Submission.fromJson(json), signed)
})

test('text of an asset that is not UTF-8 is shown with replacement characters', () => {
  const txn = { ...header, type: 'acfg', apar: { an: Uint8Array.of(0x41, 0xff, 0x42), un: 'ü' } }
  assert.deepEqual((Submission.toJson({ txn })['txn'] as Submission.JsonObject)['apar'], { an: 'A\ufffdB', un: 'ü' })
})

test('integers in JSON may be numbers or bigints, and null is absent', () => {
  const json = { sig: null, txn: { type: 'pay', snd: addressA, amt: 5, fee: 2n ** 64n - 1n, note: null, apat: [null] } }
  assert.deepEqual(Submission.fromJson(json), {
    txn: { type: 'pay', snd: a.publicKey, amt: 5n, fee: 2n ** 64n - 1n, apat: [new Uint8Array(32)] },
  })
})

test('rejects invalid JSON with the path of the member', () => {
  const txn = Submission.toJson({ txn: payment })['txn'] as Submission.JsonObject
  const wrong: [string, unknown][] = [
    ['expected an object', null],
    ['expected an object', []],
    ['expected an object', 'x'],
    ['unknown field "tx"', { tx: null }],
    ['unknown field "__proto__"', JSON.parse('{"__proto__":{}}')],
    ['txn: expected an object', { txn: [] }],
    ['txn: unknown field "amount"', { txn: { ...txn, amount: 1 } }],
    ['txn.amt: expected an integer', { txn: { ...txn, amt: '1' } }],
    ['txn.amt: expected an integer', { txn: { ...txn, amt: 1.5 } }],
    ['txn.amt: expected an integer', { txn: { ...txn, amt: 2 ** 53 } }],
    ['txn.amt: integer out of range', { txn: { ...txn, amt: -1 } }],
    ['txn.amt: integer out of range', { txn: { ...txn, amt: 2n ** 64n } }],
    ['txn.apar.dc: integer out of range', { txn: { apar: { dc: 2 ** 32 } } }],
    ['txn.apar.df: expected a boolean', { txn: { apar: { df: 1 } } }],
    ['txn.apar.an: expected text', { txn: { apar: { an: 1 } } }],
    ['txn.apar.an: text is not Unicode', { txn: { apar: { an: '\ud800' } } }],
    ['txn.type: text too long', { txn: { type: 'paypayp\u00e9' } }],
    ['txn.type: text too long', { txn: { type: 'paypay\u00e9' } }],
    ['txn.snd: expected an address', { txn: { snd: 1 } }],
    ['txn.snd: an address has 58 characters, not 0', { txn: { snd: '' } }],
    ['txn.snd: the checksum of the address does not match', { txn: { snd: `B${addressA.slice(1)}` } }],
    ['txn.note: expected bytes as base64 text', { txn: { note: [1] } }],
    ['txn.note: not base64', { txn: { note: 'aGk' } }],
    ['txn.note: not base64', { txn: { note: 'aGl=' } }],
    ['txn.note: not base64', { txn: { note: 'aG k' } }],
    ['txn.gh: wrong number of bytes', { txn: { gh: 'aGk=' } }],
    ['txn.apat: expected an array', { txn: { apat: {} } }],
    ['txn.apat: list too long', { txn: { apat: new Array(33).fill(addressA) } }],
    ['txn.apat.1: expected an address', { txn: { apat: [addressA, 5] } }],
    ['txn.apaa: list has too many bytes in total', { txn: { apaa: new Array(2).fill('AAAA'.repeat(4096)) } }],
    ['txn.sp.r: expected integers as names', { txn: { sp: { r: { '01': {} } } } }],
    ['txn.sp.r: integer out of range', { txn: { sp: { r: { '18446744073709551616': {} } } } }],
    ['txn.sp.r.5.p.w: expected an integer', { txn: { sp: { r: { '5': { p: { w: true } } } } } }],
  ]
  for (const [message, value] of wrong) {
    assert.throws(() => Submission.fromJson(value), { name: 'DecodeError', message })
  }
})

/** Converts to the result of `JSON.parse`. */
function plain(value: Submission.JsonValue): unknown {
  return JSON.parse(JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? Number(member) : member)))
}
