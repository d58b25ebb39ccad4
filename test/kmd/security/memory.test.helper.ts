/** Searches the memory of another process, as a program of the same account or a core dump would. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'

const chunkLength = 256 * 1024
/** Most of the memory was never written to. */
const unused = Buffer.alloc(chunkLength)

/** Counts each text that occurs, as bytes and as the UTF-16 of a JavaScript string. Linux only. */
export function occurrences(pid: number, needles: { [name: string]: Buffer }): { [name: string]: number } {
  const longest = Math.max(...Object.values(needles).map(({ length }) => 2 * length))
  const forms = Object.entries(needles).flatMap(([name, bytes]) => [
    { name, bytes },
    { name, bytes: Buffer.from(bytes.toString('latin1'), 'utf16le') },
  ])
  const found: { [name: string]: number } = {}
  const chunk = Buffer.alloc(chunkLength)
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  try {
    for (const { start, end } of writableRegions(pid)) {
      for (let at = start; at < end; at += BigInt(chunkLength - longest)) {
        const length = read(memory, chunk, at, end)
        const part = chunk.subarray(0, length)
        if (part.equals(unused.subarray(0, length))) continue
        // Matches in the overlap belong to the next chunk.
        const limit = at + BigInt(length) >= end ? length : chunkLength - longest
        for (const { name, bytes } of forms) {
          for (let i = part.indexOf(bytes); i >= 0 && i < limit; i = part.indexOf(bytes, i + 1)) {
            found[name] = (found[name] ?? 0) + 1
          }
        }
      }
    }
  } finally {
    closeSync(memory)
  }
  return found
}

function writableRegions(pid: number): { start: bigint; end: bigint }[] {
  return readFileSync(`/proc/${pid}/maps`, 'latin1')
    .split('\n')
    .flatMap((line) => {
      const match = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line)
      return match === null ? [] : [{ start: BigInt(`0x${match[1]}`), end: BigInt(`0x${match[2]}`) }]
    })
}

/** A region may be gone or unreadable; then it contains nothing to find. */
function read(memory: number, chunk: Buffer, at: bigint, end: bigint): number {
  const length = Number(end - at < BigInt(chunk.length) ? end - at : BigInt(chunk.length))
  try {
    return readSync(memory, chunk, 0, length, at)
  } catch {
    return 0
  }
}
