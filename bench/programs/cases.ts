/** Programs that spend a whole budget on one instruction, with the arguments that take longest. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { Ed25519 } from '@latchkey/algorand'

export type Case = {
  readonly name: string
  /** Whether logic signatures can have it: they have the larger budget. */
  readonly mode: 'signature' | 'application'
  /** Runs once, before the loop. */
  readonly setup: string
  /** Runs until the budget is spent. Leaves the stack as it was. */
  readonly body: string
  /** How often the body is repeated between two branches. @default 1 */
  readonly repeat?: number
  /** The cost that must be left for another run. */
  readonly reserve: number
}

/** Instructions of a low cost are repeated, so that the loop around them does not count. */
const cheap = { repeat: 100, reserve: 2_000 } as const

const hex = (bytes: Uint8Array): string => `byte 0x${Buffer.from(bytes).toString('hex')}`

/** 4,096 different bytes, and another string of which only the last one differs. */
const long = 'int 4096; bzero; b~; store 0; load 0; int 4095; int 0; setbyte; store 1'

const strings: readonly Case[] = [
  { name: 'pushint, pop', mode: 'signature', setup: '', body: 'int 1; pop', ...cheap },
  { name: '+, dup, pop', mode: 'signature', setup: 'int 1', body: 'dup; dup; +; pop', ...cheap },
  {
    name: 'concat to 4,096 bytes',
    mode: 'signature',
    setup: 'int 2048; bzero',
    body: 'dup; dup; concat; pop',
    ...cheap,
  },
  { name: 'setbyte of 4,096', mode: 'signature', setup: long, body: 'load 0; int 0; int 0; setbyte; pop', ...cheap },
  { name: 'setbit of 4,096', mode: 'signature', setup: long, body: 'load 0; int 0; int 0; setbit; pop', ...cheap },
  { name: 'replace3 of 4,096', mode: 'signature', setup: long, body: 'load 0; int 0; load 1; replace3; pop', ...cheap },
  { name: 'extract of 4,096', mode: 'signature', setup: long, body: 'load 0; extract 1 0; pop', ...cheap },
  { name: '== of 4,096', mode: 'signature', setup: long, body: 'load 0; load 1; ==; pop', ...cheap },
  {
    name: 'bitlen of 4,096 zeros',
    mode: 'signature',
    setup: 'int 4096; bzero; store 0',
    body: 'load 0; bitlen; pop',
    ...cheap,
  },
  { name: 'b| of 4,096', mode: 'signature', setup: long, body: 'load 0; load 1; b|; pop', ...cheap },
  { name: 'b~ of 4,096', mode: 'signature', setup: long, body: 'load 0; b~; pop', ...cheap },
  { name: 'bzero of 4,096', mode: 'signature', setup: '', body: 'int 4096; bzero; pop', ...cheap },
  { name: 'dupn 255, popn 255', mode: 'signature', setup: 'int 1', body: 'dupn 255; popn 255', ...cheap },
  { name: 'cover 255', mode: 'signature', setup: 'int 1; dupn 255', body: 'cover 255; uncover 255', ...cheap },
  {
    name: 'match of 4,096',
    mode: 'signature',
    setup: `${long}; b start; never: err; start:`,
    body: `load 1; load 0; load 1; ${new Array(31).fill('dup2').join('; ')}; pop; pop; load 0; int 4094; int 0; setbyte; match ${new Array(62).fill('never').join(' ')}; pop`,
    repeat: 10,
    reserve: 2_000,
  },
  {
    name: 'retsub with 250 results',
    mode: 'signature',
    setup: 'b start; many: proto 0 250; int 1; dupn 249; retsub; start:',
    body: 'callsub many; popn 250',
    ...cheap,
  },
  {
    name: 'substring3, ==',
    mode: 'signature',
    setup: long,
    body: 'load 0; int 0; int 4095; substring3; load 1; int 0; int 4095; substring3; ==; pop',
    ...cheap,
  },
  { name: 'txna Accounts', mode: 'signature', setup: '', body: 'txna Accounts 0; pop', ...cheap },
  { name: 'txn TxID', mode: 'signature', setup: '', body: 'txn TxID; pop', ...cheap },
]

