import assert from 'node:assert/strict'
import { createPublicKey, verify as verifyByNode } from 'node:crypto'
import { test } from 'node:test'
import { Address, Bytes, Ed25519, Hash, Msgpack, Network, SignedReceipt, Transaction } from './index.js'

const { publicKey, secretKey } = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(7))
const signer = Address.encode(publicKey)
const receipt: SignedReceipt.Receipt = {
  network: Network.testnet.caip2,
  resourceUrl: 'https://shop.example/weather?city=S%C3%A3o',
  payer: signer,
  issuedAt: 1_763_000_000,
  transaction: 'A'.repeat(52),
}

function sign(value: SignedReceipt.Receipt = receipt): string {
  const bytes = SignedReceipt.bytesToSign(publicKey, value)
  return SignedReceipt.attach(bytes, Ed25519.sign(bytes, secretKey))
}

const part = (text: string): unknown => JSON.parse(Buffer.from(text, 'base64url').toString())

test('a receipt is a JWS with EdDSA, the DID of its key and a canonical payload', () => {
  const [header, payload, signature] = sign().split('.') as [string, string, string]
  const { alg, kid } = part(header) as { alg: string; kid: string }
  assert.equal(alg, 'EdDSA')
  const own = SignedReceipt.did(publicKey)
  assert.equal(kid, `${own}#${own.replace('did:key:', '')}`)
  assert.deepEqual(part(payload), { version: 1, ...receipt })
  const text = Buffer.from(payload, 'base64url').toString()
  assert.deepEqual(Object.keys(JSON.parse(text)), Object.keys(JSON.parse(text)).sort())
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: Bytes.toBase64Url(publicKey) }
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  assert.ok(verifyByNode(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url')))
  assert.deepEqual(SignedReceipt.verify(sign()), { receipt, signer, did: own })
  const { transaction: _, ...without } = receipt
  assert.deepEqual(SignedReceipt.verify(sign(without)).receipt.transaction, undefined)
})

test('the DID is that of published vectors, and names one key in one spelling', () => {
  // W3C did:key, example of Ed25519.
  const example = 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK'
  assert.equal(SignedReceipt.did(SignedReceipt.publicKeyOf(example)!), example)
  assert.deepEqual(SignedReceipt.publicKeyOf(`${example}#key`), SignedReceipt.publicKeyOf(example))
  const others = [
    '',
    'did:key:z',
    'did:web:shop.example',
    example.replace('z6Mk', 'z16Mk'),
    example.replace('z6Mk', 'z0Mk'),
    `${example}1`,
    // secp256k1
    'did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme',
    `did:key:z${'6'.repeat(100_000)}`,
  ]
  for (const other of others) assert.equal(SignedReceipt.publicKeyOf(other), undefined, other.slice(0, 60))
})

test('every altered character is found', () => {
  const jws = sign()
  for (let index = 0; index < jws.length; index++) {
    for (const character of ['A', 'B', '.', '=', '-']) {
      if (jws[index] === character) continue
      const altered = jws.slice(0, index) + character + jws.slice(index + 1)
      assert.throws(() => SignedReceipt.verify(altered), { code: 'invalid_receipt' }, `${index} ${character}`)
    }
  }
  for (const altered of ['', '..', `${jws}.`, `${jws}A`, jws.slice(0, -1), ` ${jws}`, 'A'.repeat(100_000)]) {
    assert.throws(() => SignedReceipt.verify(altered), { code: 'invalid_receipt' })
  }
})

test('a header with other members or another algorithm is refused, although its signature is valid', () => {
  const own = SignedReceipt.did(publicKey)
  const [, payload] = sign().split('.') as [string, string]
  const headers = [
    { alg: 'none', kid: own },
    { alg: 'HS256', kid: own },
    { alg: 'EdDSA' },
    { alg: 'EdDSA', kid: own, crit: ['b64'], b64: false },
    { alg: 'EdDSA', kid: own, jwk: {} },
  ]
  for (const header of headers) {
    const signed = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}`
    const signature = Ed25519.sign(new Uint8Array(Buffer.from(signed)), secretKey)
    const jws = SignedReceipt.attach(new Uint8Array(Buffer.from(signed)), signature)
    assert.throws(() => SignedReceipt.verify(jws), { code: 'invalid_receipt' }, JSON.stringify(header))
  }
})

test('fields that no receipt has are refused', () => {
  const wrong: object[] = [
    { network: 'testnet' },
    { network: 'algorand:a b' },
    { resourceUrl: '/weather' },
    { resourceUrl: 'https://shop.example/\n' },
    { resourceUrl: 'https://shop.example/\ud800' },
    { resourceUrl: `https://shop.example/${'x'.repeat(4_096)}` },
    { payer: '' },
    { payer: 'a b' },
    { issuedAt: -1 },
    { issuedAt: 1.5 },
    { issuedAt: Number.NaN },
    { issuedAt: 1n },
    { transaction: '' },
    { transaction: 'a b' },
    { transaction: 7 },
  ]
  for (const change of wrong) {
    const changed = { ...receipt, ...change } as SignedReceipt.Receipt
    assert.throws(() => SignedReceipt.bytesToSign(publicKey, changed), { code: 'invalid_receipt' })
  }
})

