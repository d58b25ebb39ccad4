/** Tests a daemon that returns something other than the requested signature: nothing is written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Bytes, Ed25519, Multisig, SignedTransaction, Transaction, TransactionFile } from '@latchkey/algorand'
import type { Wallet } from '@latchkey/kmd-client'
import * as Plan from './Plan.js'

const pairs = [1, 2, 3].map((fill) => Ed25519.keyPairFromSeed(new Uint8Array(32).fill(fill)))
const [alice, bob, carol] = pairs as [Ed25519.KeyPair, Ed25519.KeyPair, Ed25519.KeyPair]
const address = ({ publicKey }: Ed25519.KeyPair): string => Address.encode(publicKey)
const payment = { type: 'pay', snd: alice.publicKey, rcv: bob.publicKey, amt: 5n, fee: 1000n, lv: 9n }
const bytes = Transaction.encode(payment)

function signatureOf(transaction: Uint8Array, { secretKey }: Ed25519.KeyPair): Uint8Array {
  return Ed25519.sign(Transaction.bytesToSign(transaction), secretKey)
}

function signed(transaction: Transaction.Transaction, pair: Ed25519.KeyPair): Uint8Array {
  return SignedTransaction.encode({ sig: signatureOf(Transaction.encode(transaction), pair), txn: transaction })
}

/** A wallet with the keys of alice and bob, and the given responses. */
function wallet(responses: Partial<Record<keyof Wallet, unknown>>): Wallet {
  const keys = async (): Promise<string[]> => [alice, bob].map(address)
  return { name: 'test', keys, ...responses } as unknown as Wallet
}

async function sign(response: Uint8Array, given: Plan.Given = {}): Promise<Plan.Signed | undefined> {
  const steps = await Plan.create(
    TransactionFile.decode(bytes),
    wallet({ signTransaction: async () => response }),
    given,
  )
  return steps[0]!.sign?.()
}

test('accepts a valid signature', async () => {
  const response = signed(payment, alice)
  assert.deepEqual(await sign(response), { bytes: response, missing: 0 })
})

test('rejects a response that signs something else', async () => {
  const right = signed(payment, alice)
  const damaged = right.slice()
  damaged[10]! ^= 1
  const wrong: { [what: string]: Uint8Array } = {
    'another transaction': signed({ ...payment, amt: 5_000_000n }, alice),
    'another key': signed(payment, bob),
    'a damaged signature': damaged,
    'no signature': SignedTransaction.encode({ txn: payment }),
    'another signer named': SignedTransaction.attach(bytes, alice.publicKey, signatureOf(bytes, bob), bob.publicKey),
    'two transactions': Bytes.concat([right, right]),
    'the transaction alone': bytes,
    'no transaction': Uint8Array.of(1, 2, 3),
  }
  for (const [what, response] of Object.entries(wrong)) {
    await assert.rejects(sign(response), /returned no valid signature; nothing was written/, what)
  }
})

test('requires the requested key as signer for a rekeyed account', async () => {
  const byBob = SignedTransaction.attach(bytes, alice.publicKey, signatureOf(bytes, bob), bob.publicKey)
  assert.deepEqual((await sign(byBob, { key: address(bob) }))?.bytes, byBob)
  await assert.rejects(sign(signed(payment, alice), { key: address(bob) }), /no valid signature/)
})

test('rejects a key that the wallet does not have', async () => {
  await assert.rejects(
    sign(bytes, { key: address(carol) }),
    /does not have the key of [A-Z2-7]{58}; nothing was signed/,
  )
})

const preimage = { version: 1, threshold: 2, publicKeys: pairs.map(({ publicKey }) => publicKey) }
const account = Multisig.address(preimage)
const spend = { ...payment, snd: account }
const spendBytes = Transaction.encode(spend)

async function signMultisig(response: Multisig.Signature): Promise<Plan.Signed | undefined> {
  const signer = wallet({
    exportMultisig: async () => preimage,
    signMultisigTransaction: async () => Multisig.encode(response),
  })
  const given = { multisig: Address.encode(account), member: address(alice) }
  return (await Plan.create(TransactionFile.decode(spendBytes), signer, given))[0]!.sign?.()
}

test('accepts a multisig only with a valid signature for the right account', async () => {
  const empty = Multisig.empty(preimage)
  const own = Multisig.addSignature(empty, alice.publicKey, signatureOf(spendBytes, alice))
  assert.deepEqual(await signMultisig(own), {
    bytes: SignedTransaction.encode({ msig: own, txn: spend }),
    missing: 1,
  })
  await assert.rejects(signMultisig(empty), /no valid signature/)
  const other = Multisig.addSignature(empty, alice.publicKey, signatureOf(bytes, alice))
  await assert.rejects(signMultisig(other), /no valid signature/)
  await assert.rejects(signMultisig({ ...own, thr: 1 }), /belong to a different account than/)
  await assert.rejects(signMultisig({ ...own, thr: 9 }), /belong to a different account than/)
  const beside = Multisig.addSignature(own, bob.publicKey, signatureOf(bytes, bob))
  await assert.rejects(signMultisig(beside), /existing signature of .* is invalid/)
})

test('signs the own transactions of a group and passes the others on unchanged', async () => {
  const foreign = SignedTransaction.encode({
    sig: signatureOf(bytes, carol),
    txn: { ...payment, snd: carol.publicKey },
  })
  const unsigned = Transaction.encode({ ...payment, snd: carol.publicKey })
  const members = TransactionFile.decode(Bytes.concat([bytes, foreign, unsigned]))
  const steps = await Plan.create(members, wallet({}), {})
  assert.deepEqual(
    steps.map((step) => step.sign !== undefined),
    [true, false, false],
  )
  assert.deepEqual(Plan.encodeUnchanged(members[1]!), foreign)
  assert.deepEqual(TransactionFile.decode(Plan.encodeUnchanged(members[2]!))[0]!.bytes, unsigned)
})

test('a key that is not a sender signs all transactions, as for accounts rekeyed to it', async () => {
  const members = TransactionFile.decode(
    Bytes.concat([bytes, Transaction.encode({ ...payment, snd: carol.publicKey })]),
  )
  const isSigned = async (key: Ed25519.KeyPair): Promise<boolean[]> =>
    (await Plan.create(members, wallet({}), { key: address(key) })).map(({ sign: work }) => work !== undefined)
  assert.deepEqual(await isSigned(bob), [true, true])
  assert.deepEqual(await isSigned(alice), [true, false])
})
