/** Arguments with which an instruction succeeds, for the instructions that fail for most values of the right type. */
import type { Random } from './Random.test.helper.js'

/** A line that pushes a value of a kind. */
export type Constant = { readonly line: string; readonly kind: string }

export const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`

const integer = (value: bigint | number): Constant => ({ line: `int ${value}`, kind: 'uint64' })
const byteString = (value: Uint8Array): Constant => ({ line: `byte ${hexOf(value)}`, kind: 'bytes' })

type Rule = (random: Random, immediates: readonly string[]) => Constant[]

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** A number that is not zero. */
const positive = (random: Random): Constant => integer(max(1n, random.uint64()))

/** A big integer that is not zero. */
function positiveBytes(random: Random, length: number): Uint8Array {
  const bytes = random.bytes(length)
  bytes[0]! |= 1
  return bytes
}

/** Bytes, and a position from which a number of them are left. */
function bytesAndPosition(random: Random, left: number): [Constant, Constant] {
  const length = left + random.below(60)
  return [byteString(random.bytes(length)), integer(random.between(0, length - left))]
}

/** Elements below the modulus of any field. */
function elements(random: Random, count: number): Uint8Array {
  const bytes = random.bytes(32 * count)
  for (let index = 0; index < count; index++) bytes[32 * index] = 0
  return bytes
}

const base = {
  Secp256k1: {
    x: '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
    y: '483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8',
  },
  Secp256r1: {
    x: '6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296',
    y: '4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5',
  },
} as const

const baseOf = ([curve]: readonly string[]): { x: Constant; y: Constant; compressed: Constant } => {
  const { x, y } = base[curve as keyof typeof base] ?? base.Secp256k1
  const compressed = `0x${curve === 'Secp256r1' ? '03' : '02'}${x}`
  const constant = (hex: string): Constant => ({ line: `byte ${hex}`, kind: 'bytes' })
  return { x: constant(`0x${x}`), y: constant(`0x${y}`), compressed: constant(compressed) }
}

/** The bytes of a coordinate of a group, with those of its imaginary part. */
const coordinateBytes: { readonly [group: string]: readonly number[] } = {
  BN254g1: [32],
  BN254g2: [32, 32],
  BLS12_381g1: [48],
  BLS12_381g2: [48, 48],
}

function coordinate(random: Random, [group]: readonly string[]): Constant {
  const parts = coordinateBytes[group!]!.map((length) => {
    const part = random.bytes(length)
    part[0] = 0
    return part
  })
  return byteString(Buffer.concat(parts))
}

/** A point of the group that an instruction names. */
function point(random: Random, immediates: readonly string[]): Constant {
  return { line: `${coordinate(random, immediates).line}; ec_map_to ${immediates[0]}`, kind: 'bytes' }
}

const numbers = (random: Random, bits: bigint): Constant[] =>
  [0, 1].map(() => integer(BigInt.asUintN(Number(bits), random.uint64())))

/** Boxes of the applications that the programs belong to, and their lengths. */
const boxes = [
  { name: { line: 'byte "b"', kind: 'bytes' }, length: 40 },
  { name: { line: 'byte "c"', kind: 'bytes' }, length: 8 },
] as const

function boxRange(random: Random): { name: Constant; start: Constant; length: number } {
  const { name, length } = random.pick(boxes)
  const start = random.below(length)
  return { name, start: integer(start), length: random.below(length - start + 1) }
}

export const fittingArguments: { readonly [instruction: string]: Rule } = {
  '+': (random) => numbers(random, 63n),
  '*': (random) => numbers(random, 32n),
  '-': (random) => {
    const [one, other] = [random.uint64(), random.uint64()]
    return [integer(max(one, other)), integer(one + other - max(one, other))]
  },
  '/': (random) => [integer(random.uint64()), positive(random)],
  '%': (random) => [integer(random.uint64()), positive(random)],
  '==': (random) => sameKind(random),
  '!=': (random) => sameKind(random),
  exp: (random) => [integer(random.below(10)), integer(random.between(1, 15))],
  expw: (random) => [integer(random.below(100)), integer(random.between(1, 15))],
  shl: (random) => [integer(random.uint64()), integer(random.below(64))],
  shr: (random) => [integer(random.uint64()), integer(random.below(64))],
  divw: (random) => [integer(random.below(9)), integer(random.uint64()), integer(random.between(10, 1000))],
  divmodw: (random) => [...[0, 1, 2].map(() => integer(random.uint64())), positive(random)],
  assert: (random) => [positive(random)],
  btoi: (random) => [byteString(random.bytes(random.below(9)))],
  getbit: (random) => bitOf(random),
  setbit: (random) => [...bitOf(random), integer(random.below(2))],
  getbyte: (random) => bytesAndPosition(random, 1),
  setbyte: (random) => [...bytesAndPosition(random, 1), integer(random.below(256))],
  extract: (random, [start, length]) => [byteString(random.bytes(Number(start) + Number(length) + random.below(9)))],
  extract3: (random) => {
    const length = random.below(20)
    return [...bytesAndPosition(random, length), integer(length)]
  },
  substring: (random, [, end]) => [byteString(random.bytes(Number(end) + random.below(9)))],
  substring3: (random) => {
    const length = random.below(60)
    const start = random.below(length + 1)
    return [byteString(random.bytes(length)), integer(start), integer(random.between(start, length))]
  },
  extract_uint16: (random) => bytesAndPosition(random, 2),
  extract_uint32: (random) => bytesAndPosition(random, 4),
  extract_uint64: (random) => bytesAndPosition(random, 8),
  replace2: (random, [start]) => {
    const replaced = random.bytes(random.below(9))
    return [byteString(random.bytes(Number(start) + replaced.length + random.below(9))), byteString(replaced)]
  },
  replace3: (random) => {
    const replaced = random.bytes(random.below(9))
    return [...bytesAndPosition(random, replaced.length), byteString(replaced)]
  },
  'b-': (random) => {
    const length = random.between(1, 64)
    return [byteString(positiveBytes(random, length)), byteString(random.bytes(random.below(length)))]
  },
  'b/': (random) => [
    byteString(random.bytes(random.below(65))),
    byteString(positiveBytes(random, random.between(1, 64))),
  ],
  'b%': (random) => [
    byteString(random.bytes(random.below(65))),
    byteString(positiveBytes(random, random.between(1, 64))),
  ],
  bzero: (random) => [integer(random.below(70))],
  base64_decode: (random, [encoding]) => {
    const text = Buffer.from(random.bytes(random.below(12))).toString(
      encoding === 'URLEncoding' ? 'base64url' : 'base64',
    )
    return [byteString(Buffer.from(text))]
  },
  json_ref: (_, [type]) => {
    const key = { JSONString: 'key', JSONUint64: 'a', JSONObject: 'b' }[type!]!
    return [
      byteString(Buffer.from('{"a": 18446744073709551615, "key": "te\\u0078t", "b": {"a": [2]}}')),
      byteString(Buffer.from(key)),
    ]
  },
  loads: (random) => [integer(random.below(256))],
  stores: (random) => [
    integer(random.below(256)),
    random.chance(0.5) ? integer(random.uint64()) : byteString(random.bytes(9)),
  ],
  block: () => [{ line: 'txn FirstValid; int 1; -', kind: 'uint64' }],
  log: (random) => [byteString(random.bytes(random.below(40)))],
  mimc: (random) => [byteString(elements(random, random.between(1, 3)))],
  poseidon2: (random) => [byteString(elements(random, random.between(1, 4)))],
  ecdsa_verify: (random, curve) => {
    const { x, y } = baseOf(curve)
    return [...[0, 1, 2].map(() => byteString(elements(random, 1))), x, y]
  },
  ecdsa_pk_decompress: (_, curve) => [baseOf(curve).compressed],
  ecdsa_pk_recover: (random, curve) => [
    byteString(random.bytes(32)),
    integer(random.below(2)),
    baseOf(curve).x,
    byteString(elements(random, 1)),
  ],
  ec_add: (random, group) => [point(random, group), point(random, group)],
  ec_scalar_mul: (random, group) => [point(random, group), byteString(random.bytes(random.between(1, 32)))],
  ec_multi_scalar_mul: (random, group) => [
    { line: `${point(random, group).line}; ${point(random, group).line}; concat`, kind: 'bytes' },
    byteString(random.bytes(64)),
  ],
  ec_pairing_check: (random, [group]) => {
    const other = group!.endsWith('1') ? group!.replace(/1$/, '2') : group!.replace(/2$/, '1')
    return [point(random, [group!]), point(random, [other])]
  },
  ec_subgroup_check: (random, group) => [point(random, group)],
  ec_map_to: (random, group) => [coordinate(random, group)],
  box_create: (random) => {
    const { name, length } = random.pick(boxes)
    return [name, integer(length)]
  },
  box_extract: (random) => {
    const { name, start, length } = boxRange(random)
    return [name, start, integer(length)]
  },
  box_replace: (random) => {
    const { name, start, length } = boxRange(random)
    return [name, start, byteString(random.bytes(length))]
  },
  box_splice: (random) => {
    const { name, start, length } = boxRange(random)
    return [name, start, integer(length), byteString(random.bytes(random.below(9)))]
  },
  box_resize: (random) => [random.pick(boxes).name, integer(random.below(100))],
  box_put: (random) => {
    const { name, length } = random.pick(boxes)
    return [name, byteString(random.bytes(length))]
  },
  box_get: (random) => [random.pick(boxes).name],
  box_len: (random) => [random.pick(boxes).name],
  box_del: (random) => [random.pick(boxes).name],
}

function sameKind(random: Random): Constant[] {
  const isInteger = random.chance(0.5)
  return [0, 1].map(() => (isInteger ? integer(random.below(3)) : byteString(random.bytes(random.below(2)))))
}

function bitOf(random: Random): [Constant, Constant] {
  if (random.chance(0.5)) return [integer(random.uint64()), integer(random.below(64))]
  const length = random.between(1, 20)
  return [byteString(random.bytes(length)), integer(random.below(8 * length))]
}
