import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { KmdError } from '../errors.js'
import * as Parameters from './Parameters.js'

const ofDefaultWallet = { n: 65536, r: 1, p: 32, keyLength: 32 }

suite('parameters', () => {
  test('accepts the parameters of a default wallet and of wallets 32 times as costly', () => {
    Parameters.check(ofDefaultWallet)
    Parameters.check({ ...ofDefaultWallet, n: 65536 * 32 })
    Parameters.check({ ...ofDefaultWallet, r: 32 })
    Parameters.check({ ...ofDefaultWallet, p: 32 * 32 })
    Parameters.check({ n: 2, r: 1, p: 1, keyLength: 1 })
  })

  const undefinedFor: Partial<typeof ofDefaultWallet>[] = [
    ...[0, 1, -2, 3, 65535, 65537, 2.5, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60].map((n) => ({ n })),
    ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY].flatMap((value) => [
      { r: value },
      { p: value },
      { keyLength: value },
    ]),
    { r: 2 ** 15, p: 2 ** 15 },
    { n: '16' as unknown as number },
  ]
  for (const change of undefinedFor) {
    test(`rejects ${describeChange(change)}, for which scrypt is undefined`, () => {
      assert.throws(() => Parameters.check({ ...ofDefaultWallet, ...change }), { code: 'bad_scrypt_parameters' })
    })
  }

  const tooCostly: [Partial<typeof ofDefaultWallet>, RegExp][] = [
    [{ n: 2 ** 22, p: 1 }, /memory for one lane.*maximum is 268435456/],
    [{ n: 2 ** 40, p: 1 }, /memory for one lane/],
    [{ p: 1025 }, /units of work.*maximum is 67108864/],
    [{ r: 33 }, /memory for one lane/],
    [{ n: 2, r: 1, p: 8193 }, /bytes of input to the lanes/],
    [{ keyLength: 1025 }, /bytes of key/],
  ]
  for (const [change, message] of tooCostly) {
    test(`rejects ${describeChange(change)} as above a ceiling`, () => {
      assert.throws(
        () => Parameters.check({ ...ofDefaultWallet, ...change }),
        (error: KmdError) => error.code === 'scrypt_ceiling' && message.test(String(error.cause)),
      )
    })
  }
})

function describeChange(change: object): string {
  return Object.entries(change)
    .map(([name, value]) => `${name} = ${typeof value === 'string' ? `'${value}'` : value}`)
    .join(', ')
}
