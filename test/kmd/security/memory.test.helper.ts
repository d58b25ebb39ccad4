/** Searches the memory of another process, as a program of the same account or a core dump would. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'

const chunkLength = 4 * 1024 * 1024

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
    for (const { start, end } of writableRegions(pid).flatMap((region) => usedParts(pid, region))) {
      for (let at = start; at < end; at += BigInt(chunkLength - longest)) {
        const length = read(memory, chunk, at, end)
        const part = chunk.subarray(0, length)
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

type Region = { start: bigint; end: bigint }

function writableRegions(pid: number): Region[] {
  return readFileSync(`/proc/${pid}/maps`, 'latin1')
    .split('\n')
    .flatMap((line) => {
      const match = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line)
      return match === null ? [] : [{ start: BigInt(`0x${match[1]}`), end: BigInt(`0x${match[2]}`) }]
    })
}

const pageLength = 4096n
const entryLength = 8
/** The page is in memory, or swapped. */
const isUsedBits = 0xc0

/** The pages of a region that were written to. Node 24 reserves half a gigabyte and uses some pages of it. */
function usedParts(pid: number, { start, end }: Region): Region[] {
  const entries = Buffer.alloc(Number((end - start) / pageLength) * entryLength)
  const pages = openSync(`/proc/${pid}/pagemap`, 'r')
  try {
    readSync(pages, entries, 0, entries.length, (start / pageLength) * BigInt(entryLength))
  } finally {
    closeSync(pages)
  }
  const parts: Region[] = []
  for (let page = 0; page * entryLength < entries.length; page++) {
    if ((entries[page * entryLength + entryLength - 1]! & isUsedBits) === 0) continue
    const at = start + BigInt(page) * pageLength
    const last = parts.at(-1)
    if (last?.end === at) last.end += pageLength
    else parts.push({ start: at, end: at + pageLength })
  }
  return parts
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
