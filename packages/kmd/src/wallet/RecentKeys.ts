/**
 * The keys that a handle signed with last, decrypted, in protected memory: a program that signs a thousand times with
 * one key has it read and decrypted once. They are as sensitive as the master key of the handle, and are wiped with it,
 * or when the wallet file changes.
 */
import { Ed25519 } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import * as Secret from './Secret.js'

const mostKeys = 256

export class RecentKeys {
  /** Oldest first: a Map remembers insertion. By the address, one character a byte. */
  readonly #keys = new Map<string, Buffer>()
  #revision: number | undefined

  /** `revision` is that of the wallet file now. */
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

  /** Memory for a key: that of the oldest one if there are many. Without any the key is decrypted each time. */
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
