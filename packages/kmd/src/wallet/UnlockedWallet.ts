/**
 * An unlocked wallet: its secrets, in protected memory until `lock`, and the operations that use them. Every method is
 * one complete operation on the wallet's file, finished when it returns.
 */
import { timingSafeEqual } from 'node:crypto'
import { Ed25519, KeyDerivation, Msgpack, Multisig } from '@latchkey/algorand'
import { sodium } from '@latchkey/algorand/sodium'
import { KmdError } from '../errors.js'
import type { AddressList } from './AddressList.js'
import * as Blob from './Blob.js'
import * as Secret from './Secret.js'
import type { WalletFile, WalletFiles } from './WalletFile.js'

export type Secrets = { masterKey: Uint8Array; masterDerivationKey: Uint8Array; password: Uint8Array }

export class UnlockedWallet {
  readonly id: Buffer
  /** The id as a JavaScript string with one character per byte. */
  readonly key: string
  readonly path: string
  readonly #files: WalletFiles
  /** The master key as stored in the file, encrypted with the password that was given. */
  readonly #wrapped: Uint8Array
  #unchangedRevision: number | undefined
  /** Master key, master derivation key, salt, hash of salt and password: 32 bytes each. */
  readonly #secrets = Secret.allocate(128)
  readonly #masterKey = this.#secrets.subarray(0, 32)
  readonly #masterDerivationKey = this.#secrets.subarray(32, 64)
  readonly #salt = this.#secrets.subarray(64, 96)
  readonly #passwordHash = this.#secrets.subarray(96, 128)
  readonly #recentKeys = new RecentKeys()
  #locked = false

