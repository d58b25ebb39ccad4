/**
 * Holds secret bytes in libsodium memory: locked against swapping if the system allows it, fenced by guard pages, never
 * moved by the garbage collector, and wiped when freed.
 */
import { sodium } from '@latchkey/algorand/sodium'
import * as MemoryLimits from './MemoryLimits.js'

type Slab = {
  memory: Buffer
  slotLength: number
  isUsed: Uint8Array
  /** Freed slots. Slots from `untouched` on have never been used. */
  freed: number[]
  untouched: number
  used: number
}

const slotLengths = [32, 64, 128, 512]
/** libsodium puts a 16-byte canary before a block and rounds both up to whole pages. */
const canaryLength = 16
/**
 * A slab is locked against swapping completely or not at all, and the usual limits are 64 KiB and 8 MiB. So the first
 * slabs are small, and later ones large enough to keep the number of mappings small.
 */
const smallSlabLength = 32 * 1024 - canaryLength
const largeSlabLength = 256 * 1024 - canaryLength
const smallSlabs = 8

/**
 * Allocates small secrets in shared slabs of libsodium memory. A block from `sodium_malloc` takes four mappings, and
 * Linux allows a process 65,530. With one block per secret, 8,152 handles that had signed once ended the daemon. A slab
 * is one block between guard pages and holds hundreds of secrets in slots of one size.
 *
 * There are no guard pages between slots: JavaScript checks the bounds of every access, and native code gets the
 * pointer and length of one slot. A slot is wiped when it is freed.
 */
export class Slabs {
  /** Slabs with a free slot, by slot length. */
  readonly #open = new Map<number, Set<Slab>>(slotLengths.map((length) => [length, new Set()]))
  readonly #byMemory = new Map<ArrayBufferLike, Slab>()

  /** The number of slabs. */
  get size(): number {
    return this.#byMemory.size
  }

  /**
   * Allocates zeroed memory that the garbage collector does not move.
   *
   * @throws {@link KmdError} `no_secure_memory`.
   */
  allocate(length: number): Buffer {
    const slotLength = slotLengths.find((candidate) => candidate >= length)
    if (slotLength === undefined) return allocateBlock(length)
    const slabs = this.#open.get(slotLength)!
    const [open] = slabs
    const slab = open ?? this.#addSlab(slotLength, slabs)
    const slot = slab.freed.pop() ?? slab.untouched++
    slab.isUsed[slot] = 1
    slab.used++
    if (slab.used === slab.isUsed.length) slabs.delete(slab)
    return slab.memory.subarray(slot * slotLength, slot * slotLength + length)
  }

  /** Wipes the secret and frees its memory. Do not use the buffer afterwards. */
  free(secret: Buffer): void {
    const slab = this.#byMemory.get(secret.buffer)
    if (slab === undefined) {
      sodium.sodium_free(secret)
      return
    }
    const start = secret.byteOffset - slab.memory.byteOffset
    const slot = start / slab.slotLength
    if (slab.isUsed[slot] !== 1) throw new Error('a secret was freed twice')
    sodium.sodium_memzero(slab.memory.subarray(start, start + slab.slotLength))
    slab.isUsed[slot] = 0
    slab.freed.push(slot)
    slab.used--
    const slabs = this.#open.get(slab.slotLength)!
    slabs.add(slab)
    // Keeps one open slab. Otherwise, a handle that is opened and closed repeatedly would create and free a slab each
    // time.
    if (slab.used === 0 && slabs.size > 1) this.#removeSlab(slab, slabs)
  }

  #addSlab(slotLength: number, slabs: Set<Slab>): Slab {
    const memory = allocateBlock(this.#byMemory.size < smallSlabs ? smallSlabLength : largeSlabLength)
    const isUsed = new Uint8Array(Math.floor(memory.length / slotLength))
    const slab: Slab = { memory, slotLength, isUsed, freed: [], untouched: 0, used: 0 }
    this.#byMemory.set(memory.buffer, slab)
    slabs.add(slab)
    return slab
  }

  #removeSlab(slab: Slab, slabs: Set<Slab>): void {
    slabs.delete(slab)
    this.#byMemory.delete(slab.memory.buffer)
    sodium.sodium_free(slab.memory)
  }
}

/** Checks the limits first, because the binding ends the process if the system has no memory. */
function allocateBlock(length: number): Buffer {
  MemoryLimits.require(length)
  const memory = sodium.sodium_malloc(length)
  // libsodium fills new memory with 0xdb.
  sodium.sodium_memzero(memory)
  return memory
}

const slabs = new Slabs()

/**
 * Allocates zeroed protected memory.
 *
 * @throws {@link KmdError} `no_secure_memory` if the system has no more.
 */
export function allocate(length: number): Buffer {
  return slabs.allocate(length)
}

/**
 * Returns random bytes in protected memory.
 *
 * @throws {@link KmdError} `no_secure_memory` if the system has no more.
 */
export function random(length: number): Buffer {
  const secret = allocate(length)
  sodium.randombytes_buf(secret)
  return secret
}

/** Wipes and frees memory from `allocate`. Do not use the buffer afterwards. */
export function free(secret: Buffer): void {
  slabs.free(secret)
}

/** Wipes bytes in ordinary memory. */
export function wipe(...buffers: Uint8Array[]): void {
  for (const bytes of buffers) if (bytes.length > 0) sodium.sodium_memzero(bytes)
}

/** Returns random bytes that are not secret: salts, nonces, identifiers. */
export function randomBytes(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  sodium.randombytes_buf(bytes)
  return bytes
}