const numbers: readonly Case[] = [
  { name: 'exp', mode: 'signature', setup: '', body: 'int 3; int 40; exp; pop', ...cheap },
  { name: 'sqrt', mode: 'signature', setup: '', body: 'int 18446744073709551615; sqrt; pop', ...cheap },
  { name: 'expw', mode: 'signature', setup: '', body: 'int 3; int 80; expw; pop; pop', ...cheap },
  {
    name: 'divmodw',
    mode: 'signature',
    setup: '',
    body: 'int 18446744073709551615; dup; int 1; dup; divmodw; popn 4',
    ...cheap,
    reserve: 3_000,
  },
  ...['b+', 'b*', 'b/', 'b%', 'b-', 'b<'].map(
    (name): Case => ({
      name: `${name} of 64 bytes`,
      mode: 'signature',
      setup: 'int 64; bzero; b~; store 0; int 33; bzero; b~; store 1',
      body: `load 0; load 1; ${name}; pop`,
      ...cheap,
      reserve: 3_000,
    }),
  ),
  {
    name: 'bsqrt of 64 bytes',
    mode: 'signature',
    setup: 'int 64; bzero; b~; store 0',
    body: 'load 0; bsqrt; pop',
    repeat: 20,
    reserve: 2_000,
  },
]

const hashes: readonly Case[] = [
  ...['sha256', 'sha512_256', 'sha512', 'keccak256', 'sha3_256'].map(
    (name): Case => ({
      name: `${name} of 4,096`,
      mode: 'signature',
      setup: long,
      body: `load 0; ${name}; pop`,
      repeat: 10,
      reserve: 3_000,
    }),
  ),
  ...['BN254Mp110', 'BLS12_381Mp111'].flatMap((field) => fieldHashes('mimc', field, 560, 70_410)),
  ...['BN254t2', 'BLS12_381t2'].flatMap((field) => fieldHashes('poseidon2', field, 360, 44_810)),
]

function fieldHashes(name: string, field: string, one: number, all: number): Case[] {
  return [
    {
      name: `${name} ${field} of 32`,
      mode: 'signature',
      setup: 'int 32; bzero; store 0',
      body: `load 0; ${name} ${field}; pop`,
      reserve: one + 100,
    },
    {
      name: `${name} ${field} of 4,096`,
      mode: 'signature',
      setup: 'int 4096; bzero; store 0',
      body: `load 0; ${name} ${field}; pop`,
      reserve: all + 100,
    },
  ]
}

const encodings: readonly Case[] = [
  {
    name: 'base64_decode of 4,096',
    mode: 'signature',
    setup:
      'byte "ABCDEFGH"; dup; concat; dup; concat; dup; concat; dup; concat; dup; concat; dup; concat; dup; concat; dup; concat; dup; concat; store 0',
    body: 'load 0; base64_decode StdEncoding; pop',
    repeat: 4,
    reserve: 2_000,
  },
  ...(
    [
      ['long text', `{"a":"${'x'.repeat(900)}"}`],
      ['many members', `{${Array.from({ length: 100 }, (_, index) => `"k${index}":1`).join(',')},"a":"x"}`],
      ['deep', `{"b":${'['.repeat(400)}${']'.repeat(400)},"a":"x"}`],
    ] as const
  ).map(
    ([name, text]): Case => ({
      name: `json_ref ${name}`,
      mode: 'signature',
      setup: `${hex(Buffer.from(text))}; store 0`,
      body: 'load 0; byte "a"; json_ref JSONString; pop',
      repeat: 2,
      reserve: 3_000,
    }),
  ),
]

const ed25519 = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(1))
const message = new Uint8Array(32).fill(2)

