/**
 * Requests that SDKs send by mistake but whose meaning is certain, and requests that the Go daemon reads in its own
 * way, where a signature would be a guess.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Address, Ed25519, Multisig, SignedTransaction, Transaction } from '@latchkey/algorand'
import { createApp, type TestResponse } from '../testing/TestApp.test.helper.js'

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const pair = (number: number): Ed25519.KeyPair => Ed25519.keyPairFromSeed(new Uint8Array(32).fill(number))
const [mine, theirs] = [pair(1), pair(2)] as const
const preimage = { version: 1, threshold: 2, publicKeys: [mine.publicKey, theirs.publicKey] }
const account = Multisig.address(preimage)
const payment = (sender: Uint8Array): Uint8Array =>
  Transaction.encode({ type: 'pay', snd: sender, amt: 5n, fv: 1n, lv: 2n, gh: theirs.publicKey })
const couldNotDecode = 'could not decode request body'

/** The members that JSON.stringify can write, followed by `raw`, which it cannot. */
type Post = (path: string, body: object, raw?: string) => Promise<TestResponse>

async function start(t: TestContext): Promise<Post> {
  const app = createApp(t)
  const { handle } = await app.unlocked()
  const post: Post = (path, body, raw = '') => {
    const json = JSON.stringify({ wallet_handle_token: handle, wallet_password: 'secret', ...body })
    return app.post(path, `${json.slice(0, -1)}${raw && `,${raw}`}}`)
  }
  await app.post('/v1/key/import', { wallet_handle_token: handle, private_key: base64(mine.secretKey) })
  const pks = preimage.publicKeys.map(base64)
  await app.post('/v1/multisig/import', { wallet_handle_token: handle, multisig_version: 1, threshold: 2, pks })
  return post
}

const refused = (response: TestResponse, message = couldNotDecode): void =>
  assert.deepEqual([response.status, response.json.message], [400, message], response.text)

test('an address is accepted as the key to sign with, as the Python and JavaScript SDKs send it', async (t) => {
  const post = await start(t)
  const address = Address.encode(mine.publicKey)
  const transaction = base64(payment(theirs.publicKey))
  const byKey = await post('/v1/transaction/sign', { transaction, public_key: base64(mine.publicKey) })
  const { sgnr } = SignedTransaction.decode(Buffer.from(byKey.json.signed_transaction, 'base64'))
  assert.deepEqual(Buffer.from(sgnr!), Buffer.from(mine.publicKey))
  for (const public_key of [address, base64(Buffer.from(address))]) {
    const response = await post('/v1/transaction/sign', { transaction, public_key })
    assert.equal(response.text, byKey.text)
  }
  // With one wrong letter it is not an address.
  const damaged = `${address.slice(0, -1)}${address.endsWith('A') ? 'E' : 'A'}`
  refused(await post('/v1/transaction/sign', { transaction, public_key: damaged }))
  const inBase64 = await post('/v1/transaction/sign', { transaction, public_key: base64(Buffer.from(damaged)) })
  refused(inBase64, 'key does not exist in this wallet')
})

test('addresses are accepted in place of the keys of a multisig', async (t) => {
  const post = await start(t)
  const [own, other] = preimage.publicKeys.map(Address.encode)
  const deleted = await post('/v1/multisig/export', { address: Address.encode(account) })
  assert.equal(deleted.status, 200)
  const partial_multisig = { v: 1, thr: 2, subsig: [{ pk: own }, { pk: other }] }
  const transaction = base64(payment(account))
  const byAddress = { transaction, public_key: own, signer: Address.encode(account), partial_multisig }
  const signed = await post('/v1/multisig/sign', byAddress)
  assert.equal(signed.status, 200, signed.text)
  const { subsig } = Multisig.decode(Buffer.from(signed.json.multisig, 'base64'))
  assert.ok(Ed25519.verify(subsig[0]!.s!, Transaction.bytesToSign(payment(account)), mine.publicKey))
})

