/** Private keys of agents under the key of a token: without the token they are noise, without them the token signs nothing. */
import { Ed25519 } from '@latchkey/algorand'
import { sodium } from '@latchkey/algorand/sodium'
import { KmdError } from '../errors.js'
import * as Secret from '../wallet/Secret.js'

const nonceLength = 24
const tagLength = 16
const sealedLength = nonceLength + tagLength + Ed25519.secretKeyLength

/** A nonce and the secretbox of a private key of 64 bytes. */
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
 * Signs with a sealed key, which is open in protected memory for the time of the signature only.
 *
 * @throws KmdError `agent_ended` if the key does not open, or is not that of the public key
 */
export function sign(sealed: Uint8Array, key: Uint8Array, publicKey: Uint8Array, message: Uint8Array): Uint8Array {
  opened ??= Secret.allocate(Ed25519.secretKeyLength)
  try {
    const isOpen =
      sealed.length === sealedLength &&
      sodium.crypto_secretbox_open_easy(opened, sealed.subarray(nonceLength), sealed.subarray(0, nonceLength), key)
    if (!isOpen || Buffer.compare(opened.subarray(Ed25519.seedLength), publicKey) !== 0) {
      throw new KmdError('agent_ended', { message: 'the sealed key of this agent does not open: it was damaged' })
    }
    return Ed25519.sign(message, opened)
  } finally {
    Secret.wipe(opened)
  }
}

/** Shared: nothing here is asynchronous, so uses never overlap. */
let opened: Buffer | undefined
