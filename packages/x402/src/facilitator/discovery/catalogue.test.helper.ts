/** Sellers, payments and settlements for tests of the catalogue. */
import { Discovery, type PaymentPayload, type PaymentRequired, type PaymentRequirements } from '@latchkey/x402-wire'
import { network, requirementsFor, seller, stranger, usdc } from '../../../../x402-wire/dist/payments.test.helper.js'
import type { Settlement } from '../store/Settlements.js'

export { network, seller, stranger, usdc }

export const shop = 'https://shop.example'

/** A seller's 402 for a path. */
export function required(path: string, change: Partial<PaymentRequired> = {}): PaymentRequired {
  const output = { example: { celsius: 7 } }
  return {
    x402Version: 2,
    resource: { url: `${shop}${path}`, description: 'The weather', mimeType: 'application/json' },
    accepts: [requirementsFor()],
    extensions: Discovery.declaration({ output }, { method: 'GET' }),
    ...change,
  } as PaymentRequired
}

/** A payment whose buyer copies a 402. */
export function payloadOf({ resource, extensions }: PaymentRequired): PaymentPayload {
  return { x402Version: 2, resource, accepted: requirementsFor(), payload: {}, extensions } as PaymentPayload
}

let last = 0

export function settled(change: Partial<Settlement> = {}): Settlement {
  return {
    transactionId: `T${++last}`,
    state: 'settled',
    network,
    payer: 'BUYER',
    payTo: seller.address,
    asset: `${usdc}`,
    amount: '1000',
    group: [],
    firstValid: 1n,
    lastValid: 2n,
    feeMicroAlgos: 0n,
    createdMs: Date.now(),
    ...change,
  }
}

export function offerTo(payTo: string, change: Partial<PaymentRequirements> = {}): PaymentRequirements {
  return requirementsFor({ payTo, ...change })
}
