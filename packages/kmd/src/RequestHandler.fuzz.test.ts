import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  Address,
  Ed25519,
  Multisig,
  Program,
  SignedOffer,
  SignedReceipt,
  SignedTransaction,
  Transaction,
} from '@latchkey/algorand'
import type { Field, Kind } from '@latchkey/kmd-api'
import fc from 'fast-check'
import { anyCharacter } from '../../../test/anyCharacter.mjs'
import { operations } from './api/Operations.js'
import { createApp, fuzzRuns, quietNode, type TestApp, type TestResponse } from './testing/TestApp.test.helper.js'
import '../../../test/seed.mjs'

/** With fewer cases, hardly any of them signs anything. */
const numRuns = Math.max(1_000, fuzzRuns(5_000))
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64')

/** The daemon's content, for requests that pass its checks. Cases may end handles and wallets. */
type World = { app: TestApp; id: string; handle: string; key: Uint8Array; account: Uint8Array; partial: object }

async function populate(app: TestApp): Promise<World> {
  const { id, handle } = await app.unlocked('', 'secret')
  const { address } = (await app.post('/v1/key', { wallet_handle_token: handle })).json
  const key = Address.decode(address)
  const publicKeys = [key, new Uint8Array(32).fill(9)]
  const pks = publicKeys.map(base64)
  const preimage = { wallet_handle_token: handle, multisig_version: 1, threshold: 1, pks }
  const account = Address.decode((await app.post('/v1/multisig/import', preimage)).json.address)
  return { app, id, handle, key, account, partial: { v: 1, thr: 1, subsig: pks.map((pk) => ({ pk })) } }
}

/**
 * Operations that may end the handle or remove its wallet's content. These are tried less often, because everything is
 * then created again.
 */
const spoiling = new Set([
  ...['ReleaseWalletHandleToken', 'ChangeWalletPassword', 'DeleteWallet', 'DeleteKey', 'DeleteMultisig'],
  'CreateWallet',
])
const anyOperation = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...operations.filter(({ id }) => !spoiling.has(id))) },
  { weight: 1, arbitrary: fc.constantFrom(...operations.filter(({ id }) => spoiling.has(id))) },
)

const transaction = fc.record(
  {
    fee: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    fv: fc.bigInt({ min: 0n, max: 100n }),
    note: fc.uint8Array({ maxLength: 40 }),
    amt: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    rcv: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    gen: fc.string({ maxLength: 10 }),
  },
  { requiredKeys: [] },
)
/** Trailing bytes, which are neither read nor signed. */
const trailing = fc.oneof(fc.constant(new Uint8Array(0)), fc.uint8Array({ maxLength: 3 }))
const edit = fc.record({ at: fc.nat(), how: fc.nat({ max: 3 }), byte: fc.nat({ max: 255 }) })
const edits = fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(edit, { minLength: 1, maxLength: 3 }))

function mutate(source: Uint8Array, changes: readonly { at: number; how: number; byte: number }[]): Buffer {
  const bytes = [...source]
  for (const { at, how, byte } of changes) {
    const place = at % (bytes.length + 1)
    if (how === 0) bytes[place] = byte
    else if (how === 1) bytes.splice(place, 1)
    else if (how === 2) bytes.splice(place, 0, byte)
    else bytes.length = place
  }
  return Buffer.from(bytes)
}

/** A member that is nearly always valid, and otherwise of its type, or anything at all. */
function member({ name, kind }: Field): fc.Arbitrary<(world: World) => unknown> {
  const right = rightMember(name)
  const others: fc.WeightedArbitrary<(world: World) => unknown>[] = [
    { weight: right === undefined ? 4 : 1, arbitrary: ofKind(kind).map((value) => () => value) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }).map((value) => () => value) },
  ]
  return right === undefined ? fc.oneof(...others) : fc.oneof({ weight: 12, arbitrary: right }, ...others)
}

function rightMember(name: string): fc.Arbitrary<(world: World) => unknown> | undefined {
  switch (name) {
    case 'wallet_handle_token':
      return fc.constant(({ handle }) => handle)
    case 'wallet_id':
      return fc.constant(({ id }) => id)
    case 'wallet_password':
    case 'new_wallet_password':
      return fc.constant(() => 'secret')
    case 'wallet_driver_name':
      return fc.constant(() => 'sqlite')
    case 'address':
      return fc.boolean().map(
        (single) =>
          ({ key, account }: World) =>
            Address.encode(single ? key : account),
      )
    case 'addresses':
      return fc.constant(({ key, account }) => [key, account].map((bytes) => Address.encode(bytes)))
    case 'transaction_ids':
      return fc.constant(() => ['A'.repeat(52)])
    case 'ticket':
      return fc.constant(({ app }) => app.tickets.create())
    case 'public_key':
      return fc.boolean().map(
        (integers) =>
          ({ key }: World) =>
            integers ? [...key] : base64(key),
      )
    case 'partial_multisig':
      return fc.boolean().map(
        (absent) =>
          ({ partial }: World) =>
            absent ? {} : partial,
      )
    case 'signer':
      return fc.boolean().map(
        (absent) =>
          ({ account }: World) =>
            absent ? '' : base64(account),
      )
    case 'transaction':
      return fc
        .tuple(transaction, edits, fc.boolean(), trailing)
        .map(([fields, changes, single, rest]) => ({ key, account }: World) => {
          const encoded = Transaction.encode({ type: 'pay', ...fields, snd: single ? key : account })
          return base64(Buffer.concat([mutate(encoded, changes), rest]))
        })
    default:
      return undefined
  }
}

