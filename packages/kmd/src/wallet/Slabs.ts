/**
 * Small secrets in shared slabs of libsodium's memory. A block from `sodium_malloc` takes four mappings, of which Linux
 * allows a process 65,530: with blocks of their own, 8,152 handles that had signed once ended the daemon. A slab is one
 * block, between guard pages, and holds hundreds of secrets in slots of one size.
 *
 * Slots have no guard pages between each other: JavaScript checks the bounds of every access, and native code gets
 * pointer and length of one slot. A slot is wiped when it is freed.
 */
import { sodium } from '@latchkey/algorand/sodium'
import * as MemoryLimits from './MemoryLimits.js'

type Slab = {
  memory: Buffer
  slotLength: number
  isUsed: Uint8Array
  /** Slots that were freed. Those from `untouched` on have never been used. */
  freed: number[]
  untouched: number
  used: number
}

const slotLengths = [32, 64, 128, 512]
/** libsodium puts a canary of 16 bytes before a block, and rounds both up to whole pages. */
const canaryLength = 16
/**
 * A slab is locked against swapping as a whole or not at all, and the usual limits are 64 KiB and 8 MiB. So the first
 * are small, and those after them large enough for the number of mappings to stay small.
 */
const smallSlabLength = 32 * 1024 - canaryLength
const largeSlabLength = 256 * 1024 - canaryLength
const smallSlabs = 8

export class Slabs {
  /** Slabs with a free slot, by the length of their slots. */
  readonly #open = new Map<number, Set<Slab>>(slotLengths.map((length) => [length, new Set()]))
  readonly #byMemory = new Map<ArrayBufferLike, Slab>()

  /** How many slabs there are. */
  get size(): number {
    return this.#byMemory.size
  }

  /**
   * Zeroed memory that the garbage collector does not move.
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

  /** Wipes the secret and returns its memory. The buffer must not be touched afterwards. */
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
    // One that is open stays: a handle that comes and goes would make and free a slab each time.
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

/** The binding ends the process where the system gives no memory, so the limits are looked at before. */
function allocateBlock(length: number): Buffer {
  MemoryLimits.require(length)
  const memory = sodium.sodium_malloc(length)
  // libsodium fills new memory with 0xdb.
  sodium.sodium_memzero(memory)
  return memory
}
