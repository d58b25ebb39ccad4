/** Buyer, seller and facilitator, each ours or a published one, unmodified, in all combinations. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Network } from '@latchkey/algorand'
import { avmFamily, avmVersions, familyOf, type Modules, newest, newestVersions } from '@latchkey/published'
import { toClientAvmSigner, toFacilitatorAvmSigner } from '@x402/avm'
import { ExactAvmScheme as ClientScheme } from '@x402/avm/exact/client'
import { ExactAvmScheme as FacilitatorScheme } from '@x402/avm/exact/facilitator'
import { ExactAvmScheme as ServerScheme } from '@x402/avm/exact/server'
import { x402Facilitator } from '@x402/core/facilitator'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { paymentMiddleware as expressMiddleware, x402ResourceServer } from '@x402/express'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { paymentMiddleware as honoMiddleware } from '@x402/hono'
import { partiesOf, tradeInAllCombinations } from './interop.test.helper.js'
import { openTrade } from './trade.test.helper.js'

const { caip2, genesisHash } = Network.testnet
const full = Network.fullCaip2(genesisHash)

/** The version that the packages of this repository use. */
const current = familyOf({
  x402Client,
  ClientScheme,
  toClientAvmSigner,
  pay: (client: x402Client) => wrapFetchWithPayment(fetch, client),
  x402ResourceServer,
  HTTPFacilitatorClient,
  ServerScheme,
  expressMiddleware,
  honoMiddleware,
  x402Facilitator,
  FacilitatorScheme,
  toFacilitatorAvmSigner,
} as unknown as Modules)

test('buyer, seller, facilitator', (t) => tradeInAllCombinations(t, partiesOf(current, caip2), { open: openTrade }))

test('A15 the newest published packages: buyer, seller, facilitator', async (t) => {
  const { '@x402/avm': avm, ...others } = newestVersions
  assert.equal(avm, '2.26.0')
  for (const [name, version] of Object.entries(others)) assert.equal(version, '2.27.0', name)
  await tradeInAllCombinations(t, partiesOf(newest, caip2), {
    open: (t) => openTrade(t, { genesisHash }),
  })
})

test('A15 the @x402-avm packages, which know only the full network id: buyer, seller, facilitator', async (t) => {
  // They write to the console.
  t.mock.method(console, 'log', () => {})
  for (const [name, version] of Object.entries(avmVersions)) assert.equal(version, '2.6.1', name)
  await tradeInAllCombinations(t, partiesOf(avmFamily, full), {
    open: (t) => openTrade(t, { genesisHash }),
  })
})
