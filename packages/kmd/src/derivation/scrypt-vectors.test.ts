import assert from 'node:assert/strict'
import { scryptSync } from 'node:crypto'
import { afterEach, suite, test } from 'node:test'
import fc from 'fast-check'
import type { Derivation } from './Job.js'
import { type Options, ScryptPool } from './ScryptPool.js'
import '../../../../test/seed.mjs'

let pools: ScryptPool[] = []

afterEach(async () => {
  await Promise.all(pools.map((pool) => pool.close()))
  pools = []
})

function poolOf(options: Options): ScryptPool {
  const pool = new ScryptPool(options)
  pools.push(pool)
  return pool
}

function derivation(change: Partial<Derivation> = {}): Derivation {
  return { password: Buffer.from('pw'), salt: Buffer.alloc(32), n: 4096, r: 1, p: 8, keyLength: 32, ...change }
}

const hex = async (key: Promise<Buffer>) => (await key).toString('hex')

suite('scrypt vectors', () => {
  const rfc7914: [string, string, [number, number, number], string][] = [
    [
      '',
      '',
      [16, 1, 1],
      '77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442' +
        'fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906',
    ],
    [
      'password',
      'NaCl',
      [1024, 8, 16],
      'fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162' +
        '2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640',
    ],
    [
      'pleaseletmein',
      'SodiumChloride',
      [16384, 8, 1],
      '7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2' +
        'd5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887',
    ],
  ]
  for (const [password, salt, [n, r, p], key] of rfc7914) {
    test(`RFC 7914: '${password}', '${salt}', ${n}, ${r}, ${p}`, async () => {
      const options = { password: Buffer.from(password), salt: Buffer.from(salt), n, r, p, keyLength: 64 }
      assert.equal(await hex(poolOf({ workers: 2 }).derive(options)), key)
    })
  }

  const kmd: [string, [number, number, number], string][] = [
    ['pw', [65536, 1, 32], '6bb9d09a3938b1f5f014d659a10102ee4f4686e287a20cd590d5f4cc9d3ca9e7'],
    ['', [65536, 1, 32], '7fa03d94a97519f8f2a7d0f52c04a0174c6c966855b510f117c184e098fd0e65'],
    ['pw', [32768, 1, 32], 'aa091a176baa12fc7191584d9db4587ceed332d1b594260d0ac344c2c0fbd064'],
    ['pw', [2, 1, 32], '39c4f079489465c422124b731090a62df0e4d861117a673150000a9087a14641'],
  ]
  for (const [password, [n, r, p], key] of kmd) {
    test(`the Go daemon: '${password}', zero salt, ${n}, ${r}, ${p}`, async () => {
      const options = derivation({ password: Buffer.from(password), n, r, p })
      assert.equal(await hex(poolOf({ workers: 2 }).derive(options)), key)
    })
  }

  test('produces the same key for any number of workers and any amount of memory', async () => {
    const keys = await Promise.all(
      [1, 2, 3].flatMap((workers) =>
        [1, 3, 8].map((mebibytes) =>
          hex(poolOf({ workers, laneMemoryBytes: mebibytes * 2 ** 20 }).derive(derivation())),
        ),
      ),
    )
    assert.deepEqual(new Set(keys), new Set([node(derivation())]))
  })

  test('agrees with Node on an odd number of lanes of 4 MiB', async () => {
    const options = derivation({ n: 32768, p: 7 })
    assert.equal(await hex(poolOf({ workers: 2 }).derive(options)), node(options))
  })

  test('agrees with Node on lanes whose size leaves no spare room in memory', async () => {
    const options = derivation({ n: 2, r: 512, p: 1 })
    assert.equal(await hex(poolOf({}).derive(options)), node(options))
  })

  test('agrees with Node on any parameters', async () => {
    const pool = poolOf({ workers: 2 })
    const bytes = fc.uint8Array({ maxLength: 100 })
    const parameters = {
      password: bytes,
      salt: bytes,
      n: fc.integer({ min: 1, max: 10 }).map((exponent) => 2 ** exponent),
      r: fc.integer({ min: 1, max: 8 }),
      p: fc.integer({ min: 1, max: 8 }),
      keyLength: fc.integer({ min: 1, max: 100 }),
    }
    await fc.assert(
      fc.asyncProperty(fc.record(parameters), async (options) => {
        assert.equal(await hex(pool.derive(options)), node(options))
      }),
      { numRuns: 200 },
    )
  })
})

function node({ password, salt, n, r, p, keyLength }: Derivation): string {
  return scryptSync(password, salt, keyLength, { N: n, r, p, maxmem: 2 ** 28 }).toString('hex')
}
