import fc from 'fast-check'
import { anyCharacter } from '../../../test/anyCharacter.mjs'
import type { Kind, Struct } from './internal/Schema.js'
import { transaction as schema } from './internal/TransactionSchema.js'
import type { Transaction } from './Transaction.js'
import '../../../test/seed.mjs'

/** The number of cases for each property. */
export const numRuns = Number(process.env['LATCHKEY_FUZZ'] ?? 2000)

/** For properties that need no second implementation and therefore take a fraction of the time. */
export const readerRuns = Number(process.env['LATCHKEY_FUZZ'] ?? 100_000)

export const key32 = fc.uint8Array({ minLength: 32, maxLength: 32 })

/** Sizes at which the encoding changes width are as likely as plain small numbers. */
export const uint64 = fc.oneof(
  fc.bigInt({ min: 0n, max: 130n }),
  fc.constantFrom(0xffn, 0x100n, 0xffffn, 0x10000n, 0xffffffffn, 0x100000000n, 2n ** 53n, 2n ** 64n - 1n),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
)

function ascii(maxLength: number): fc.Arbitrary<string> {
  return fc.string({ unit: 'binary-ascii', maxLength })
}

function fixedBytes(size: number): fc.Arbitrary<Uint8Array> {
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant(new Uint8Array(size)) },
    { weight: 6, arbitrary: fc.uint8Array({ minLength: size, maxLength: size }) },
  )
}

/** Any value that the schema allows, including zero values. */
export function anyValue(kind: Kind): fc.Arbitrary<unknown> {
  switch (kind.kind) {
    case 'uint':
      return kind.bits === 64
        ? uint64
        : fc.oneof(fc.nat({ max: 130 }), fc.nat({ max: 0xffff })).map((n) => n % (kind.max + 1))
    case 'bool':
      return fc.boolean()
    case 'fixed':
      return fixedBytes(kind.size)
    case 'bytes':
      return fc.oneof(fc.uint8Array({ maxLength: 8 }), fc.uint8Array({ maxLength: Math.min(kind.max, 300) }))
    case 'utf8':
      return fc.oneof(ascii(kind.max), fc.string({ unit: anyCharacter, maxLength: Math.floor(kind.max / 4) }))
    case 'text':
      return fc.oneof(ascii(kind.max), fc.constant(Uint8Array.of(0xff, 0x41)))
    case 'list':
      return fc.array(anyValue(kind.of), { maxLength: Math.min(kind.max, 18) })
    case 'uintMap':
      return fc
        .uniqueArray(fc.tuple(uint64, anyValue(kind.of)), { maxLength: 3, selector: ([key]) => key })
        .map((entries) => new Map(entries))
    case 'struct':
      return membersOf(kind)
  }
}

function membersOf(kind: Struct): fc.Arbitrary<Record<string, unknown>> {
  const members: Record<string, fc.Arbitrary<unknown>> = {}
  for (const field of kind.fields) if (field.presence !== 'required') members[field.name] = anyValue(field.of)
  return fc
    .subarray(Object.keys(members), { maxLength: Math.min(12, Object.keys(members).length) })
    .chain((names) =>
      fc.record(Object.fromEntries(names.map((name) => [name, members[name]!]))).map((values) => ({ ...values })),
    )
}

/** Any transaction that the codec supports, whether or not a ledger would accept it. */
export const anyTransaction: fc.Arbitrary<Transaction> = fc
  .tuple(membersOf(schema), ascii(7), key32)
  .map(([members, type, snd]) => ({
    ...members,
    type: type === '' ? 'pay' : type,
    snd: snd.every((byte) => byte === 0) ? snd.fill(1) : snd,
  }))

const header = {
  snd: key32.filter((key) => key.some((byte) => byte !== 0)),
  fee: uint64,
  fv: uint64,
  lv: uint64,
  gen: ascii(20),
  gh: key32,
}

const optionalHeader = { note: fc.uint8Array({ maxLength: 300 }), lx: key32, rekey: key32, grp: key32 }

function ofType<M extends Record<string, fc.Arbitrary<unknown>>>(type: string, members: M): fc.Arbitrary<Transaction> {
  return fc
    .tuple(fc.record(header), fc.record(optionalHeader, { requiredKeys: [] }), fc.record(members))
    .map(([head, optional, body]) => ({ type, ...head, ...optional, ...body }) as Transaction)
}

const proof = fc.record({
  pth: fc.array(fc.uint8Array({ minLength: 64, maxLength: 64 }), { maxLength: 17 }),
  hsh: fc.record({ t: fc.nat({ max: 2 }) }),
  td: fc.nat({ max: 20 }),
})

const reveal = fc.record({
  s: fc.record({
    s: fc.record({
      sig: fc.uint8Array({ maxLength: 400 }),
      idx: uint64,
      prf: proof,
      vkey: fc.record({ k: fc.nat({ max: 255 }).map((byte) => new Uint8Array(1793).fill(byte)) }),
    }),
    l: uint64,
  }),
  p: fc.record({ p: fc.record({ cmt: fixedBytes(64), lf: uint64 }), w: uint64 }),
})

