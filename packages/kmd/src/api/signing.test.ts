import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Address, Ed25519, Multisig, Program, SignedTransaction, Transaction } from '@latchkey/algorand'
import { createApp, type TestApp, type TestResponse } from '../testing/TestApp.test.helper.js'

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64')
const pair = (number: number): Ed25519.KeyPair => Ed25519.keyPairFromSeed(new Uint8Array(32).fill(number))
/** `mine` and `second` are in the wallet, `theirs` is not. */
const [mine, second, theirs, stranger] = [pair(1), pair(2), pair(3), pair(4)] as const
const preimage = { version: 1, threshold: 2, publicKeys: [mine.publicKey, theirs.publicKey, mine.publicKey] }
const account = Multisig.address(preimage)
const program = Buffer.from('a program')

const payment = (sender: Uint8Array): Uint8Array => Transaction.encode({ type: 'pay', snd: sender, amt: 5n })
const members = (signatures: { [slot: number]: string } = {}, keys = preimage.publicKeys) =>
  keys.map((key, slot) => ({ pk: base64(key), ...(signatures[slot] === undefined ? {} : { s: signatures[slot] }) }))
const partial = (signatures?: { [slot: number]: string }) => ({ v: 1, thr: 2, subsig: members(signatures) })

type Setup = {
  app: TestApp
  post: (path: string, body: object) => Promise<TestResponse>
  sign: (body?: object) => Promise<TestResponse>
  signProgram: (body?: object) => Promise<TestResponse>
}

async function start(t: TestContext, { imported = true } = {}): Promise<Setup> {
  const app = createApp(t)
  const { handle } = await app.unlocked()
  const post: Setup['post'] = (path, body) => app.post(path, { wallet_handle_token: handle, ...body })
  for (const { secretKey } of [mine, second]) await post('/v1/key/import', { private_key: base64(secretKey) })
  if (imported) {
    await post('/v1/multisig/import', { multisig_version: 1, threshold: 2, pks: preimage.publicKeys.map(base64) })
  }
  const common = { wallet_password: 'secret', public_key: base64(mine.publicKey) }
  const sign: Setup['sign'] = (body = {}) =>
    post('/v1/multisig/sign', { ...common, transaction: base64(payment(account)), ...body })
  const signProgram: Setup['signProgram'] = (body = {}) =>
    post('/v1/multisig/signprogram', { ...common, address: Address.encode(account), data: base64(program), ...body })
  return { app, post, sign, signProgram }
}

const fails = (response: TestResponse, message: string): void =>
  assert.deepEqual([response.status, response.json.message], [400, message])

/** Returns the signed slots, after verifying every signature. */
function signedSlots(response: TestResponse, message: Uint8Array, unverified: number[] = []): number[] {
  assert.equal(response.status, 200, response.text)
  const { v, thr, subsig } = Multisig.decode(bytesOf(response.json.multisig))
  assert.deepEqual([v, thr, subsig.map(({ pk }) => base64(pk))], [1, 2, preimage.publicKeys.map(base64)])
  return subsig.flatMap(({ pk, s }, slot) => {
    if (s === undefined) return []
    if (!unverified.includes(slot)) assert.ok(Ed25519.verify(s, message, pk), `slot ${slot}`)
    return [slot]
  })
}

const message = Transaction.bytesToSign(payment(account))
const multisigMissing = 'multisig information (pks, threshold) for address does not exist in this wallet'

test('without a partial, the stored preimage of the sender is signed, in every slot of the key', async (t) => {
  const { sign } = await start(t)
  for (const empty of [undefined, null, {}, [], { v: 0, thr: 0, subsig: null }]) {
    const body = empty === undefined ? {} : { partial_multisig: empty }
    assert.deepEqual(signedSlots(await sign(body), message), [0, 2])
  }
})

test('the preimage must exist, and the key must exist and be a member, checked in this order', async (t) => {
  const { sign } = await start(t)
  const elsewhere = { transaction: base64(payment(second.publicKey)) }
  fails(await sign({ ...elsewhere, public_key: base64(stranger.publicKey) }), multisigMissing)
  fails(await sign({ ...elsewhere, signer: base64(account) }), multisigMissing)
  fails(await sign({ public_key: base64(theirs.publicKey) }), 'key does not exist in this wallet')
  fails(await sign({ public_key: 'AAAA' }), 'key does not exist in this wallet')
  fails(await sign({ public_key: base64(second.publicKey) }), 'Key does not exist')
})

test('with a partial the preimage need not be stored', async (t) => {
  const { sign } = await start(t, { imported: false })
  assert.deepEqual(signedSlots(await sign({ partial_multisig: partial() }), message), [0, 2])
})