/** A signature of Falcon with coefficients of one: its bits are 0 0000001 1. It is decoded and multiplied, and invalid. */
function falconSignature(): Uint8Array {
  const bits = '000000011'.repeat(1024)
  const bytes = Uint8Array.from({ length: bits.length / 8 }, (_, index) =>
    Number.parseInt(bits.slice(8 * index, 8 * index + 8), 2),
  )
  return Uint8Array.of(0xba, 0, ...bytes)
}

/** Coefficients of 14 bits each: 0x1555 and 0x1555 are below the modulus. */
function falconKey(): Uint8Array {
  const bits = '01010101010101'.repeat(1024)
  const bytes = Uint8Array.from({ length: bits.length / 8 }, (_, index) =>
    Number.parseInt(bits.slice(8 * index, 8 * index + 8), 2),
  )
  return Uint8Array.of(0x0a, ...bytes)
}

type Ecdsa = { readonly r: Uint8Array; readonly s: Uint8Array; readonly x: Uint8Array; readonly y: Uint8Array }

function ecdsa(namedCurve: string): Ecdsa {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve }) as {
    privateKey: KeyObject
    publicKey: KeyObject
  }
  const signature = sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' })
  const { x, y } = publicKey.export({ format: 'jwk' }) as { x: string; y: string }
  const point = { x: Buffer.from(x, 'base64url'), y: Buffer.from(y, 'base64url') }
  return { r: signature.subarray(0, 32), s: signature.subarray(32), ...point }
}

function ecdsaCases(curve: string, namedCurve: string): Case[] {
  const { r, s, x, y } = ecdsa(namedCurve)
  const digest = createHash('sha256').update(message).digest()
  const setup = [digest, r, s, x, y].map((bytes, slot) => `${hex(bytes)}; store ${slot}`).join('; ')
  const compressed = Uint8Array.of(2 + (y.at(-1)! & 1), ...x)
  const cases: Case[] = [
    {
      name: `ecdsa_verify ${curve}`,
      mode: 'signature',
      setup,
      body: `load 0; load 1; load 2; load 3; load 4; ecdsa_verify ${curve}; pop`,
      reserve: 2_700,
    },
    {
      name: `ecdsa_pk_decompress ${curve}`,
      mode: 'signature',
      setup: `${hex(compressed)}; store 0`,
      body: `load 0; ecdsa_pk_decompress ${curve}; popn 2`,
      reserve: 2_600,
    },
  ]
  if (curve !== 'Secp256k1') return cases
  return [
    ...cases,
    {
      name: 'ecdsa_pk_recover',
      mode: 'signature',
      setup,
      body: `load 0; int 0; load 1; load 2; ecdsa_pk_recover ${curve}; popn 2`,
      reserve: 2_200,
    },
  ]
}

const signatures: readonly Case[] = [
  {
    name: 'ed25519verify_bare',
    mode: 'signature',
    setup: [message, Ed25519.sign(message, ed25519.secretKey), ed25519.publicKey]
      .map((bytes, slot) => `${hex(bytes)}; store ${slot}`)
      .join('; '),
    body: 'load 0; load 1; load 2; ed25519verify_bare; pop',
    reserve: 2_100,
  },
  {
    name: 'vrf_verify',
    mode: 'signature',
    setup: `${hex(message)}; store 0; ${hex(Uint8Array.of(...ed25519.publicKey, ...new Uint8Array(47).fill(0xf1), 0x01))}; store 1; ${hex(ed25519.publicKey)}; store 2`,
    body: 'load 0; load 1; load 2; vrf_verify VrfAlgorand; popn 2',
    reserve: 6_000,
  },
  {
    name: 'falcon_verify',
    mode: 'signature',
    setup: [message, falconSignature(), falconKey()].map((bytes, slot) => `${hex(bytes)}; store ${slot}`).join('; '),
    body: 'load 0; load 1; load 2; falcon_verify; pop',
    reserve: 1_900,
  },
  ...ecdsaCases('Secp256k1', 'secp256k1'),
  ...ecdsaCases('Secp256r1', 'prime256v1'),
]

