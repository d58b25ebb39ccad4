import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePaymentRequired } from '@x402/core/schemas'
import * as fc from 'fast-check'
import { anyCharacter } from '../../../test/anyCharacter.mjs'
import * as PaymentHeaders from './PaymentHeaders.js'
import type { PaymentPayload, PaymentRequired, PaymentRequirements, SettleResponse } from './parsePayment.js'
import '../../../test/seed.mjs'

const cases = Number(process.env['LATCHKEY_FUZZ'] ?? 2_000)

const requirement: PaymentRequirements = {
  scheme: 'exact',
  network: 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe',
  amount: '10000',
  asset: '10458941',
  payTo: 'X',
  maxTimeoutSeconds: 300,
  extra: { feePayer: 'Y' },
}
const required: PaymentRequired = { x402Version: 2, resource: { url: 'http://shop/weather' }, accepts: [requirement] }
const payment: PaymentPayload = {
  x402Version: 2,
  accepted: requirement,
  payload: { paymentGroup: [], paymentIndex: 0 },
}

const encodeAny = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')

const decoders = [PaymentHeaders.decodePayment, PaymentHeaders.decodeRequired, PaymentHeaders.decodeReceipt]

/** Any error other than a HeaderError fails the test. */
function tryAll(header: string): void {
  for (const decode of decoders) {
    try {
      decode(header)
    } catch (error) {
      if (!(error instanceof PaymentHeaders.HeaderError)) throw error
    }
  }
}

test('reads any header, or refuses it with a HeaderError', async (t) => {
  await t.test('any text', () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter, maxLength: 400 }), tryAll), { numRuns: cases })
  })

  await t.test('any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => tryAll(encodeAny(value))),
      { numRuns: cases },
    )
  })

  await t.test('messages of the protocol with one member replaced', () => {
    const whole: unknown[] = [required, payment, { success: true, transaction: 'T', network: requirement.network }]
    const path = fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(fc.constantFrom(...whole), path, fc.jsonValue(), (message, steps, value) => {
        const copy = structuredClone(message) as { [name: string]: unknown }
        let parent = copy
        for (const [index, step] of steps.entries()) {
          const names = Object.keys(parent)
          const name = names[step % names.length]
          if (name === undefined) return
          const child = parent[name]
          if (index === steps.length - 1 || typeof child !== 'object' || child === null) {
            parent[name] = value
            break
          }
          parent = child as { [name: string]: unknown }
        }
        tryAll(encodeAny(copy))
      }),
      { numRuns: cases },
    )
  })

  await t.test('deep nesting', () => {
    const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    for (const depth of [PaymentHeaders.maxDepth, 20_000]) {
      const text = JSON.stringify(required).replace('"Y"', deep(depth))
      const header = Buffer.from(text).toString('base64')
      assert.throws(() => PaymentHeaders.decodeRequired(header), { message: /nested/ })
      tryAll(header)
    }
    const brackets = { ...required, error: '['.repeat(1_000), resource: { url: `http://x/"\\${'{'.repeat(100)}` } }
    assert.deepEqual(PaymentHeaders.decodeRequired(encodeAny(brackets)), brackets)
  })

  await t.test('members called __proto__', () => {
    const inherits = '{"__proto__":{"paymentGroup":[],"paymentIndex":0}}'
    const text = JSON.stringify({ ...payment, payload: 'P' }).replace('"P"', inherits)
    const header = Buffer.from(text).toString('base64')
    for (const decode of decoders) assert.throws(() => decode(header), PaymentHeaders.HeaderError)
  })

  await t.test('more than the limit', () => {
    const header = encodeAny({ ...required, error: 'x'.repeat(PaymentHeaders.maxHeaderBytes) })
    for (const decode of decoders) assert.throws(() => decode(header), PaymentHeaders.HeaderError)
  })

  await t.test('the URL-safe alphabet', () => {
    const receipt = { success: true, transaction: '?>?>?>', network: 'a:b' }
    const header = encodeAny(receipt)
    assert.match(header, /[+/]/)
    assert.equal(PaymentHeaders.decodeReceipt(header).transaction, '?>?>?>')
    const urlSafe = header.replaceAll('+', '-').replaceAll('/', '_')
    assert.throws(() => PaymentHeaders.decodeReceipt(urlSafe), { message: 'the header is not base64' })
  })
})

test('decodes encoded values', async (t) => {
  const text = fc.string({ minLength: 1, unit: 'grapheme', maxLength: 30 })
  const extra = fc
    .dictionary(text, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4, noNullPrototype: true })
    .filter((members) => !JSON.stringify(members).includes('__proto__'))
  const requirements = fc.record({
    scheme: text,
    network: text.map((name) => `algorand:${name}`),
    amount: text,
    asset: text,
    payTo: text,
    maxTimeoutSeconds: fc.integer({ min: 1, max: 1e6 }),
    extra,
  }) as fc.Arbitrary<PaymentRequirements>
  /** A value as in JSON: no -0, and no undefined members. */
  const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

  await t.test('requirements', () => {
    const accepts = fc.array(requirements, { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(accepts, text, (list, url) => {
        const value: PaymentRequired = { x402Version: 2, resource: { url }, accepts: list }
        assert.deepEqual(PaymentHeaders.decodeRequired(PaymentHeaders.encode(value)), plain(value))
      }),
      { numRuns: cases / 4 },
    )
  })

  await t.test('payments', () => {
    fc.assert(
      fc.property(requirements, extra, (accepted, payload) => {
        const value: PaymentPayload = { x402Version: 2, accepted, payload }
        assert.equal(JSON.stringify(PaymentHeaders.decodePayment(PaymentHeaders.encode(value))), JSON.stringify(value))
      }),
      { numRuns: cases / 4 },
    )
  })

  await t.test('receipts', () => {
    const receipts = fc.record(
      { success: fc.boolean(), transaction: text, network: text, payer: text, amount: text, errorReason: text },
      { requiredKeys: ['success', 'transaction', 'network'] },
    ) as fc.Arbitrary<SettleResponse>
    fc.assert(
      fc.property(receipts, (value) => {
        const nothing = { payer: undefined, amount: undefined, errorReason: undefined, errorMessage: undefined }
        assert.deepEqual(PaymentHeaders.decodeReceipt(PaymentHeaders.encode(value)), { ...nothing, ...value })
      }),
      { numRuns: cases / 4 },
    )
  })
})