test('the signatures of others are carried over unchanged', async (t) => {
  const { sign } = await start(t)
  const foreign = base64(Ed25519.sign(message, theirs.secretKey))
  const response = await sign({ partial_multisig: partial({ 1: foreign }) })
  assert.deepEqual(signedSlots(response, message), [0, 1, 2])
  assert.equal(Multisig.verify(Multisig.decode(bytesOf(response.json.multisig)), message), true)
  const nonsense = await sign({ partial_multisig: partial({ 1: base64(new Uint8Array(64).fill(1)) }) })
  assert.deepEqual(signedSlots(nonsense, message, [1]), [0, 1, 2])
})

test('signing again changes nothing; a different signature in our slot is rejected', async (t) => {
  const { sign } = await start(t)
  const own = base64(Ed25519.sign(message, mine.secretKey))
  const first = await sign({ partial_multisig: partial() })
  const again = await sign({ partial_multisig: partial({ 0: own, 2: own }) })
  assert.equal(again.json.multisig, first.json.multisig)
  const other = base64(Ed25519.sign(Buffer.from('other'), mine.secretKey))
  fails(await sign({ partial_multisig: partial({ 2: other }) }), 'Invalid duplicates')
})

test('a signature of zeros counts as absent', async (t) => {
  const { sign } = await start(t)
  const zeros = base64(new Uint8Array(64))
  assert.deepEqual(signedSlots(await sign({ partial_multisig: partial({ 0: zeros, 1: zeros }) }), message), [0, 2])
})

const elsewhere = 'given multisig preimage hashes to neither Sender nor AuthAddr'
const wrongPartials: [what: string, partial: object, message: string][] = [
  ['another version', { ...partial(), v: 2 }, 'unknown version'],
  ['no version', { ...partial(), v: 0 }, 'unknown version'],
  ['a threshold alone', { v: 0, thr: 2, subsig: [] }, 'unknown version'],
  ['no threshold', { ...partial(), thr: 0 }, 'Invalid threshold'],
  ['a threshold that cannot be reached', { ...partial(), thr: 4 }, 'Invalid threshold'],
  ['no members', { v: 1, thr: 1, subsig: [] }, 'Invalid threshold'],
  ['another threshold', { ...partial(), thr: 1 }, elsewhere],
  [
    'another order',
    { ...partial(), subsig: members({}, [theirs.publicKey, mine.publicKey, mine.publicKey]) },
    elsewhere,
  ],
  ['a key of another length', { ...partial(), subsig: [{ pk: 'AAAA' }] }, 'each public key must be 32 bytes'],
  [
    'a signature of another length',
    partial({ 1: 'AAAB' }),
    'each signature in partial_multisig must be 64 bytes, or absent',
  ],
]
for (const [what, given, expected] of wrongPartials) {
  test(`a partial with ${what} is rejected`, async (t) => {
    const { sign, signProgram } = await start(t)
    fails(await sign({ partial_multisig: given }), expected)
    fails(await signProgram({ partial_multisig: given }), expected)
  })
}

test('a key that is not a member of the partial is rejected before the wallet is searched', async (t) => {
  const { sign } = await start(t)
  const rejected = 'given key is not a possible signer for this multisig'
  fails(await sign({ partial_multisig: partial(), public_key: base64(stranger.publicKey) }), rejected)
  fails(await sign({ partial_multisig: partial(), public_key: base64(second.publicKey) }), rejected)
  const member = { partial_multisig: partial(), public_key: base64(theirs.publicKey) }
  fails(await sign(member), 'key does not exist in this wallet')
})

test('an account rekeyed to the multisig is signed for if the request names the signer', async (t) => {
  const { sign } = await start(t)
  const transaction = payment(second.publicKey)
  const rekeyed = { transaction: base64(transaction), partial_multisig: partial() }
  fails(await sign(rekeyed), elsewhere)
  fails(await sign({ ...rekeyed, signer: base64(stranger.publicKey) }), elsewhere)
  fails(await sign({ ...rekeyed, signer: 'AAAA' }), 'signer must be 32 bytes, or absent')
  const response = await sign({ ...rekeyed, signer: base64(account) })
  assert.deepEqual(signedSlots(response, Transaction.bytesToSign(transaction)), [0, 2])
})

const documentedMembers = preimage.publicKeys.map((key) => ({ Key: [...key], Sig: [] }))

