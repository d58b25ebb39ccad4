/**
 * Reads and writes the encrypted values of a wallet file in the reference's msgpack format: a map of seven members
 * around a secretbox, which holds a map of two members. Members are written even if they are zero. Unknown members are
 * rejected.
 */
import { Msgpack } from '@latchkey/algorand'
import { sodium } from '@latchkey/algorand/sodium'
import { KmdError } from '../errors.js'
import * as Secret from './Secret.js'

export type PlaintextType = 'master_key' | 'master_derivation_key' | 'max_key_idx' | 'secret_key'

/** The parameters that derive a key from a password; zeros if the key is the wallet's master key. */
export type Scrypt = { n: number; r: number; p: number }

export type Blob = {
  ciphertext: Uint8Array
  passwordDerived: boolean
  nonce: Uint8Array
  salt: Uint8Array
  scrypt: Scrypt
}

export const keyLength = 32
export const saltLength = 32
const nonceLength = 24
const tagLength = 16
const noSalt = new Uint8Array(saltLength)
const noScrypt: Scrypt = { n: 0, r: 0, p: 0 }

/** Encrypts with the wallet's master key. */
export function seal(type: PlaintextType, plaintext: Uint8Array, key: Uint8Array): Uint8Array {
  return encode({ ...encrypt(type, plaintext, key), passwordDerived: false, salt: noSalt, scrypt: noScrypt })
}

/** Encrypts with a key derived from a password. The salt and parameters are stored in the blob. */
export function sealWithPasswordKey(
  type: PlaintextType,
  plaintext: Uint8Array,
  key: Uint8Array,
  salt: Uint8Array,
  scrypt: Scrypt,
): Uint8Array {
  return encode({ ...encrypt(type, plaintext, key), passwordDerived: true, salt, scrypt })
}

/**
 * Decrypts a blob and passes the plaintext to `use`. The plaintext is in protected memory that is wiped when `use`
 * returns. A wrong key and a damaged box are indistinguishable: both throw `wrong_password`.
 */
export function open<T>(
  type: PlaintextType,
  stored: Uint8Array,
  key: Uint8Array,
  use: (plaintext: Uint8Array) => T,
): T {
  return decrypt(type, decode(stored), key, use)
}

export function decrypt<T>(type: PlaintextType, blob: Blob, key: Uint8Array, use: (plaintext: Uint8Array) => T): T {
  const length = blob.ciphertext.length - tagLength
  if (length < 0) throw new KmdError('wrong_password')
  if (length > scratchLength) throw new KmdError('damaged_blob')
  scratch ??= Secret.allocate(scratchLength)
  const message = scratch.subarray(0, length)
  try {
    if (!sodium.crypto_secretbox_open_easy(message, blob.ciphertext, blob.nonce, key))
      throw new KmdError('wrong_password')
    return use(readPlaintext(type, message))
  } finally {
    Secret.wipe(message)
  }
}

/** Shared: all code here is synchronous, so uses never overlap. The longest plaintext in the format has 108 bytes. */
let scratch: Buffer | undefined
const scratchLength = 512

/** Reads the outer map without decrypting it, for the parameters of the key derivation. */
export function decode(stored: Uint8Array): Blob {
  const blob: Blob = {
    ciphertext: nothing,
    passwordDerived: false,
    nonce: noNonce,
    salt: noSalt,
    scrypt: { ...noScrypt },
  }
  readMap(stored, (name, reader) => {
    if (name === 'ciphertext') blob.ciphertext = reader.bin()
    else if (name === 'do_scrypt') blob.passwordDerived = reader.bool()
    else if (name === 'nonce') blob.nonce = exactly(nonceLength, reader.bin())
    else if (name === 'salt') blob.salt = exactly(saltLength, reader.bin())
    else if (name === 'scrypt_n') blob.scrypt.n = reader.smallUint(maxParameter)
    else if (name === 'scrypt_p') blob.scrypt.p = reader.smallUint(maxParameter)
    else if (name === 'scrypt_r') blob.scrypt.r = reader.smallUint(maxParameter)
    else throw new KmdError('damaged_blob')
  })
  return blob
}

const nothing = new Uint8Array(0)
const noNonce = new Uint8Array(nonceLength)
const maxParameter = 2 ** 31 - 1

function readPlaintext(type: PlaintextType, message: Uint8Array): Uint8Array {
  let plaintext: Uint8Array = nothing
  let found = ''
  readMap(message, (name, reader) => {
    // A view, not a copy, so the only plaintext is in memory that is wiped.
    if (name === 'plaintext') plaintext = reader.view()
    else if (name === 'plaintext_type') found = reader.str()
    else throw new KmdError('damaged_blob')
  })
  if (found !== type) throw new KmdError('wrong_plaintext_type')
  return plaintext
}

function readMap(bytes: Uint8Array, member: (name: string, reader: Msgpack.Reader) => void): void {
  try {
    const reader = new Msgpack.Reader(bytes)
    for (let left = reader.mapHeader(); left > 0; left--) member(reader.str(), reader)
  } catch (error) {
    if (error instanceof Msgpack.DecodeError) throw new KmdError('damaged_blob', { cause: error })
    throw error
  }
}

function exactly(length: number, bytes: Uint8Array): Uint8Array {
  if (bytes.length !== length) throw new KmdError('damaged_blob')
  return bytes
}

function encrypt(type: PlaintextType, plaintext: Uint8Array, key: Uint8Array): Pick<Blob, 'ciphertext' | 'nonce'> {
  const message = Buffer.allocUnsafeSlow(plaintext.length + plaintextOverhead)
  const writer = new Msgpack.Writer(message)
  writer.mapHeader(2).str('plaintext').bin(plaintext).str('plaintext_type').str(type)
  const nonce = new Uint8Array(nonceLength)
  sodium.randombytes_buf(nonce)
  const ciphertext = new Uint8Array(writer.length + tagLength)
  sodium.crypto_secretbox_easy(ciphertext, writer.bytes(), nonce, key)
  Secret.wipe(message)
  return { ciphertext, nonce }
}

/** Room for the map, both names, both headers and the longest type. */
const plaintextOverhead = 64

function encode(blob: Blob): Uint8Array {
  const writer = new Msgpack.Writer().mapHeader(7)
  writer.str('ciphertext').bin(blob.ciphertext)
  writer.str('do_scrypt').bool(blob.passwordDerived)
  writer.str('nonce').bin(blob.nonce)
  writer.str('salt').bin(blob.salt)
  writer.str('scrypt_n').uint(blob.scrypt.n)
  writer.str('scrypt_p').uint(blob.scrypt.p)
  writer.str('scrypt_r').uint(blob.scrypt.r)
  return writer.bytes()
}
