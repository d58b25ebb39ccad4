/**
 * Caches the decrypted keys that a handle signed with last, in protected memory. A program that signs a thousand times
 * with one key has it read and decrypted once. These keys are as sensitive as the handle's master key, and are wiped
 * with it or when the wallet file changes.
 */
import { Ed25519 } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import * as Secret from './Secret.js'

const mostKeys = 256

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
