/** Searches the memory of another process, as a program of the same account or a core dump would. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'

const chunkLength = 4 * 1024 * 1024

/**
 * How often a text occurs inside a received HTTP request, and elsewhere. Node reads from sockets into buffers of 64
 * KiB, copies the data, and frees the buffers without clearing them, so a program cannot wipe that copy.
 */
export type Occurrences = { inRequests: number; elsewhere: number }

/** Counts each text, as bytes and as the UTF-16 of a JavaScript string. Linux only. */
export function occurrences(pid: number, needles: { [name: string]: Buffer }): { [name: string]: Occurrences } {
  const longest = Math.max(...Object.values(needles).map(({ length }) => 2 * length))
  const forms = Object.entries(needles).flatMap(([name, bytes]) => [
    { name, bytes },
    { name, bytes: Buffer.from(bytes.toString('latin1'), 'utf16le') },
  ])
  const found: { [name: string]: Occurrences } = {}
  for (const name of Object.keys(needles)) found[name] = { inRequests: 0, elsewhere: 0 }
  const chunk = Buffer.alloc(chunkLength)
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  try {
    for (const { start, end } of writableRegions(pid)) {
      for (let at = start; at < end; at += BigInt(chunkLength - longest)) {
        const length = read(memory, chunk, at, end)
        const part = chunk.subarray(0, length)
        // Matches in the overlap belong to the next chunk.
        const limit = at + BigInt(length) >= end ? length : chunkLength - longest
        for (const { name, bytes } of forms) {
          for (let i = part.indexOf(bytes); i >= 0 && i < limit; i = part.indexOf(bytes, i + 1)) {
            found[name]![isInRequest(part, i, bytes.length) ? 'inRequests' : 'elsewhere']++
          }
        }
      }
    }
  } finally {
    closeSync(memory)
  }
  return found
}

/**
 * Matches a member in the format of clients rather than the daemon: without a space, and not behind the envelope of a
 * response.
 */
const memberOfRequest = /(?<!"message":"",)"(?:new_)?[a-z_]+":(?:"|\[)$/

/**
 * Matches the end of a text directly followed by another member or the end of the object. Responses have a space there.
 */
const endInRequest = /^"(?:,"[a-z]|\}(?!\n))/

/** Whether a match is the remainder of a request. Later requests may have overwritten the bytes before it. */
function isInRequest(memory: Buffer, at: number, length: number): boolean {
  if (memberOfRequest.test(memory.toString('latin1', Math.max(0, at - 60), at))) return true
  return endInRequest.test(memory.toString('latin1', at + length, at + length + 4))
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