/** Prefixes of the reference for everything that its keys sign or hash, and of wallets for messages and data. */
const otherDomains = [
  ...['appID', 'arc', 'aB', 'aD', 'aO', 'aP', 'aS', 'AS', 'B256', 'BH', 'BR', 'CR', 'GE', 'KP', 'MA', 'MB', 'MX'],
  ...['NIC', 'NIR', 'NIV', 'NPR', 'OT1', 'OT2', 'PF', 'PL', 'PS', 'Program', 'MsigProgram', 'ProgData', 'SD', 'TE'],
  ...['SpecialAddr', 'STIB', 'spc', 'spm', 'spp', 'sps', 'spv', 'TG', 'TL', 'TX', 'VO', 'MultisigAddr'],
]

test('the signed bytes have the prefix of no other purpose, whatever the fields are', () => {
  const domains = [...new Set([...Object.values(Hash.domains), ...otherDomains])]
  assert.ok(domains.length > 40)
  const texts = [...domains.map((domain) => `x://${domain}`), 'x://', `x://${'x'.repeat(4_000)}`]
  const keys = Array.from({ length: 50 }, (_, index) => Ed25519.publicKey(new Uint8Array(32).fill(index)))
  for (const resourceUrl of texts) {
    for (const key of keys) {
      const bytes = SignedReceipt.bytesToSign(key, { ...receipt, resourceUrl })
      const text = Buffer.from(bytes).toString('latin1')
      assert.match(text, /^eyJhbGciOiJFZERTQSIsImtpZCI6ImRpZDprZXk6/)
      for (const domain of domains) assert.ok(!text.startsWith(domain) && !domain.startsWith(text), domain)
    }
  }
})

test('a signature of a receipt is none of a transaction, a program, a message or data', () => {
  const bytes = SignedReceipt.bytesToSign(publicKey, receipt)
  const signature = Ed25519.sign(bytes, secretKey)
  for (const domain of Object.values(Hash.domains)) {
    // Even if an attacker chooses what follows the prefix.
    for (const rest of [bytes, bytes.subarray(domain.length), new Uint8Array()]) {
      assert.equal(Ed25519.verify(signature, Hash.prefixed(domain, rest), publicKey), false, domain)
    }
  }
  assert.throws(() => Transaction.canonicalize(bytes), Msgpack.DecodeError)
})

test('a signature of a transaction is none of a receipt', () => {
  const transaction = Transaction.encode({
    type: 'pay',
    snd: publicKey,
    note: SignedReceipt.bytesToSign(publicKey, receipt),
  })
  const signature = Ed25519.sign(Transaction.bytesToSign(transaction), secretKey)
  const jws = SignedReceipt.attach(SignedReceipt.bytesToSign(publicKey, receipt), signature)
  assert.throws(() => SignedReceipt.verify(jws), { code: 'invalid_receipt' })
})
