/** Checks signatures with code that the daemon does not use: Ed25519 of OpenSSL, and algosdk. */
import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import * as algosdk from 'algosdk'

export function isSignature(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), publicKey])
  return verify(null, message, createPublicKey({ key: spki, format: 'der', type: 'spki' }), signature)
}

/** Asserts that the bytes are `transaction`, signed by `signer`, which must be named if it is not the sender. */
export function assertSigned(signed: Uint8Array, transaction: algosdk.Transaction, signer: string): void {
  const decoded = algosdk.decodeSignedTransaction(signed)
  assert.equal(decoded.txn.txID(), transaction.txID())
  const sender = transaction.sender.toString()
  assert.equal(decoded.sgnr?.toString(), signer === sender ? undefined : signer)
  const { publicKey } = algosdk.decodeAddress(signer)
  assert.ok(decoded.sig !== undefined, 'there is a signature')
  assert.ok(isSignature(publicKey, transaction.bytesToSign(), decoded.sig), 'the signature is right')
  assert.deepEqual(Buffer.from(algosdk.encodeMsgpack(decoded)), Buffer.from(signed), 'the encoding is canonical')
}

/** Asserts that the bytes are a multisig of `members` in which exactly `signers` have signed `message`. */
export function assertMultisigned(
  multisig: algosdk.EncodedMultisig,
  metadata: algosdk.MultisigMetadata,
  message: Uint8Array,
  signers: readonly string[],
): void {
  assert.equal(multisig.v, metadata.version)
  assert.equal(multisig.thr, metadata.threshold)
  const members = multisig.subsig.map(({ pk }) => algosdk.encodeAddress(pk))
  assert.deepEqual(members, metadata.addrs.map(String))
  const signed = multisig.subsig.filter(({ s }) => s !== undefined)
  for (const { pk, s } of signed) assert.ok(isSignature(pk, message, s!), 'each signature is right')
  assert.deepEqual(
    signed.map(({ pk }) => algosdk.encodeAddress(pk)),
    signers,
  )
}

export function programMessage(program: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from('Program'), program])
}

export function multisigProgramMessage(address: string, program: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from('MsigProgram'), algosdk.decodeAddress(address).publicKey, program])
}