/** The first implementation, which parses everything again for each offer, as a reference for accepted values. */
function slowlyDecoded(value: unknown): unknown {
  const { accepts, ...rest } = (typeof value === 'object' && value !== null ? value : {}) as { [name: string]: unknown }
  const valid = (Array.isArray(accepts) ? accepts : []).filter((requirement) => {
    const parsed = parsePaymentRequired({ ...rest, accepts: [requirement] })
    return parsed.success && parsed.data.x402Version === 2
  })
  return valid.length === 0 ? undefined : { ...rest, accepts: valid }
}

test('finds the same requirements as parsing each of them separately', () => {
  const odd = fc.oneof(
    fc.constantFrom(null, undefined, 0, -1, 1.5, 1e300, '', 'x', 'a:b', '::', [], {}, { a: 1 }, true),
    fc.jsonValue({ maxDepth: 1 }),
  )
  const changed = <T extends object>(value: T): fc.Arbitrary<unknown> =>
    fc.oneof(
      { weight: 2, arbitrary: fc.constant(value) },
      {
        weight: 4,
        arbitrary: fc
          .tuple(fc.constantFrom(...Object.keys(value)), odd)
          .map(([name, other]) => ({ ...value, [name]: other })),
      },
      { weight: 1, arbitrary: odd },
    )
  const whole = { error: 'e', resource: required.resource, extensions: { a: { info: {} } }, x402Version: 2 }
  const surroundings = changed(whole) as fc.Arbitrary<object>
  fc.assert(
    fc.property(surroundings, fc.array(changed(requirement), { maxLength: 6 }), (around, accepts) => {
      // A value as in JSON.
      const value = JSON.parse(JSON.stringify({ ...around, accepts }))
      assert.deepEqual(
        PaymentHeaders.orUndefined(() => PaymentHeaders.decodeRequired(encodeAny(value))),
        slowlyDecoded(value),
      )
    }),
    { numRuns: cases },
  )
})

test('M parses requirements once, no matter how many are not offers', () => {
  const extensions = Object.fromEntries(Array.from({ length: 2_500 }, (_, index) => [`e${index}`, 0]))
  const header = encodeAny({ ...required, extensions, accepts: [...new Array(10_000).fill(0), requirement] })
  assert.ok(header.length < PaymentHeaders.maxHeaderBytes)
  let reads = 0
  const parse = JSON.parse
  // Counts how often an extension is read, which does not depend on the speed of the machine.
  JSON.parse = (text: string, reviver?: (key: string, value: unknown) => unknown): unknown => {
    const value = parse(text, reviver)
    Object.defineProperty(value.extensions, 'e0', { enumerable: true, get: () => reads++ })
    return value
  }
  try {
    assert.equal(PaymentHeaders.decodeRequired(header).accepts.length, 1)
  } finally {
    JSON.parse = parse
  }
  assert.ok(reads < 10, `${reads} times`)
})

test('requirements', async (t) => {
  await t.test('keep unknown members', () => {
    const odd = {
      ...required,
      accepts: [{ ...requirement, outputSchema: { a: 1 } }],
      extensions: { bazaar: { info: {} } },
    }
    assert.deepEqual(PaymentHeaders.decodeRequired(encodeAny(odd)), odd)
  })

  await t.test('an invalid one does not affect the others', () => {
    const others = [null, 7, {}, { ...requirement, network: 'base' }, { ...requirement, amount: 7 }, [requirement]]
    const { accepts } = PaymentHeaders.decodeRequired(encodeAny({ ...required, accepts: [...others, requirement] }))
    assert.deepEqual(accepts, [requirement])
  })

  await t.test('of other versions, or without any, are refused', () => {
    const old = { scheme: 'exact', network: 'base', maxAmountRequired: '1', resource: 'http://x', description: '' }
    const first = { x402Version: 1, accepts: [{ ...old, payTo: 'X', maxTimeoutSeconds: 1, asset: 'A' }] }
    for (const value of [first, { ...required, x402Version: 3 }, { ...required, accepts: [] }, [], null, 'x']) {
      assert.throws(() => PaymentHeaders.decodeRequired(encodeAny(value)), PaymentHeaders.HeaderError)
    }
  })
})

test('receipts', async (t) => {
  await t.test('of the older form are read', () => {
    const read = (value: object) => PaymentHeaders.decodeReceipt(encodeAny(value))
    assert.deepEqual(
      [read({ transactionId: 'T', status: 'settled' }).success, read({ status: 'failed' }).success],
      [true, false],
    )
    assert.equal(read({ transactionId: 'T', status: 'settled' }).transaction, 'T')
  })

  await t.test('without success are failures', () => {
    for (const value of [{}, { success: 'true' }, { success: 1 }, { success: false, status: 'ok' }]) {
      assert.equal(PaymentHeaders.decodeReceipt(encodeAny(value)).success, false)
    }
  })
})