/** Application calls whose boxes refer to the called application or to one of the foreign ones. */
const application = fc.uniqueArray(fc.bigInt({ min: 1001n, max: 2n ** 64n - 1n }), { maxLength: 20 }).chain((apfa) =>
  ofType('appl', {
    apid: fc.bigInt({ min: 0n, max: 1000n }),
    apan: fc.bigInt({ min: 0n, max: 5n }),
    apaa: fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 16 }),
    apat: fc.array(key32, { maxLength: 8 }),
    apfa: fc.constant(apfa),
    apas: fc.array(uint64, { maxLength: 8 }),
    apbx: fc.array(fc.record({ i: fc.nat({ max: apfa.length }).map(BigInt), n: fc.uint8Array({ maxLength: 64 }) }), {
      maxLength: 8,
    }),
    apls: fc.record({ nui: fc.bigInt({ min: 0n, max: 300n }), nbs: fc.bigInt({ min: 0n, max: 64n }) }),
    apgs: fc.record({ nui: fc.bigInt({ min: 0n, max: 64n }), nbs: fc.bigInt({ min: 0n, max: 64n }) }),
    apap: fc.uint8Array({ maxLength: 300 }),
    apsu: fc.uint8Array({ maxLength: 20 }),
    apep: fc.nat({ max: 3 }),
    aprv: fc.bigInt({ min: 0n, max: 3n }),
  }),
)

/** Transactions of every type that algosdk can read too. */
export const typedTransaction: fc.Arbitrary<Transaction> = fc.oneof(
  ofType('pay', { rcv: key32, amt: uint64, close: fixedBytes(32) }),
  ofType('axfer', { xaid: uint64, aamt: uint64, arcv: key32, asnd: fixedBytes(32), aclose: fixedBytes(32) }),
  ofType('afrz', { faid: uint64, fadd: key32, afrz: fc.boolean() }),
  ofType('keyreg', {
    votekey: key32,
    selkey: key32,
    sprfkey: fc.uint8Array({ minLength: 64, maxLength: 64 }),
    votefst: fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }),
    votelst: fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }),
    votekd: fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }),
  }),
  ofType('keyreg', { nonpart: fc.boolean() }),
  ofType('acfg', {
    caid: uint64,
    apar: fc.record({
      t: uint64,
      dc: fc.nat({ max: 19 }),
      df: fc.boolean(),
      un: ascii(8),
      an: fc.string({ unit: 'grapheme-ascii', maxLength: 32 }),
      au: fc.string({ unit: anyCharacter, maxLength: 24 }),
      am: fixedBytes(32),
      m: fixedBytes(32),
      r: fixedBytes(32),
      f: fixedBytes(32),
      c: fixedBytes(32),
    }),
  }),
  application,
  ofType('stpf', {
    sptype: fc.nat({ max: 1 }).map(BigInt),
    sp: fc.record({
      c: fixedBytes(64),
      w: uint64,
      S: proof,
      P: proof,
      v: fc.nat({ max: 1 }),
      r: fc
        .uniqueArray(fc.tuple(uint64, reveal), { maxLength: 3, selector: ([position]) => position })
        .map((entries) => new Map(entries)),
      pr: fc.array(uint64, { maxLength: 20 }),
    }),
    spmsg: fc.record({ b: key32, v: fixedBytes(64), P: uint64, f: uint64, l: uint64 }),
  }),
  ofType('hb', {
    hb: fc.record({
      a: key32,
      prf: fc.record({ s: fixedBytes(64), p: key32, p2: key32, p1s: fixedBytes(64), p2s: fixedBytes(64) }),
      sd: key32,
      vid: key32,
      kd: uint64,
      c: fc.boolean(),
    }),
  }),
)

/** A few bytes changed, removed, inserted or truncated. */
export function mutated(source: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    how: fc.nat({ max: 4 }),
    byte: interestingByte,
  })
  return fc.tuple(source, fc.array(edit, { minLength: 1, maxLength: 4 })).map(([bytes, edits]) => {
    let out = [...bytes]
    for (const { at, how, byte } of edits) {
      const position = Math.floor(at * out.length)
      if (how <= 1) out[position] = byte
      else if (how === 2) out.splice(position, 1)
      else if (how === 3) out.splice(position, 0, byte)
      else out = out.slice(0, position + 1)
    }
    return Uint8Array.from(out)
  })
}

/** Favors bytes that begin a value. */
const interestingByte = fc.oneof(
  fc.constantFrom(0x00, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x91, 0xa0, 0xa1, 0xa3, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6),
  fc.constantFrom(0xca, 0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd3, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xff),
  fc.nat({ max: 255 }),
)
