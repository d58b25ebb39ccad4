/** Compares the core in a browser with the results of Node and libsodium. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bundle, call } from './bundle.test.helper.js'
import { launch } from './chromium.test.helper.js'

/** Everything here runs twice: bundled in Chromium, and in Node. */
const source = `
import * as Latchkey from '@latchkey/algorand'
const { Address, Bytes, Description, Ed25519, Group, Hash, KeyDerivation, Mnemonic, Multisig, Network } = Latchkey
const { SignedTransaction, Submission, Transaction, TransactionFile } = Latchkey

const seeds = [1, 2].map((fill) => new Uint8Array(32).fill(fill))
const [alice, bob] = seeds.map((seed) => Ed25519.keyPairFromSeed(seed))
const payment = {
  type: 'pay', snd: alice.publicKey, rcv: bob.publicKey, amt: 1_500_000n, fee: 1000n, fv: 1n, lv: 1000n,
  gen: Network.testnet.genesisId, gh: Bytes.fromBase64(Network.testnet.genesisHash), note: Bytes.fromUtf8('für Äpfel 🍏'),
}
const asset = {
  type: 'acfg', snd: bob.publicKey, fee: 1000n, fv: 1n, lv: 1000n,
  gh: Bytes.fromBase64(Network.mainnet.genesisHash), apar: { t: 10n, dc: 2, un: 'ä', an: Uint8Array.of(0xff), m: bob.publicKey },
}

export function sign() {
  const { bytes, sender } = Transaction.canonicalize(Transaction.encode(payment))
  const signature = Ed25519.sign(Transaction.bytesToSign(bytes), alice.secretKey)
  const signed = SignedTransaction.attach(bytes, sender, signature, alice.publicKey)
  return { signed: Bytes.toBase64(signed), id: Transaction.id(bytes), address: Address.encode(sender) }
}

export function verify(signedBase64) {
  const { sig, txn } = SignedTransaction.decode(Bytes.fromBase64(signedBase64))
  const message = Transaction.bytesToSign(Transaction.encode(txn))
  const changed = sig.slice()
  changed[0] ^= 1
  return [Ed25519.verify(sig, message, txn.snd), Ed25519.verify(changed, message, txn.snd), Ed25519.verify(sig, message, bob.publicKey)]
}

export function decode(signedBase64) {
  const [first] = Submission.decodeAll(Bytes.fromBase64(signedBase64), 16)
  const json = JSON.stringify(Submission.toJson(first.signed), (_, value) => (typeof value === 'bigint' ? String(value) : value))
  const [member] = TransactionFile.decode(Bytes.fromBase64(signedBase64))
  return { json, isSigned: member.isSigned, note: Bytes.toUtf8(member.transaction.note) }
}

export function describe() {
  return [payment, asset, { ...payment, type: 'pay', close: bob.publicKey, rekey: bob.publicKey }].map((one) => Description.describe(one))
}

export function derive() {
  const multisig = { version: 1, threshold: 2, publicKeys: [alice.publicKey, bob.publicKey] }
  return {
    words: Mnemonic.encode(seeds[0]),
    back: Bytes.toHex(Mnemonic.decode(Mnemonic.encode(seeds[1]))),
    derived: Bytes.toHex(KeyDerivation.seed(seeds[0], 7)),
    group: Bytes.toHex(Group.id([payment, { ...payment, amt: 2n }])),
    multisig: Address.encode(Multisig.address(multisig)),
    digests: [Hash.sha256(seeds[0]), Hash.hmacSha256(seeds[0], seeds[1]), Hash.hash('TX', seeds[1])].map(Bytes.toHex),
    random: Bytes.random(24).length,
  }
}

export function refuse() {
  const attempts = [
    () => Address.decode('nonsense'),
    () => Transaction.decode(Bytes.fromHex('81a3666f6f01')),
    () => Transaction.decode(new Uint8Array()),
    () => Network.resolve('tesnet'),
    () => Mnemonic.decode('abandon'),
  ]
  return attempts.map((run) => {
    try { return run() } catch ({ name, code, message, hint }) { return { name, code, message, hint } }
  })
}
`

test('the core bundles for browsers and edge runtimes without Node modules', async (t) => {
  for (const conditions of [undefined, ['workerd', 'worker', 'browser']]) {
    const { nodeImports, code } = await bundle(t, { source, ...(conditions && { conditions }) })
    assert.deepEqual(nodeImports, [])
    assert.doesNotMatch(code, /\bBuffer\.|\brequire\(|\bprocess\./)
  }
})

test('the core signs, verifies, decodes and describes in Chromium as it does in Node', async (t) => {
  const bundled = await bundle(t, { source })
  const page = await (await launch(t)).newPage()
  const inNode = (await import(pathToNode(source))) as { [name: string]: (...args: unknown[]) => unknown }
  const { signed } = inNode['sign']!() as { signed: string }
  const calls: readonly [string, ...unknown[]][] = [
    ['sign'],
    ['verify', signed],
    ['decode', signed],
    ['describe'],
    ['derive'],
    ['refuse'],
  ]
  for (const [name, ...args] of calls) {
    const expected: unknown = inNode[name]!(...args)
    assert.deepEqual(await call(page, bundled, name, ...args), expected, name)
  }
  assert.deepEqual(inNode['verify']!(signed), [true, false, false])
})

/** Writes the same text as a Node module, in a place from which the package resolves. */
function pathToNode(text: string): string {
  const entry = import.meta.resolve('@latchkey/algorand')
  return `data:text/javascript,${encodeURIComponent(text.replace("'@latchkey/algorand'", JSON.stringify(entry)))}`
}
