import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Address, Ed25519, Mnemonic, Multisig, SignedTransaction, Transaction } from '@latchkey/algorand'
import * as Signer from './Signer.js'

const seed = new Uint8Array(randomBytes(32))
const { publicKey, secretKey } = Ed25519.keyPairFromSeed(seed)
const address = Address.encode(publicKey)
const other = Ed25519.publicKey(new Uint8Array(randomBytes(32)))

function payment(sender: Uint8Array = publicKey): Transaction.Transaction {
  return { type: 'pay', snd: sender, rcv: other, amt: 1n, fee: 1_000n, lv: 9n, gh: new Uint8Array(32).fill(1) }
}

async function check(signer: Signer.Signer, txn: Transaction.Transaction): Promise<void> {
  const signed = SignedTransaction.decode(await Signer.signTransaction(signer, txn))
  const message = Transaction.bytesToSign(Transaction.encode(txn))
  assert.ok(Ed25519.verify(signed.sig!, message, signed.sgnr ?? txn.snd))
}

test('a key signs', async (t) => {
  const kinds: { [name: string]: () => Signer.Signer } = {
    'from its 25 words': () => Signer.fromMnemonic(Mnemonic.encode(seed)),
    'from seed and public key in base64': () => Signer.fromSecretKey(`${Buffer.from(secretKey).toString('base64')}\n`),
    'from its seed': () => Signer.fromSeed(seed),
  }
  for (const [name, make] of Object.entries(kinds)) {
    await t.test(name, async () => {
      const before = seed.slice()
      const signer = make()
      assert.equal(signer.address, address)
      await check(signer, payment())
      assert.deepEqual(seed, before, 'the seed is still the caller’s')
    })
  }

  await t.test('for a rekeyed account', async () => {
    const signer = Signer.fromSeed(seed, { sender: Address.encode(other) })
    assert.equal(signer.sender, Address.encode(other))
    await check(signer, payment(other))
  })
})

test('refuses invalid keys', () => {
  const mixed = Buffer.concat([seed, other]).toString('base64')
  assert.throws(() => Signer.fromSecretKey(mixed), { message: /does not belong to the seed/ })
  for (const text of ['', 'x', Buffer.from(seed).toString('base64'), `${mixed}AAAA`, mixed.replace(/^./, '-')]) {
    assert.throws(() => Signer.fromSecretKey(text), Signer.SignerError)
  }
  assert.throws(() => Signer.fromSecretKey(undefined as never), { code: 'invalid_secret_key' })
  assert.throws(() => Signer.fromMnemonic(undefined as never), Mnemonic.MnemonicError)
  assert.throws(() => Signer.fromMnemonic('abandon '.repeat(25).trim()), Mnemonic.MnemonicError)
})

test('refuses a signer that returns', async (t) => {
  const honest = Signer.fromSeed(seed)
  const sign = (own: Partial<Signer.Signer>) => Signer.signTransaction({ ...honest, ...own }, payment())

  await t.test('another transaction', async () => {
    const more = Transaction.encode({ ...payment(), amt: 1_000_000n })
    await assert.rejects(sign({ sign: () => honest.sign(more) }), { message: /a different transaction/ })
  })

  await t.test('an invalid signature', async () => {
    const txn = payment()
    const broken = SignedTransaction.encode({ sig: new Uint8Array(64).fill(7), txn })
    await assert.rejects(sign({ sign: () => broken }), { message: /invalid signature/ })
    await assert.rejects(sign({ sign: () => SignedTransaction.encode({ txn }) }), { message: /invalid signature/ })
  })

  await t.test('a signature of another key', async () => {
    const stranger = Signer.fromSeed(new Uint8Array(randomBytes(32)))
    await assert.rejects(sign({ sign: stranger.sign }), {
      message: new RegExp(`as ${stranger.address}, not as ${address}`),
    })
  })

  await t.test('anything other than a signed transaction', async () => {
    for (const bytes of [new Uint8Array(0), Uint8Array.of(0x80), Transaction.encode(payment()), new Uint8Array(99)]) {
      await assert.rejects(sign({ sign: () => bytes }), Signer.SignerError)
    }
  })
})

test('a multisig account signs with enough members', async () => {
  const multisig = { version: 1, threshold: 2, publicKeys: [publicKey, other] }
  const account = Multisig.address(multisig)
  const txn = payment(account)
  const members = (count: number): Signer.Signer => ({
    address: Address.encode(account),
    sign: (bytes) => {
      const message = Transaction.bytesToSign(bytes)
      let msig = Multisig.empty(threshold(count))
      msig = Multisig.addSignature(msig, publicKey, Ed25519.sign(message, secretKey))
      return SignedTransaction.encode({ msig, txn })
    },
  })
  const threshold = (count: number) => ({ ...multisig, threshold: count })
  await assert.rejects(Signer.signTransaction(members(2), txn), { message: /invalid signature/ })
  const one = Multisig.address(threshold(1))
  const signer = { ...members(1), address: Address.encode(one) }
  await assert.rejects(Signer.signTransaction(signer, txn), Signer.SignerError)
  const own = payment(one)
  const good: Signer.Signer = {
    address: Address.encode(one),
    sign: (bytes) => {
      const sig = Ed25519.sign(Transaction.bytesToSign(bytes), secretKey)
      return SignedTransaction.encode({
        msig: Multisig.addSignature(Multisig.empty(threshold(1)), publicKey, sig),
        txn: own,
      })
    },
  }
  assert.ok((await Signer.signTransaction(good, own)).length > 0)
})

test('a key of this process signs the transaction as given, and a copy of its signer with another address is refused', async () => {
  const signer = Signer.fromSeed(seed)
  const rekeyed = payment(other)
  const signed = SignedTransaction.decode(await Signer.signTransaction({ ...signer }, rekeyed))
  assert.deepEqual(signed.txn, SignedTransaction.decode(await signer.sign(Transaction.encode(rekeyed))).txn)
  assert.deepEqual(signed.sgnr, publicKey)
  const copy = { ...signer, address: Address.encode(other) }
  await assert.rejects(Signer.signTransaction(copy, payment()), { code: 'invalid_signature' })
  const lying: Signer.Signer = { ...signer, sign: () => signer.sign(Transaction.encode({ ...payment(), amt: 2n })) }
  await assert.rejects(Signer.signTransaction(lying, payment()), { code: 'invalid_signature' })
})