  constructor(options: { id: Buffer; path: string; files: WalletFiles; secrets: Secrets; wrapped: Uint8Array }) {
    this.id = options.id
    this.key = options.id.toString('latin1')
    this.path = options.path
    this.#files = options.files
    this.#wrapped = options.wrapped
    this.#masterKey.set(options.secrets.masterKey)
    this.#masterDerivationKey.set(options.secrets.masterDerivationKey)
    sodium.randombytes_buf(this.#salt)
    hashPassword(this.#passwordHash, this.#salt, options.secrets.password)
  }

  /** Wipes the secrets. The wallet cannot be used afterwards. */
  lock(): void {
    if (this.#locked) return
    this.#locked = true
    Secret.free(this.#secrets)
    this.#recentKeys.free()
  }

  /** Compares with a salted hash made at unlocking, which avoids the slow derivation. */
  isPassword(password: Uint8Array): boolean {
    this.#requireUnlocked()
    hashPassword(hashed, this.#salt, password)
    const isEqual = timingSafeEqual(hashed, this.#passwordHash)
    hashed.fill(0)
    return isEqual
  }

  /**
   * Checks that the file still has the password that unlocked it, because another program may have changed it. Reads
   * the file only if it changed since the last check.
   *
   * @throws {@link KmdError} `wrong_password`.
   */
  requireSamePassword(): void {
    const known = this.#revision()
    if (known !== undefined && known === this.#unchangedRevision) return
    const file = this.#file()
    const revision = file.revision()
    if (Buffer.compare(file.encrypted().masterKey, this.#wrapped) !== 0) throw new KmdError('wrong_password')
    this.#unchangedRevision = revision
  }

  name(): Buffer {
    return this.#file().metadata().name
  }

  masterDerivationKey(): Buffer {
    this.#requireUnlocked()
    return Buffer.from(this.#masterDerivationKey)
  }

  /**
   * Returns the addresses as text. The list is the same object while the file does not change. Returns a promise if
   * there are many addresses to read.
   */
  addresses(): readonly string[] | Promise<readonly string[]> {
    return this.#listed((file) => file.keyAddresses)
  }

  /** Generates the next key of the sequence. Like the reference, skips an index whose key was imported. */
  generateKey(): Uint8Array {
    const file = this.#file()
    return file.generateKey((stored) => {
      let index = Blob.open('max_key_idx', stored, this.#masterKey, (value) => new Msgpack.Reader(value).uint())
      for (;;) {
        index += 1n
        if (index > maxKeyIndex) throw new KmdError('too_many_keys')
        const seed = KeyDerivation.seed(this.#masterDerivationKey, index)
        const { address, secretKey } = this.#sealSeed(seed)
        if (file.hasKey(address)) continue
        const max = Blob.seal('max_key_idx', new Msgpack.Writer().uint(index).bytes(), this.#masterKey)
        return { address, secretKey, index, maxKeyIndex: max }
      }
    })
  }

  importKey(seed: Uint8Array): Uint8Array {
    const { address, secretKey } = this.#sealSeed(seed)
    this.#file().insertKey(address, secretKey)
    return address
  }

  exportKey(address: Uint8Array): Buffer {
    return this.#withSecretKey(address, (secretKey) => Buffer.from(secretKey))
  }

  deleteKey(address: Uint8Array): void {
    this.#file().deleteKey(address)
  }

  sign(address: Uint8Array, message: Uint8Array): Uint8Array {
    return this.#withSecretKey(address, (secretKey) => Ed25519.sign(message, secretKey))
  }

  multisigAddresses(): readonly string[] | Promise<readonly string[]> {
    return this.#listed((file) => file.multisigAddresses)
  }

  importMultisig(preimage: Multisig.Multisig): Uint8Array {
    const address = Multisig.address(preimage)
    const keys = new Msgpack.Writer().arrayHeader(preimage.publicKeys.length)
    for (const key of preimage.publicKeys) keys.bin(key)
    this.#file().insertPreimage(address, {
      version: preimage.version,
      threshold: preimage.threshold,
      publicKeys: keys.bytes(),
    })
    return address
  }

  /** The stored preimage. Because it is stored unencrypted, it is accepted only if it hashes to its address. */
  multisig(address: Uint8Array): Multisig.Multisig {
    const stored = this.#file().preimage(address)
    if (stored === undefined) throw new KmdError('multisig_not_found')
    const { version, threshold } = stored
    const preimage = { version, threshold, publicKeys: readPublicKeys(stored.publicKeys) }
    if (!Buffer.from(Multisig.address(preimage)).equals(address)) throw new KmdError('key_mismatch')
    return preimage
  }

  deleteMultisig(address: Uint8Array): void {
    this.#file().deletePreimage(address)
  }

  #requireUnlocked(): void {
    // Freed memory must never be read. A handle that was released while a request waited is rejected here.
    if (this.#locked) throw new KmdError('handle_unknown')
  }

  #file(): WalletFile {
    this.#requireUnlocked()
    return this.#files.getWallet(this.path, this.id)
  }

  /** The revision of the file, for content that was read at an earlier revision. */
  #revision(): number | undefined {
    this.#requireUnlocked()
    return this.#files.revision(this.path, this.id)
  }

  #listed(listOf: (file: WalletFile) => AddressList): readonly string[] | Promise<readonly string[]> {
    return listOf(this.#file()).read() ?? this.#readRest(listOf)
  }

  /** Other requests are served between pages, so the file is looked up again for each page. */
  async #readRest(listOf: (file: WalletFile) => AddressList): Promise<readonly string[]> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve))
      const list = listOf(this.#file()).read()
      if (list !== undefined) return list
    }
  }

  #sealSeed(seed: Uint8Array): { address: Uint8Array; secretKey: Uint8Array } {
    this.#requireUnlocked()
    const pair = Ed25519.keyPairFromSeed(seed)
    const encoded = Buffer.allocUnsafeSlow(encodedKeyLength)
    new Msgpack.Writer(encoded).bin(pair.secretKey)
    const secretKey = Blob.seal('secret_key', encoded, this.#masterKey)
    Secret.wipe(seed, pair.secretKey, encoded)
    return { address: pair.publicKey, secretKey }
  }

  #withSecretKey<T>(address: Uint8Array, use: (secretKey: Uint8Array) => T): T {
    if (address.length !== Ed25519.publicKeyLength) throw new KmdError('key_not_found')
    const recent = this.#recentKeys.get(address, this.#revision())
    if (recent !== undefined) return use(recent)
    const file = this.#file()
    const revision = file.revision()
    const stored = file.secretKey(address)
    if (stored === undefined) throw new KmdError('key_not_found')
    return Blob.open('secret_key', stored, this.#masterKey, (encoded) => {
      const secretKey = readSecretKey(encoded)
      if (!timingSafeEqual(secretKey.subarray(32), address)) throw new KmdError('key_mismatch')
      this.#recentKeys.set(secretKey, revision)
      return use(secretKey)
    })
  }
}

const maxKeyIndex = 2n ** 63n - 1n
/** A two-byte msgpack header before the 64 bytes of the key. */
const encodedKeyLength = 66

/** Shared: all code here is synchronous, so uses never overlap. */
const hashed = Buffer.alloc(32)

/** Deliberately fast, because it protects a comparison in memory, not a file. BLAKE2b keyed with the salt. */
function hashPassword(out: Buffer, salt: Uint8Array, password: Uint8Array): void {
  sodium.crypto_generichash(out, password, salt)
}

function readSecretKey(encoded: Uint8Array): Uint8Array {
  const secretKey = damagedIfUnreadable(() => new Msgpack.Reader(encoded).view())
  if (secretKey.length !== Ed25519.secretKeyLength) throw new KmdError('key_mismatch')
  return secretKey
}

function readPublicKeys(encoded: Uint8Array): Uint8Array[] {
  return damagedIfUnreadable(() => {
    const reader = new Msgpack.Reader(encoded)
    const keys: Uint8Array[] = []
    for (let left = reader.arrayHeader(); left > 0; left--) keys.push(reader.bin())
    if (keys.some((key) => key.length !== Ed25519.publicKeyLength)) throw new KmdError('damaged_blob')
    return keys
  })
}

function damagedIfUnreadable<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof Msgpack.DecodeError) throw new KmdError('damaged_blob', { cause: error })
    throw error
  }
}

const mostKeys = 256

/**
 * Caches the decrypted keys that a handle signed with last, in protected memory. A program that signs a thousand times
 * with one key has it read and decrypted once. These keys are as sensitive as the handle's master key, and are wiped
 * with it or when the wallet file changes.
 */
export class RecentKeys {
  /** Oldest first, because a Map keeps insertion order. The key is the address with one character per byte. */
  readonly #keys = new Map<string, Buffer>()
  #revision: number | undefined

  /** `revision` is the wallet file's current revision. */
  get(address: Uint8Array, revision: number | undefined): Uint8Array | undefined {
    if (revision === undefined || revision !== this.#revision) {
      this.free()
      return undefined
    }
    return this.#keys.get(nameOf(address))
  }

  set(secretKey: Uint8Array, revision: number | undefined): void {
    if (revision === undefined) return
    if (revision !== this.#revision) this.free()
    this.#revision = revision
    const name = nameOf(secretKey.subarray(Ed25519.seedLength))
    const slot = this.#keys.get(name) ?? this.#takeSlot()
    if (slot === undefined) return
    slot.set(secretKey)
    this.#keys.set(name, slot)
  }

  /** Wipes all keys. */
  free(): void {
    for (const slot of this.#keys.values()) Secret.free(slot)
    this.#keys.clear()
    this.#revision = undefined
  }

  /** Memory for a key: the oldest key's slot if the cache is full. Without memory, the key is decrypted each time. */
  #takeSlot(): Buffer | undefined {
    const [oldest] = this.#keys
    if (this.#keys.size === mostKeys && oldest !== undefined) {
      this.#keys.delete(oldest[0])
      return oldest[1]
    }
    try {
      return Secret.allocate(Ed25519.secretKeyLength)
    } catch (error) {
      if (error instanceof KmdError && error.code === 'no_secure_memory') return undefined
      throw error
    }
  }
}

function nameOf(address: Uint8Array): string {
  return Buffer.from(address.buffer, address.byteOffset, address.byteLength).toString('latin1')
}
