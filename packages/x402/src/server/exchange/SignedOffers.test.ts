import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SignedOffer } from '@latchkey/algorand'
import { OfferReceipt, type PaymentRequired } from '@latchkey/x402-wire'
import { requirementsFor } from '../../../../x402-wire/dist/payments.test.helper.js'
import { fromSeed } from '../../signer/ReceiptSigner.js'
import { SignedOffers } from './SignedOffers.js'

const signer = fromSeed(new Uint8Array(32).fill(7))

function required(url: string): PaymentRequired {
  return { x402Version: 2, resource: { url }, accepts: [requirementsFor()], extensions: {} } as PaymentRequired
}

function textsIn({ extensions }: PaymentRequired): string[] {
  const extension = extensions![OfferReceipt.key] as { info: { offers: { signature: string }[] } } | undefined
  return extension?.info.offers.map(({ signature }) => signature) ?? []
}

test('strangers cause a limited number of signatures in a second', async (t) => {
  let nowMs = 1_800_000_000_000
  t.mock.method(Date, 'now', () => nowMs)
  let signed = 0
  const sign = (offer: SignedOffer.Offer) => {
    signed++
    return signer.signOffer!(offer)
  }
  const errors: unknown[] = []
  const offers = new SignedOffers(signer.address, sign, (error) => errors.push(error))
  for (let index = 0; index < 100; index++) await offers.addTo(required(`https://shop.example/?${index}`))
  assert.equal(signed, 20)
  nowMs += 1_000
  assert.equal(textsIn(await offers.addTo(required('https://shop.example/?50'))).length, 1)
  assert.equal(signed, 21)
  assert.deepEqual(errors, [])
})

test('an offer is signed again when less than half of its time is left, or the clock was set back', async (t) => {
  let nowMs = 1_800_000_000_000
  t.mock.method(Date, 'now', () => nowMs)
  const offers = new SignedOffers(signer.address, signer.signOffer!, () => assert.fail())
  const one = async (): Promise<number> => {
    const [text = ''] = textsIn(await offers.addTo(required('https://shop.example/')))
    return SignedOffer.verify(text).offer.validUntil
  }
  const first = await one()
  assert.equal(first, nowMs / 1_000 + 600)
  nowMs += 300_000
  assert.equal(await one(), first)
  nowMs += 1_000
  assert.equal(await one(), first + 301)
  nowMs -= 100_000_000
  assert.equal(await one(), nowMs / 1_000 + 600)
})
