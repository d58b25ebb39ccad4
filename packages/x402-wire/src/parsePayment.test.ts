import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePaymentPayload, parsePaymentRequirements } from '@x402/core/schemas'
import { parsePayload, parseRequirements } from './parsePayment.js'

const requirements = {
  scheme: 'exact',
  network: 'algorand:x',
  amount: '1',
  asset: '10458941',
  payTo: 'SELLER',
  maxTimeoutSeconds: 60,
  extra: { feePayer: 'PAYER', nested: { list: [1, null, 'x'] } },
}
const payload = {
  x402Version: 2,
  resource: { url: 'http://shop.example/weather', description: '', mimeType: 'text/plain' },
  accepted: requirements,
  payload: { paymentGroup: ['AA=='], paymentIndex: 0 },
  extensions: { 'payment-secret': { info: { algorithm: 'sha-256' } } },
}

/** Values of every type, including those at the limits of the schemas. */
const others: unknown[] = [
  undefined,
  null,
  '',
  'x',
  'ab',
  ':',
  '::',
  'a:b',
  0,
  1,
  -1,
  0.5,
  2,
  Number.MAX_VALUE,
  Number.NaN,
  true,
]
others.push([], [1], ['x'], {}, { a: 1 }, { url: 'x' }, { url: '' }, { url: 'x', description: null })
const names = ['x402Version', 'unknown', 'error', 'serviceName', 'tags', 'iconUrl', 'resource', 'description']

/** Removes undefined members, as JSON does. */
const asJson = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))

/** The value with each member replaced by each of the others, and with additional members. */
function* variants(value: object): Generator<unknown> {
  yield value
  yield* others
  for (const name of [...Object.keys(value), ...names]) {
    const { [name]: member, ...rest } = value as { [name: string]: unknown }
    yield rest
    for (const other of others) yield { ...rest, [name]: other }
    if (typeof member !== 'object' || member === null || Array.isArray(member)) continue
    for (const inner of variants(member)) yield { ...rest, [name]: inner }
  }
}

test('reads a payment like the schemas of the protocol', () => {
  let accepted = 0
  for (const value of variants(payload)) {
    const { success, data } = parsePaymentPayload(value)
    assert.deepEqual(asJson(parsePayload(value)), success ? asJson(data) : undefined, JSON.stringify(value))
    accepted += Number(success)
  }
  assert.ok(accepted > 100)
})

test('reads requirements like the schemas of the protocol', () => {
  for (const value of variants(requirements)) {
    const { success, data } = parsePaymentRequirements(value)
    assert.deepEqual(asJson(parseRequirements(value)), success ? asJson(data) : undefined, JSON.stringify(value))
  }
})