test('ExportMultisig ignores the password that the Go SDK sends', async (t) => {
  const app = createApp(t)
  const { handle } = await app.unlocked()
  const pks = preimage.publicKeys.map(base64)
  await app.post('/v1/multisig/import', { wallet_handle_token: handle, multisig_version: 1, threshold: 2, pks })
  // The bytes of the Go SDK: members in this order, blank ones omitted.
  for (const password of ['secret', 'wrong']) {
    const body = `{"address":"${Address.encode(account)}","wallet_handle_token":"${handle}","wallet_password":"${password}"}`
    const { status, json } = await app.post('/v1/multisig/export', body)
    assert.deepEqual([status, json.pks, json.threshold], [200, pks, 2])
  }
})

const slots = [{ pk: base64(mine.publicKey) }, { pk: base64(theirs.publicKey), s: base64(new Uint8Array(64).fill(7)) }]
const documented = {
  Version: 1,
  Threshold: 2,
  Subsigs: slots.map(({ pk, s }) => ({ Key: pk, ...(s && { Sig: s }) })),
}
const reference = { v: 1, thr: 2, subsig: slots }

const mixtures: { [name: string]: object } = {
  'both whole': { ...documented, ...reference },
  'one whole, and one empty list of the other': { ...reference, Subsigs: [] },
  'one whole, and a zero of the other': { ...documented, v: 0 },
  'the list of one with the numbers of the other': { v: 1, thr: 2, Subsigs: documented.Subsigs },
  'members of one in the list of the other': { v: 1, thr: 2, subsig: documented.Subsigs },
  'members of both': { v: 1, thr: 2, subsig: slots.map((slot) => ({ ...slot, Key: slot.pk })) },
}

for (const [name, partial_multisig] of Object.entries(mixtures)) {
  test(`both spellings in one partial multisig are rejected instead of dropping one: ${name}`, async (t) => {
    const post = await start(t)
    const request = { transaction: base64(payment(account)), public_key: slots[0]!.pk }
    for (const whole of [documented, reference]) {
      const { status, json } = await post('/v1/multisig/sign', { ...request, partial_multisig: whole })
      assert.equal(status, 200)
      const { subsig } = Multisig.decode(Buffer.from(json.multisig, 'base64'))
      assert.ok(
        subsig.every(({ s }) => s !== undefined),
        'the signature of the other member stays',
      )
    }
    refused(await post('/v1/multisig/sign', { ...request, partial_multisig }))
    const program = { address: Address.encode(account), data: 'AQ==', public_key: slots[0]!.pk }
    refused(await post('/v1/multisig/signprogram', { ...program, partial_multisig }))
  })
}

test('a member sent twice is rejected if the Go daemon would merge the two', async (t) => {
  const post = await start(t)
  const [first, second] = slots.map((slot) => JSON.stringify(slot))
  const multisig = { transaction: base64(payment(account)), public_key: slots[0]!.pk }
  const bodies = [
    `"partial_multisig":{"v":1,"thr":2},"partial_multisig":{"subsig":[${first},${second}]}`,
    `"partial_multisig":{"v":1,"thr":2,"subsig":[${first},${second}],"subsig":[${first},{"pk":"${slots[1]!.pk}"}]}`,
    `"partial_multisig":{"v":1,"thr":2,"subsig":[{"pk":"${slots[0]!.pk}","pk":{}},${second}]}`,
    '"transaction":[]',
    '"public_key":[]',
    '"public_key":null',
  ]
  for (const raw of bodies) refused(await post('/v1/multisig/sign', multisig, raw))
})

const unusual: { [name: string]: object } = {
  'of an unknown type': { type: 'axe' },
  'with a first round after its last': { fv: 3n, lv: 2n },
  'without a genesis hash': { gh: undefined },
  'without rounds or fee': { fv: undefined, lv: undefined },
}

for (const [name, fields] of Object.entries(unusual)) {
  test(`a transaction ${name} is signed, as by the Go daemon: the ledger decides whether to accept it`, async (t) => {
    const post = await start(t)
    const usual = { type: 'pay', snd: mine.publicKey, fv: 1n, lv: 2n, gh: theirs.publicKey }
    const bytes = Transaction.encode({ ...usual, ...fields } as Transaction.Transaction)
    const response = await post('/v1/transaction/sign', { transaction: base64(bytes) })
    assert.equal(response.status, 200, response.text)
    const { sig } = SignedTransaction.decode(Buffer.from(response.json.signed_transaction, 'base64'))
    assert.ok(Ed25519.verify(sig!, Transaction.bytesToSign(bytes), mine.publicKey))
  })
}