type CurveGroup = {
  readonly name: string
  readonly pointBytes: number
  readonly element: string
  readonly costs: { readonly [name: string]: number }
  readonly perScalar: number
  readonly perPair: number
}

const curveGroups: readonly CurveGroup[] = [
  {
    name: 'BN254g1',
    pointBytes: 64,
    element: hex(new Uint8Array(32).fill(1)),
    costs: { add: 125, mul: 1810, check: 20, map: 630, multi: 3600, pairing: 8000 },
    perScalar: 90,
    perPair: 7400,
  },
  {
    name: 'BN254g2',
    pointBytes: 128,
    element: hex(new Uint8Array(64).fill(1)),
    costs: { add: 170, mul: 3430, check: 3100, map: 3300, multi: 7200, pairing: 8000 },
    perScalar: 270,
    perPair: 7400,
  },
  {
    name: 'BLS12_381g1',
    pointBytes: 96,
    element: hex(new Uint8Array(48).fill(1)),
    costs: { add: 205, mul: 2950, check: 1850, map: 1950, multi: 6500, pairing: 13_000 },
    perScalar: 95,
    perPair: 10_000,
  },
  {
    name: 'BLS12_381g2',
    pointBytes: 192,
    element: hex(new Uint8Array(96).fill(1)),
    costs: { add: 290, mul: 6530, check: 2340, map: 8150, multi: 14_850, pairing: 13_000 },
    perScalar: 485,
    perPair: 10_000,
  },
]

/** Repeats the string in a slot, by doubling. */
function repeated(slot: number, count: number): string {
  const lines = [`load ${slot}; store 50; byte 0x; store 51`]
  for (let bits = count; bits > 0; bits >>= 1) {
    if ((bits & 1) === 1) lines.push('load 51; load 50; concat; store 51')
    if (bits > 1) lines.push('load 50; dup; concat; store 50')
  }
  return `${lines.join('; ')}; load 51; store ${slot}`
}

function curveCases({ name, pointBytes, element, costs, perScalar }: CurveGroup): Case[] {
  const point = `${element}; ec_map_to ${name}; store 0`
  const scalar = `${hex(new Uint8Array(32).fill(0xee))}; store 1`
  const most = Math.min(Math.floor(4096 / pointBytes), 128)
  const counts = [1, most]
  return [
    {
      name: `ec_add ${name}`,
      mode: 'signature',
      setup: `${point}; load 0; dup; ec_add ${name}; store 1`,
      body: `load 0; load 1; ec_add ${name}; pop`,
      reserve: costs['add']! + 100,
    },
    {
      name: `ec_scalar_mul ${name}`,
      mode: 'signature',
      setup: `${point}; ${scalar}`,
      body: `load 0; load 1; ec_scalar_mul ${name}; pop`,
      reserve: costs['mul']! + 100,
    },
    {
      name: `ec_subgroup_check ${name}`,
      mode: 'signature',
      setup: point,
      body: `load 0; ec_subgroup_check ${name}; pop`,
      repeat: costs['check']! < 100 ? 20 : 1,
      reserve: costs['check']! + 600,
    },
    {
      name: `ec_map_to ${name}`,
      mode: 'signature',
      setup: `${element}; store 0`,
      body: `load 0; ec_map_to ${name}; pop`,
      reserve: costs['map']! + 100,
    },
    ...counts.map(
      (count): Case => ({
        name: `ec_multi_scalar_mul ${name}, ${count}`,
        mode: 'signature',
        setup: `${point}; ${scalar}; ${repeated(0, count)}; ${repeated(1, count)}`,
        body: `load 0; load 1; ec_multi_scalar_mul ${name}; pop`,
        reserve: costs['multi']! + perScalar * count + 100,
      }),
    ),
  ]
}

