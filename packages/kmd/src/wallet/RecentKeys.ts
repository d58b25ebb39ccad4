/**
 * The keys that a handle signed with last, decrypted, in protected memory: a program that signs a thousand times with
 * one key has it read and decrypted once. They are worth as much to a thief as the master key that lies beside them,
 * and go when the handle does, or when the wallet file changes.
 */
import { Ed25519 } from '@latchkey/algorand'
import * as Secret from './Secret.js'

const slots = 8

export class RecentKeys {
  #memory: Buffer | undefined
  #keys: Buffer[] = []
  #next = 0
  #revision: number | undefined

  /** `revision` is that of the wallet file now. */
  get(address: Uint8Array, revision: number | undefined): Uint8Array | undefined {
    if (revision === undefined || revision !== this.#revision) {
      this.#forget()
      return undefined
    }
    return this.#keys.find((key) => key.compare(address, 0, 32, 32, 64) === 0)
  }

  set(secretKey: Uint8Array, revision: number | undefined): void {
    if (revision === undefined) return
    this.#memory ??= Secret.allocate(slots * Ed25519.secretKeyLength)
    this.#revision = revision
    const start = this.#next * Ed25519.secretKeyLength
    const slot = this.#memory.subarray(start, start + Ed25519.secretKeyLength)
    slot.set(secretKey)
    this.#keys[this.#next] = slot
    this.#next = (this.#next + 1) % slots
  }

  free(): void {
    this.#forget()
    if (this.#memory !== undefined) Secret.free(this.#memory)
    this.#memory = undefined
  }

  #forget(): void {
    if (this.#keys.length > 0 && this.#memory !== undefined) Secret.wipe(this.#memory)
    this.#keys = []
    this.#next = 0
    this.#revision = undefined
  }
}
