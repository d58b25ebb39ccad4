import assert from 'node:assert/strict'
import { createPublicKey, verify as verifyByNode } from 'node:crypto'
import { test } from 'node:test'
import { Address, Bytes, Ed25519, Hash, Network, SignedOffer, SignedReceipt } from './index.js'

const { publicKey, secretKey } = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(7))
const signer = Address.encode(publicKey)
const offer: SignedOffer.Offer = {
  resourceUrl: 'https://shop.example/weather?city=S%C3%A3o',
  scheme: 'exact',
  network: Network.testnet.caip2,
  asset: '10458941',
  payTo: signer,
  amount: '10000',
  validUntil: 1_763_000_000,
}

function sign(value: SignedOffer.Offer = offer): string {
  const bytes = SignedOffer.bytesToSign(publicKey, value)
  return SignedOffer.attach(bytes, Ed25519.sign(bytes, secretKey))
}

test('an offer is a JWS with EdDSA and a canonical payload', () => {
  const [header, payload, signature] = sign().split('.') as [string, string, string]
  const members = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object
  assert.deepEqual(members, { version: 1, ...offer })
  assert.deepEqual(Object.keys(members), Object.keys(members).sort())
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: Bytes.toBase64Url(publicKey) }
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  assert.ok(verifyByNode(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url')))
  assert.deepEqual(SignedOffer.verify(sign()), { offer, signer, did: SignedReceipt.did(publicKey) })
})

test('every altered character is found', () => {
  const jws = sign()
  for (let index = 0; index < jws.length; index += 3) {
    const altered = jws.slice(0, index) + (jws[index] === 'A' ? 'B' : 'A') + jws.slice(index + 1)
    assert.throws(() => SignedOffer.verify(altered), { code: 'invalid_offer' }, `${index}`)
  }
})

test('an offer is no receipt, and a receipt no offer', () => {
  assert.throws(() => SignedReceipt.verify(sign()), { code: 'invalid_receipt' })
  const { network, resourceUrl } = offer
  const bytes = SignedReceipt.bytesToSign(publicKey, { network, resourceUrl, payer: signer, issuedAt: 1 })
  const receipt = SignedReceipt.attach(bytes, Ed25519.sign(bytes, secretKey))
  assert.throws(() => SignedOffer.verify(receipt), { code: 'invalid_offer' })
})

test('fields that no offer has are refused', () => {
  const wrong: object[] = [
    { network: 'testnet' },
    { resourceUrl: '/weather' },
    { resourceUrl: 'https://shop.example/\n' },
    { scheme: '' },
    { scheme: 'Exact' },
    { asset: 'a b' },
    { payTo: '' },
    { amount: '-1' },
    { amount: '01' },
    { amount: 1 },
    { validUntil: -1 },
    { validUntil: Number.NaN },
    { validUntil: undefined },
  ]
  for (const change of wrong) {
    const changed = { ...offer, ...change } as SignedOffer.Offer
    assert.throws(() => SignedOffer.bytesToSign(publicKey, changed), { code: 'invalid_offer' }, JSON.stringify(change))
  }
})

test('the signed bytes have the prefix of no other purpose', () => {
  for (const domain of Object.values(Hash.domains)) {
    const bytes = SignedOffer.bytesToSign(publicKey, { ...offer, resourceUrl: `x://${domain}` })
    const text = Buffer.from(bytes).toString('latin1')
    assert.match(text, /^eyJhbGciOiJFZERTQSIsImtpZCI6ImRpZDprZXk6/)
    assert.ok(!text.startsWith(domain) && !domain.startsWith(text), domain)
  }
})
