import assert from 'node:assert/strict'
import test from 'node:test'
import { Address } from '@latchkey/algorand'
import { seller } from '../stubs.test.helper.js'
import { SettingsError, sellerSettings } from './sellerSettings.js'

const good = { AVM_ADDRESS: ` ${seller} `, FACILITATOR_URL: 'http://localhost:4022' }

test('reads the payee and the facilitator', () => {
  assert.deepEqual(sellerSettings(good), { payTo: seller, facilitatorUrl: 'http://localhost:4022' })
})

test('names every missing or invalid setting', () => {
  const cases: [object, RegExp][] = [
    [{}, /^not set in the environment: AVM_ADDRESS .* and FACILITATOR_URL /],
    [{ ...good, FACILITATOR_URL: ' ' }, /^not set in the environment: FACILITATOR_URL /],
    [{ ...good, AVM_ADDRESS: 'invalid' }, /AVM_ADDRESS is not an Algorand address/],
    [{ ...good, AVM_ADDRESS: Address.encode(new Uint8Array(32)) }, /AVM_ADDRESS is the zero address/],
    [{ ...good, FACILITATOR_URL: 'localhost:4022' }, /FACILITATOR_URL is not an http or https URL/],
  ]
  for (const [environment, expected] of cases) {
    assert.throws(
      () => sellerSettings({ ...environment }),
      (error: Error) => error instanceof SettingsError && expected.test(error.message),
    )
  }
})