function ofKind(kind: Kind): fc.Arbitrary<unknown> {
  switch (kind.type) {
    case 'bool':
      return fc.boolean()
    case 'uint':
      return fc.nat({ max: 2_000 })
    case 'uint8':
      return fc.nat({ max: 260 })
    case 'list':
      return fc.array(ofKind(kind.of), { maxLength: 3 })
    case 'object':
      return fc.record(Object.fromEntries(kind.fields.map((field) => [field.name, ofKind(field.kind)])), {
        requiredKeys: [],
      })
    case 'bytes':
    case 'fixed':
    case 'privateKey':
      return fc.uint8Array({ minLength: 0, maxLength: 66, size: 'max' }).map(base64)
    default:
      return fc.string({ unit: anyCharacter, maxLength: 66 })
  }
}

const anyRequest = anyOperation.chain((operation) => {
  const members = Object.fromEntries(operation.request.map((field) => [field.name, member(field)]))
  return fc.record({
    operation: fc.constant(operation),
    members: fc.record(members),
    damage: fc.oneof({ weight: 5, arbitrary: fc.constant([]) }, edits),
  })
})

/** Checks that every returned signature is valid over the canonical form of the transaction that was sent. */
function verifySignatures(id: string, sent: Record<string, unknown>, response: TestResponse, world: World): boolean {
  if (id === 'SignTransaction') {
    const canonical = Transaction.canonicalize(bytesOf(sent['transaction'] as string)).bytes
    const { txn, sig, sgnr } = SignedTransaction.decode(bytesOf(response.json.signed_transaction))
    assert.deepEqual(Buffer.from(Transaction.encode(txn)), Buffer.from(canonical))
    assert.ok(Ed25519.verify(sig!, Transaction.bytesToSign(canonical), sgnr ?? txn.snd))
  } else if (id === 'SignProgram') {
    const key = Address.decode(sent['address'] as string)
    assert.ok(Ed25519.verify(bytesOf(response.json.sig), Program.bytesToSign(bytesOf(sent['data'] as string)), key))
  } else if (id === 'SignReceipt') {
    const { signer, receipt } = SignedReceipt.verify(response.json.receipt)
    assert.deepEqual([signer, receipt.payer], [sent['address'], sent['payer']])
  } else if (id === 'SignOffer') {
    const { signer, offer } = SignedOffer.verify(response.json.offer)
    assert.deepEqual([signer, offer.payTo], [sent['address'], sent['pay_to']])
  } else if (id === 'SignMultisigTransaction') {
    const canonical = Transaction.canonicalize(bytesOf(sent['transaction'] as string)).bytes
    verifyOwnSlot(response, Transaction.bytesToSign(canonical), world)
  } else if (id === 'SignMultisigProgram') {
    const data = bytesOf(sent['data'] as string)
    const isLegacy = sent['use_legacy_msig'] === true
    verifyOwnSlot(
      response,
      isLegacy ? Program.bytesToSign(data) : Program.multisigBytesToSign(world.account, data),
      world,
    )
  } else {
    return false
  }
  return true
}

function verifyOwnSlot(response: TestResponse, message: Uint8Array, { key }: World): void {
  const { subsig } = Multisig.decode(bytesOf(response.json.multisig))
  const own = subsig.find(({ pk }) => Buffer.from(pk).equals(key))
  assert.ok(Ed25519.verify(own!.s!, message, key))
}

const isText = (value: unknown): boolean => typeof value === 'string'

for (const wire of ['reference', 'documented'] as const) {
  test(`any request gets a response, never an internal error, on the ${wire} wire`, async (t: TestContext) => {
    const app = createApp(t, { lifetimeMs: 1e15, wire, node: quietNode })
    let world = await populate(app)
    let verified = 0
    await fc.assert(
      fc.asyncProperty(anyRequest, async ({ operation, members, damage }) => {
        // Long enough for any wait caused by wrong passwords of earlier cases.
        app.advance(300_000)
        const sent: Record<string, unknown> = {}
        for (const [name, value] of Object.entries(members)) sent[name] = value(world)
        const body = mutate(Buffer.from(JSON.stringify(sent)), damage)
        const response = await app.request(operation.method, operation.path, { body })
        assert.ok(response.status < 500, `${response.status} ${response.text} ${app.failures.at(-1)}`)
        assert.equal(response.json.error === true, response.status !== 200)
        if (spoiling.has(operation.id)) world = await populate(app)
        const isPlain = damage.length === 0 && [sent['transaction'], sent['data']].some(isText)
        if (response.status === 200 && isPlain && verifySignatures(operation.id, sent, response, world)) verified++
      }),
      { numRuns: Math.ceil(numRuns / 2) },
    )
    assert.ok(verified > numRuns / 1000, `only ${verified} signatures were made`)
    assert.deepEqual(app.failures, [])
  })
}