/** The cost counts the second list in points of the named group: with that of G2 named, two pairs cost as much as one. */
function pairingCases(curve: string): Case[] {
  const [g1, g2] = curveGroups.filter(({ name }) => name.startsWith(curve)) as [CurveGroup, CurveGroup]
  const most = Math.floor(4096 / g2.pointBytes)
  return [1, 2, most].map((count) => ({
    name: `ec_pairing_check ${curve}, ${count}`,
    mode: 'signature',
    setup: `${g1.element}; ec_map_to ${g1.name}; store 0; ${g2.element}; ec_map_to ${g2.name}; store 1; ${repeated(0, count)}; ${repeated(1, count)}`,
    body: `load 1; load 0; ec_pairing_check ${g2.name}; pop`,
    reserve: g2.costs['pairing']! + g2.perPair * Math.ceil(count / 2) + 100,
  }))
}

const applications: readonly Case[] = [
  {
    name: 'app_global_get of a long key',
    mode: 'application',
    setup: 'int 4096; bzero; store 0',
    body: 'load 0; app_global_get; pop',
    ...cheap,
  },
  {
    name: 'app_global_put',
    mode: 'application',
    setup: 'int 63; bzero; store 0; int 64; bzero; store 1; load 1; b~; store 2',
    body: 'load 0; load 1; app_global_put; load 0; load 2; app_global_put',
    ...cheap,
  },
  {
    name: 'box_replace of 32,768',
    mode: 'application',
    setup: 'byte "b"; store 0; load 0; int 32768; box_create; pop',
    body: 'load 0; int 0; load 0; box_replace',
    ...cheap,
  },
  {
    name: 'box_splice of 32,768',
    mode: 'application',
    setup: 'byte "b"; store 0; load 0; int 32768; box_create; pop',
    body: 'load 0; int 0; int 1; byte ""; box_splice',
    ...cheap,
  },
  {
    name: 'box_resize to 32,768',
    mode: 'application',
    setup: 'byte "b"; store 0; load 0; int 32768; box_create; pop',
    body: 'load 0; int 32768; box_resize',
    ...cheap,
  },
  {
    name: 'box_create, box_del',
    mode: 'application',
    setup: 'byte "b"; store 0',
    body: 'load 0; int 32768; box_create; pop; load 0; box_del; pop',
    ...cheap,
  },
  {
    name: 'box_extract of 4,096',
    mode: 'application',
    setup: 'byte "b"; store 0; load 0; int 32768; box_create; pop',
    body: 'load 0; int 0; int 4096; box_extract; pop',
    ...cheap,
  },
  {
    name: 'itxn_field Note of zeros',
    mode: 'application',
    setup: 'int 4096; bzero; store 0; itxn_begin',
    body: 'load 0; itxn_field Note',
    ...cheap,
  },
  {
    name: 'itxn_field ApprovalProgram',
    mode: 'application',
    setup: 'int 4096; bzero; store 0; itxn_begin',
    body: 'load 0; itxn_field ApprovalProgram',
    ...cheap,
  },
  {
    name: 'itxn_field Receiver',
    mode: 'application',
    setup: 'itxn_begin',
    body: 'txn Sender; itxn_field Receiver',
    ...cheap,
  },
  {
    name: 'itxn_field ConfigAssetTotal',
    mode: 'application',
    setup: 'itxn_begin; byte "n"; itxn_field ConfigAssetName',
    body: 'int 7; itxn_field ConfigAssetTotal',
    ...cheap,
  },
  {
    name: 'acct_params_get',
    mode: 'application',
    setup: '',
    body: 'txn Sender; acct_params_get AcctMinBalance; popn 2',
    ...cheap,
  },
  {
    name: 'app_params_get',
    mode: 'application',
    setup: '',
    body: 'global CurrentApplicationID; app_params_get AppAddress; popn 2',
    ...cheap,
  },
  { name: 'balance', mode: 'application', setup: '', body: 'int 0; balance; pop', ...cheap },
]

/** All cases. */
export const cases: readonly Case[] = [
  ...strings,
  ...numbers,
  ...hashes,
  ...encodings,
  ...signatures,
  ...curveGroups.flatMap(curveCases),
  ...['BN254', 'BLS12_381'].flatMap(pairingCases),
  ...applications,
]
