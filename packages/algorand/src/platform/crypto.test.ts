import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hash, Point } from '@noble/ed25519'
import { smallOrder, speccheck } from './edgeCases.test.data.js'
import * as node from './node.js'
import { openssl } from './openssl.js'
import type { Hashing, Platform, Signing } from './Platform.js'
import { fromSodium, require } from './sodium.js'
import * as noble from './web.js'

const signers: { readonly [name: string]: Signing } = { sodium: fromSodium(require()), openssl, noble }
const hashers: { readonly [name: string]: Hashing } = { node, noble }

test('both implementations behind #platform provide the same functions', () => {
  const modules: readonly Platform[] = [node, noble]
  const functions = (module: object): string[] =>
    Object.entries(module).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []))
  assert.deepEqual(functions(modules[0]!).sort(), functions(modules[1]!).sort())
})

for (const [name, hasher] of Object.entries(hashers)) {
  test(`hashes by ${name} match published vectors`, () => {
    const abc = utf8('abc')
    // FIPS 180-4.
    assert.equal(hex(hasher.sha256(abc)), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
    assert.equal(hex(hasher.sha512_256(abc)), '53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23')
    // RFC 4231, test case 2.
    assert.equal(
      hex(hasher.hmacSha256(utf8('Jefe'), utf8('what do ya want for nothing?'))),
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    )
  })

  test(`random bytes and comparison by ${name}`, () => {
    assert.equal(hasher.randomBytes(0).length, 0)
    assert.equal(hasher.randomBytes(200_000).length, 200_000)
    assert.notDeepEqual(hasher.randomBytes(32), hasher.randomBytes(32))
    assert.equal(hasher.equalConstantTime(Uint8Array.of(1, 2), Uint8Array.of(1, 2)), true)
    assert.equal(hasher.equalConstantTime(Uint8Array.of(1, 2), Uint8Array.of(1, 3)), false)
    assert.equal(hasher.equalConstantTime(Uint8Array.of(1, 2), Uint8Array.of(1)), false)
  })
}

test('both hash identically, for every length around a block', () => {
  for (let length = 0; length <= 300; length++) {
    const data = new Uint8Array(length).map((_, index) => index * 7)
    const key = data.slice(0, Math.min(length, 200))
    for (const name of ['sha256', 'sha512_256'] as const)
      assert.deepEqual(hashers['node']![name](data), hashers['noble']![name](data))
    for (const name of ['hmacSha256', 'hmacSha512_256'] as const) {
      assert.deepEqual(hashers['node']![name](key, data), hashers['noble']![name](key, data))
    }
  }
})

for (const [name, signer] of Object.entries(signers)) {
  test(`keys and signatures by ${name} match RFC 8032`, () => {
    for (const vector of rfc8032) {
      const [publicKey, secretKey, signature] = [new Uint8Array(32), new Uint8Array(64), new Uint8Array(64)]
      signer.writeKeyPair(publicKey, secretKey, bytes(vector.seed))
      assert.equal(hex(publicKey), vector.publicKey)
      assert.equal(hex(secretKey), vector.seed + vector.publicKey)
      signer.sign(signature, bytes(vector.message), secretKey)
      assert.equal(hex(signature), vector.signature)
      assert.equal(signer.verify(signature, bytes(vector.message), publicKey), true)
    }
  })

  test(`verification by ${name} decides published edge cases like libsodium`, () => {
    for (const { about, signature, message, publicKey, valid } of speccheck) {
      assert.equal(signer.verify(bytes(signature), bytes(message), bytes(publicKey)), valid, about)
    }
  })

  test(`verification by ${name} rejects every point of small order, as key and as R`, () => {
    const honest = rfc8032[0]!
    for (const point of smallOrder) {
      for (const other of smallOrder) {
        assert.equal(signer.verify(bytes(other + '00'.repeat(32)), utf8('Zcash'), bytes(point)), false)
      }
      const { signature, message, publicKey } = honest
      assert.equal(signer.verify(bytes(signature), bytes(message), bytes(point)), false)
      assert.equal(signer.verify(bytes(point + signature.slice(64)), bytes(message), bytes(publicKey)), false)
    }
  })

  test(`verification by ${name} rejects S plus L and bytes that are not a point`, () => {
    const { signature, message, publicKey } = rfc8032[1]!
    const s = littleEndian(bytes(signature.slice(64)))
    const malleated = signature.slice(0, 64) + hex(toLittleEndian(s + order))
    assert.equal(signer.verify(bytes(malleated), bytes(message), bytes(publicKey)), false)
    for (const key of [`02${'00'.repeat(31)}`, 'ff'.repeat(32), `f0${'ff'.repeat(30)}7f`]) {
      assert.equal(signer.verify(bytes(signature), bytes(message), bytes(key)), false)
    }
  })

  test(`wiping by ${name} leaves zeros`, () => {
    const secret = Uint8Array.of(1, 2, 3)
    signer.wipe(secret)
    assert.deepEqual(secret, new Uint8Array(3))
  })
}

test('all sign identically and agree on signatures of keys with a component of small order', () => {
  for (let round = 0; round < 64; round++) {
    const { signature, message, publicKey } = mixedOrder(round)
    const verdicts = Object.values(signers).map((signer) => signer.verify(signature, message, publicKey))
    assert.equal(new Set(verdicts).size, 1, `round ${round}: ${verdicts}`)
    const secretKey = new Uint8Array(64)
    noble.writeKeyPair(new Uint8Array(32), secretKey, new Uint8Array(32).fill(round))
    const signatures = Object.values(signers).map((signer) => {
      const out = new Uint8Array(64)
      signer.sign(out, message, secretKey)
      return hex(out)
    })
    assert.equal(new Set(signatures).size, 1)
  }
})

const order = Point.CURVE().n

/** A signature that satisfies the cofactored equation, and in one of several rounds also the cofactorless one. */
function mixedOrder(round: number): { signature: Uint8Array; message: Uint8Array; publicKey: Uint8Array } {
  const torsion = Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a')
  const [a, r] = [123_456_789n + BigInt(round) * 7919n, 987_654_321n + BigInt(round) * 104_729n]
  let [keyPoint, rPoint] = [Point.BASE.multiply(a), Point.BASE.multiply(r)]
  if (round & 1) keyPoint = keyPoint.add(torsion)
  if (round & 2) rPoint = rPoint.add(torsion)
  const message = Uint8Array.of(round)
  const [publicKey, encodedR] = [keyPoint.toBytes(), rPoint.toBytes()]
  const k = littleEndian(hash(Uint8Array.of(...encodedR, ...publicKey, ...message))) % order
  return { signature: Uint8Array.of(...encodedR, ...toLittleEndian((r + k * a) % order)), message, publicKey }
}

/** RFC 8032, section 7.1, tests 1 to 3. */
const rfc8032 = [
  {
    seed: '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    publicKey: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    message: '',
    signature:
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  },
  {
    seed: '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    publicKey: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    message: '72',
    signature:
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  },
  {
    seed: 'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7',
    publicKey: 'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    message: 'af82',
    signature:
      '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  },
]

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function bytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'hex'))
}

function hex(data: Uint8Array): string {
  return Buffer.from(data).toString('hex')
}

function littleEndian(data: Uint8Array): bigint {
  return BigInt(`0x${hex(data.slice().reverse())}`)
}

function toLittleEndian(value: bigint): Uint8Array {
  return bytes(value.toString(16).padStart(64, '0')).reverse()
}
