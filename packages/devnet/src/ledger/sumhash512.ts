/**
 * Sumhash-512, the hash of the commitments of state proofs: each bit of a block selects a column of a fixed matrix, and
 * the sum of these columns modulo 2^64 is the next state.
 */
import { createHash } from 'node:crypto'

const words = 8
const wordBytes = 8
const stateBytes = words * wordBytes
const blockBytes = 64
const inputBytes = stateBytes + blockBytes
const inputBits = 8 * inputBytes
/** The length of the message in bits, at the end of the last block. */
const lengthBytes = 16

/** Numbers of 22 bits, of which a thousand can be added without a carry. */
const limbBits = 22
const limbsPerWord = 3
const limbs = words * limbsPerWord

let columns: Float64Array | undefined

/** The matrix by columns, each number in limbs. The expansion of its parameters is fixed by the specification. */
function makeColumns(): Float64Array {
  const parameters = Buffer.alloc(6)
  parameters.writeUInt16LE(8 * wordBytes, 0)
  parameters.writeUInt16LE(words, 2)
  parameters.writeUInt16LE(inputBits, 4)
  const outputLength = words * inputBits * wordBytes
  const rows = createHash('shake256', { outputLength }).update(parameters).update('Algorand').digest()
  const made = new Float64Array(inputBits * limbs)
  for (let word = 0; word < words; word++) {
    for (let bit = 0; bit < inputBits; bit++) {
      const value = rows.readBigUInt64LE((word * inputBits + bit) * wordBytes)
      for (let limb = 0; limb < limbsPerWord; limb++) {
        const part = BigInt.asUintN(limbBits, value >> BigInt(limb * limbBits))
        made[bit * limbs + word * limbsPerWord + limb] = Number(part)
      }
    }
  }
  return made
}

/** Returns the state after a block. */
function compress(input: Uint8Array): Uint8Array {
  columns ??= makeColumns()
  const sums = new Float64Array(limbs)
  for (let bit = 0; bit < inputBits; bit++) {
    if (((input[bit >> 3]! >> (bit & 7)) & 1) === 0) continue
    const start = bit * limbs
    for (let limb = 0; limb < limbs; limb++) sums[limb]! += columns[start + limb]!
  }
  const state = Buffer.alloc(stateBytes)
  for (let word = 0; word < words; word++) {
    let value = 0n
    for (let limb = limbsPerWord - 1; limb >= 0; limb--) {
      value = (value << BigInt(limbBits)) + BigInt(sums[word * limbsPerWord + limb]!)
    }
    state.writeBigUInt64LE(BigInt.asUintN(64, value), word * wordBytes)
  }
  return state
}

export function sumhash512(message: Uint8Array): Uint8Array {
  const blocks = Math.ceil((message.length + 1 + lengthBytes) / blockBytes)
  const padded = Buffer.alloc(blocks * blockBytes)
  padded.set(message)
  padded[message.length] = 1
  padded.writeBigUInt64LE(8n * BigInt(message.length), padded.length - lengthBytes)
  const input = new Uint8Array(inputBytes)
  for (let start = 0; start < padded.length; start += blockBytes) {
    input.set(padded.subarray(start, start + blockBytes), stateBytes)
    input.set(compress(input))
  }
  return input.slice(0, stateBytes)
}
