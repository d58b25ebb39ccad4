/**
 * The keys that a handle signed with last, decrypted, in protected memory: a program that signs a thousand times with
 * one key has it read and decrypted once. They are as sensitive as the master key of the handle, and are wiped with it,
 * or when the wallet file changes.
 */
import { Ed25519 } from '@latchkey/algorand'
import * as Secret from './Secret.js'

/** A segment and its guard pages are the least that can be allocated, so most handles have one. */
const keysPerSegment = 32
const mostSegments = 8

export class RecentKeys {
  readonly #segments: Buffer[] = []
  /** Oldest first: a Map remembers insertion. By the address, one character a byte. */
  readonly #keys = new Map<string, Buffer>()
  #revision: number | undefined

  /** `revision` is that of the wallet file now. */
  get(address: Uint8Array, revision: number | undefined): Uint8Array | undefined {
    if (revision === undefined || revision !== this.#revision) {
      this.#forget()
      return undefined
    }
    return this.#keys.get(nameOf(address))
  }

  set(secretKey: Uint8Array, revision: number | undefined): void {
    if (revision === undefined) return
    this.#revision = revision
    const slot = this.#freeSlot()
    slot.set(secretKey)
    this.#keys.set(nameOf(secretKey.subarray(Ed25519.seedLength)), slot)
  }

  free(): void {
    this.#forget()
    for (const segment of this.#segments.splice(0)) Secret.free(segment)
  }

  /** The next unused slot, or that of the oldest key. */
  #freeSlot(): Buffer {
    const used = this.#keys.size
    const [oldest] = this.#keys
    if (used === keysPerSegment * mostSegments && oldest !== undefined) {
      this.#keys.delete(oldest[0])
      return oldest[1]
    }
    const length = Ed25519.secretKeyLength
    const segmentIndex = Math.floor(used / keysPerSegment)
    const segment = this.#segments[segmentIndex] ?? Secret.allocate(keysPerSegment * length)
    this.#segments[segmentIndex] = segment
    const start = (used % keysPerSegment) * length
    return segment.subarray(start, start + length)
  }

  #forget(): void {
    if (this.#keys.size > 0) Secret.wipe(...this.#segments)
    this.#keys.clear()
    this.#revision = undefined
  }
}

function nameOf(address: Uint8Array): string {
  return Buffer.from(address.buffer, address.byteOffset, address.byteLength).toString('latin1')
}
