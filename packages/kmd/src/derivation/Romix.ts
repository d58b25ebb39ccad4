import { readFileSync } from 'node:fs'

/** scrypt's ROMix, in its own WebAssembly memory. */
export type Romix = {
  /**
   * Mixes every lane of `blocks`, each 128 * r bytes, in place and `width` at a time. A larger `width` takes more
   * memory.
   */
  mix: (options: { blocks: Uint8Array; n: number; r: number; width: number }) => void
  /** Zeroes the memory of the lanes, because its content derives from the password. */
  wipe: () => void
}

export type CompiledModule = object

/** The word of a block at each position of the diagonal order. See romix.wat.mjs. */
const diagonalOrder = [0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11] as const

/** The maximum number of interleaved lanes. Only r = 1, the case of nearly every wallet, uses more than one. */
export const maximumWidth = 4

/**
 * The engine starts with quickly compiled code and switches to optimised code only between calls. So the work is done
 * in portions of about this many 64-byte blocks: a fraction of a millisecond.
 */
const portionBlocks = 2048

const wasmPageBytes = 65536

export function compile(): CompiledModule {
  return new webAssembly.Module(readFileSync(new URL('./romix.wasm', import.meta.url)))
}

export function instantiate(module: CompiledModule): Romix {
  const { exports } = new webAssembly.Instance(module)
  const { memory } = exports
  let usedBytes = 0

  return {
    mix({ blocks, n, r, width }) {
      const laneBytes = 128 * r
      // V, X and the scratch block.
      const stride = laneBytes * (n + 2)
      const lanes = r === 1 ? Math.min(width, maximumWidth, blocks.length / laneBytes) : 1
      const neededBytes = stride * lanes
      if (memory.buffer.byteLength < neededBytes) {
        memory.grow(Math.ceil((neededBytes - memory.buffer.byteLength) / wasmPageBytes))
      }
      usedBytes = Math.max(usedBytes, neededBytes)

      for (let done = 0; done < blocks.length; ) {
        const group = blocks.subarray(done, done + lanes * laneBytes)
        mixGroup({ exports, group, n, r, stride })
        done += group.length
      }
    },
    wipe() {
      new Uint8Array(memory.buffer, 0, usedBytes).fill(0)
      usedBytes = 0
    },
  }
}

function mixGroup(options: { exports: Exports; group: Uint8Array; n: number; r: number; stride: number }): void {
  const { exports, group, n, r, stride } = options
  const laneWords = 32 * r
  const words = new Uint32Array(group.buffer, group.byteOffset, group.length / 4)
  const lanes = words.length / laneWords
  const inMemory = (lane: number, block: number) =>
    new Uint32Array(exports.memory.buffer, lane * stride + block * laneWords * 4, laneWords)
  const inGroup = (lane: number) => words.subarray(lane * laneWords, (lane + 1) * laneWords)

  for (let lane = 0; lane < lanes; lane++) toDiagonals(inGroup(lane), inMemory(lane, 0))

  const kind = r === 1 ? (lanes as Width) : 'R'
  const fill = exports[`fill${kind}`]
  const mix = exports[`mix${kind}`]
  const strideOrR = r === 1 ? stride : r
  // A power of two, so that it divides n.
  const portion = Math.min(n, Math.max(2, 2 ** Math.floor(Math.log2(portionBlocks / (2 * r * lanes)))))
  for (let i = 0; i < n; i += portion) fill(strideOrR, i, portion)
  for (let i = 0; i < n; i += portion) mix(strideOrR, n, portion)

  for (let lane = 0; lane < lanes; lane++) fromDiagonals(inMemory(lane, n), inGroup(lane))
}

// Both sides hold bytes in a fixed order and whole words are moved, so the host's byte order makes no difference.

function toDiagonals(from: Uint32Array, to: Uint32Array): void {
  for (let i = 0; i < from.length; i++) to[i] = from[(i & ~15) + diagonalOrder[i & 15]!]!
}

function fromDiagonals(from: Uint32Array, to: Uint32Array): void {
  for (let i = 0; i < from.length; i++) to[(i & ~15) + diagonalOrder[i & 15]!] = from[i]!
}

/** The functions of romix.wat.mjs, which documents their arguments. */
type Step = (strideOrR: number, fromOrN: number, count: number) => void
type Width = 1 | 2 | 3 | 4
type Exports = {
  memory: { buffer: ArrayBuffer; grow: (pages: number) => number }
} & Record<`${'fill' | 'mix'}${Width | 'R'}`, Step>

/** The parts of WebAssembly used here, because the compiler does not know it without the DOM's types. */
const webAssembly = (
  globalThis as unknown as {
    WebAssembly: {
      Module: new (bytes: Uint8Array) => CompiledModule
      Instance: new (module: CompiledModule) => { exports: Exports }
    }
  }
).WebAssembly
