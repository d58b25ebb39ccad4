/**
 * Encrypts agents' private keys with a key derived from the token. Neither the token nor the sealed keys alone can
 * sign.
 */
import { Ed25519 } from '@latchkey/algorand'
import { sodium } from '@latchkey/algorand/sodium'
import { KmdError } from '../errors.js'
import * as Secret from '../wallet/Secret.js'

const nonceLength = 24
const tagLength = 16
const sealedLength = nonceLength + tagLength + Ed25519.secretKeyLength

/** Returns a nonce and the secretbox of a 64-byte private key. */
export function seal(privateKey: Uint8Array, key: Uint8Array): Buffer {
  if (privateKey.length !== Ed25519.secretKeyLength)
    throw new KmdError('bad_agent', { message: 'a private key has 64 bytes' })
  const sealed = Buffer.alloc(sealedLength)
  const nonce = sealed.subarray(0, nonceLength)
  sodium.randombytes_buf(nonce)
  sodium.crypto_secretbox_easy(sealed.subarray(nonceLength), privateKey, nonce, key)
  return sealed
}

/**
 * Signs with a sealed key, which is decrypted in protected memory only for the duration of the signature.
 *
 * @throws KmdError `agent_ended` if the key does not open, or does not match the public key
 */
export function sign(sealed: Uint8Array, key: Uint8Array, publicKey: Uint8Array, message: Uint8Array): Uint8Array {
  opened ??= Secret.allocate(Ed25519.secretKeyLength)
  try {
    const isOpen =
      sealed.length === sealedLength &&
      sodium.crypto_secretbox_open_easy(opened, sealed.subarray(nonceLength), sealed.subarray(0, nonceLength), key)
    if (!isOpen || Buffer.compare(opened.subarray(Ed25519.seedLength), publicKey) !== 0) {
      throw new KmdError('agent_ended', { message: "this agent's sealed key cannot be opened: it is damaged" })
    }
    return Ed25519.sign(message, opened)
  } finally {
    Secret.wipe(opened)
  }
}

/** Shared: all code here is synchronous, so uses never overlap. */
let opened: Buffer | undefined