test('the documented names are equivalent', async (t) => {
  const { sign } = await start(t, { imported: false })
  const given = { Version: 1, Threshold: 2, Subsigs: documentedMembers }
  assert.deepEqual(signedSlots(await sign({ partial_multisig: given }), message), [0, 2])
  fails(await sign({ partial_multisig: { ...given, Threshold: 0 } }), 'Invalid threshold')
})

test('with the documented names, a partial without members starts with the stored preimage, if it matches', async (t) => {
  const { sign } = await start(t)
  const begin = (version: number, threshold: number): Promise<TestResponse> =>
    sign({ partial_multisig: { Version: version, Threshold: threshold, Subsigs: [] } })
  assert.deepEqual(signedSlots(await begin(1, 2), message), [0, 2])
  assert.deepEqual(signedSlots(await begin(1, 0), message), [0, 2])
  fails(await begin(1, 1), elsewhere)
  fails(await begin(2, 2), elsewhere)
})

test('a program is signed for its multisig, or in the legacy format with use_legacy_msig', async (t) => {
  const { signProgram } = await start(t)
  const current = Program.multisigBytesToSign(account, program)
  const legacy = Program.bytesToSign(program)
  assert.deepEqual(signedSlots(await signProgram(), current), [0, 2])
  assert.deepEqual(signedSlots(await signProgram({ partial_multisig: partial() }), current), [0, 2])
  assert.deepEqual(signedSlots(await signProgram({ use_legacy_msig: true }), legacy), [0, 2])
  const old = base64(Ed25519.sign(legacy, mine.secretKey))
  fails(await signProgram({ partial_multisig: partial({ 0: old }) }), 'Invalid duplicates')
  const both = { partial_multisig: partial({ 0: old }), use_legacy_msig: true }
  assert.deepEqual(signedSlots(await signProgram(both), legacy), [0, 2])
})

test('a program whose address differs from that of the partial is rejected', async (t) => {
  const { signProgram } = await start(t)
  const address = Address.encode(second.publicKey)
  fails(await signProgram({ address }), multisigMissing)
  fails(await signProgram({ address, partial_multisig: partial() }), elsewhere)
})

test('a multisig of three hundred members is stored and returned, but cannot sign', async (t) => {
  const { app, post, sign } = await start(t)
  const publicKeys = Array.from({ length: 300 }, (_, i) => (i === 7 ? mine.publicKey : new Uint8Array(32).fill(i + 1)))
  const big = { multisig_version: 1, threshold: 255, pks: publicKeys.map(base64) }
  const { address } = (await post('/v1/multisig/import', big)).json
  assert.equal(Address.encode(Multisig.address({ version: 1, threshold: 255, publicKeys })), address)
  assert.deepEqual((await post('/v1/multisig/export', { address })).json, big)
  const transaction = base64(payment(Address.decode(address as string)))
  fails(await sign({ transaction }), 'a multisig of more than 255 members cannot sign')
  assert.deepEqual(app.failures, [])
})

test('a transaction is signed over its canonical form, regardless of its encoding', async (t) => {
  const { post } = await start(t)
  const canonical = payment(mine.publicKey)
  // The same map with its members in another order, and an empty one added.
  const spelled = Buffer.concat([
    Buffer.from('84a474797065a3706179a366656500a3616d7405a3736e64c420', 'hex'),
    mine.publicKey,
  ])
  const sign = (transaction: Uint8Array, more = {}): Promise<TestResponse> =>
    post('/v1/transaction/sign', { transaction: base64(transaction), wallet_password: 'secret', ...more })
  const straight = await sign(canonical)
  assert.equal((await sign(spelled)).json.signed_transaction, straight.json.signed_transaction)
  const signed = SignedTransaction.decode(bytesOf(straight.json.signed_transaction))
  assert.equal(signed.sgnr, undefined)
  assert.ok(Ed25519.verify(signed.sig!, Transaction.bytesToSign(canonical), mine.publicKey))
  const bySecond = await sign(canonical, { public_key: [...second.publicKey] })
  const rekeyed = SignedTransaction.decode(bytesOf(bySecond.json.signed_transaction))
  assert.deepEqual(base64(rekeyed.sgnr!), base64(second.publicKey))
  assert.ok(Ed25519.verify(rekeyed.sig!, Transaction.bytesToSign(canonical), second.publicKey))
})

test('a program, even an empty one, is signed with the key of its address', async (t) => {
  const { post } = await start(t)
  for (const data of [program, Buffer.alloc(0)]) {
    const body = { address: Address.encode(mine.publicKey), data: base64(data), wallet_password: 'secret' }
    const { sig } = (await post('/v1/program/sign', body)).json
    assert.ok(Ed25519.verify(bytesOf(sig), Program.bytesToSign(data), mine.publicKey))
  }
})
