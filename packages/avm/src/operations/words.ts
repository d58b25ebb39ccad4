/**
 * Operations on byte strings, four bytes at a time: a program can process 4,096 bytes for a cost of 1, and byte by byte
 * that would take longer than everything else.
 */
const wordBytes = 4
/** Shorter byte strings are read byte by byte, because a view takes longer to create. */
const minViewBytes = 128

/** The index of the first byte that is not zero, or the length. */
export function firstNonZero(bytes: Uint8Array): number {
  const { length } = bytes
  const end = length < minViewBytes ? 0 : length - (length % wordBytes)
  let index = 0
  if (end > 0) {
    const view = viewOf(bytes)
    while (index < end && view.getUint32(index) === 0) index += wordBytes
  }
  while (index < length && bytes[index] === 0) index++
  return index
}

/** Every bit inverted. */
export function complement(bytes: Uint8Array): Uint8Array {
  const result = new Uint8Array(bytes)
  const words = wordsOf(result)
  for (let index = 0; index < words.length; index++) words[index] = ~words[index]!
  for (let index = wordBytes * words.length; index < result.length; index++) result[index] = ~result[index]!
  return result
}

/** Combines bits, aligned at the end. The shorter string counts as padded with zeros. */
export function combine(a: Uint8Array, b: Uint8Array, compute: (a: number, b: number) => number): Uint8Array {
  const length = Math.max(a.length, b.length)
  const [result, other] = [padded(a, length), padded(b, length)]
  const [words, otherWords] = [wordsOf(result), wordsOf(other)]
  for (let index = 0; index < words.length; index++) words[index] = compute(words[index]!, otherWords[index]!)
  for (let index = wordBytes * words.length; index < length; index++) {
    result[index] = compute(result[index]!, other[index]!)
  }
  return result
}

function padded(bytes: Uint8Array, length: number): Uint8Array {
  const result = new Uint8Array(length)
  result.set(bytes, length - bytes.length)
  return result
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}

/** The whole words of bytes that own their buffer. */
function wordsOf({ buffer, length }: Uint8Array): Uint32Array {
  return new Uint32Array(buffer, 0, Math.floor(length / wordBytes))
}
