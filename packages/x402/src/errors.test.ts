import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { LatchkeyError } from '@latchkey/algorand'
import { FeeError, GroupError, HeaderError, Prices } from '@latchkey/x402-wire'
import { errors as wireErrors } from '@latchkey/x402-wire/errors'
import { Chain, ChainError, checkAddress } from './chain/Chain.js'
import { Buyer } from './client/buyer/Buyer.js'
import { PaymentRefusedError, refusalReasons } from './client/buyer/PaymentRefusedError.js'
import { PaymentRequestError } from './client/buyer/payingFetch.js'
import { PaymentLogError } from './client/store/Payments.js'
import { StoreError } from './db/StoreError.js'
import { type ErrorCode, errors, OptionsError, warn, X402Error } from './errors.js'
import { Facilitator } from './facilitator/Facilitator.js'
import { PaymentError, paymentErrors } from './facilitator/PaymentError.js'
import { FacilitatorError, httpFacilitator } from './server/exchange/FacilitatorClient.js'
import { GateError } from './server/gate/Gate.js'
import { SettingsError, sellerSettings } from './server/gate/sellerSettings.js'
import { RouteError, RouteTable } from './server/routes/RouteTable.js'
import { fromSecretKey, SignerError } from './signer/Signer.js'

const source = fileURLToPath(new URL('../src/', import.meta.url))

for (const [name, registry] of Object.entries({ errors, refusalReasons, paymentErrors })) {
  test(`every code in ${name} is snake_case, with a message and a hint`, () => {
    for (const [code, { message, hint }] of Object.entries(registry)) {
      assert.match(code, /^[a-z][a-z0-9_]*$/)
      assert.match(message, /^\S.*\.$/, code)
      assert.match(hint, /^\S.*\.$/, code)
    }
  })
}

test('every class carries a registered code, a name and a hint', () => {
  const thrown: X402Error<ErrorCode>[] = [
    new ChainError('unknown_network', 'x'),
    new PaymentLogError('unknown_payment', 'x'),
    new PaymentRefusedError([]),
    new PaymentRequestError('body_too_large', 'x'),
    new OptionsError('x'),
    new FeeError(2n, 1n),
    new GroupError('invalid_payment_index', 'x'),
    new Prices.PriceError('zero_price', 'x'),
    new FacilitatorError('facilitator_unavailable', 'x'),
    new GateError('invalid_gate_option', 'x'),
    new RouteError('GET /', 'x'),
    new SettingsError('missing_setting', 'x'),
    new SignerError('invalid_signature', 'x'),
    new StoreError('store_too_new', 'x'),
    new HeaderError('invalid_header', 'x'),
  ]
  for (const error of thrown) {
    assert.ok(error instanceof LatchkeyError && error instanceof X402Error)
    assert.equal(error.name, error.constructor.name)
    assert.equal(error.hint, errors[error.code].hint)
  }
  const refused = new PaymentError('settlement_pending', 'x')
  assert.deepEqual([refused.name, refused.hint], ['PaymentError', paymentErrors.settlement_pending.hint])
})

test('messages state the problem, and hints the fix', async () => {
  const address = 'A'.repeat(10)
  const causes: (() => unknown)[] = [
    () => Prices.baseUnits('$0', 6),
    () => Prices.baseUnits('cheap', 6),
    () => Prices.baseUnits('$0.0000001', 6),
    () => checkAddress(undefined, 'payTo'),
    () => checkAddress(address, 'payTo'),
    () => Chain.open({ network: `algorand:${'A'.repeat(32)}` }),
    () => Chain.open({ network: 'testnet', genesisHash: 'x' }),
    () => Chain.open({ network: 'localnet' }),
    () => fromSecretKey('x'),
    () => new Buyer({ signer: {} as never, chains: [] }),
    () => new Facilitator({ chains: [] }),
    () => new RouteTable({ 'GET weather here': 1 }),
    () => new RouteTable({ 'GET /a-:id': 1 }),
    () => httpFacilitator({ url: 'facilitator' }),
    () => httpFacilitator({ url: 'https://key@facilitator' }),
    () => sellerSettings({}),
  ]
  for (const cause of causes) {
    await assert.rejects(
      async () => cause(),
      ({ message, hint = '' }: LatchkeyError) => {
        assert.ok(hint !== '' && !message.toLowerCase().includes(hint.toLowerCase().replace(/\.$/, '')), message)
        assert.doesNotMatch(message, /; |\b(pass|use|leave|send|write|must)\b/i)
        return true
      },
    )
  }
})

test('every registered code is used', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.includes('.test.') && !name.endsWith('errors.ts'),
  )
  const text = files.map((name) => readFileSync(join(source, name), 'utf8')).join('\n')
  const unused = Object.keys(errors).filter(
    (code) => !(code in wireErrors) && code !== 'invalid_option' && !text.includes(`'${code}'`),
  )
  assert.deepEqual(unused, [])
})

test('removes line breaks and control characters of others from a warning', async () => {
  const warned = once(process, 'warning')
  warn(new RangeError('the facilitator says a\u001b]52;c;QQ==\u0007\n(node:1) Warning: \u202eb'))
  const [{ name, message }] = (await warned) as [Error]
  assert.deepEqual([name, message], ['RangeError', 'the facilitator says a?]52;c;QQ==??(node:1) Warning: ?b'])
})

test('passes a printable error on unchanged', async () => {
  const error = new Error('plain')
  const warned = once(process, 'warning')
  warn(error)
  assert.equal((await warned)[0], error)
})
