/**
 * Predicts whether the system would give this process another block of memory. `sodium-native` ends the process if an
 * allocation fails, so the check must come first. The limits are read from `/proc` in less than a millisecond. On
 * systems other than Linux nothing is known, so nothing is rejected.
 */
import { readFileSync } from 'node:fs'
import { KmdError } from '../errors.js'

/** Reserved for the runtime, which also ends the process if it gets no memory. */
const spareMappings = 1_024
const spareBytes = 16 * 1024 * 1024
/** The block, the page before it, and a guard page on each side. */
const mappingsOfBlock = 4

/** Reads a system file; undefined if it does not exist. */
export type Read = (path: string) => string | undefined

/**
 * Checks that a block of this length can be allocated.
 *
 * @throws {@link KmdError} `no_secure_memory`.
 */
export function require(length: number, read: Read = readSystemFile): void {
  const reason = lacking(length, read)
  if (reason !== undefined) throw new KmdError('no_secure_memory', { cause: new Error(reason) })
}

function lacking(length: number, read: Read): string | undefined {
  const mappings = countLines(read('/proc/self/maps'))
  const mostMappings = numberOf(read('/proc/sys/vm/max_map_count'))
  if (mappings + mappingsOfBlock + spareMappings > mostMappings) {
    return `${mappings} of ${mostMappings} memory mappings are in use (vm.max_map_count)`
  }
  const needed = length + spareBytes
  const used = 1024 * memberOf(read('/proc/self/status'), /^VmSize:\s+([0-9]+) kB$/m, 0)
  const most = memberOf(read('/proc/self/limits'), /^Max address space\s+([0-9]+) /m)
  if (used + needed > most) return `${used} of ${most} bytes of address space are in use (RLIMIT_AS)`
  // Strict accounting: the system refuses allocations that it could not back.
  if (read('/proc/sys/vm/overcommit_memory')?.trim() !== '2') return undefined
  const meminfo = read('/proc/meminfo')
  const committed = 1024 * memberOf(meminfo, /^Committed_AS:\s+([0-9]+) kB$/m, 0)
  const limit = 1024 * memberOf(meminfo, /^CommitLimit:\s+([0-9]+) kB$/m)
  return committed + needed > limit ? `${committed} of ${limit} bytes are committed (vm.overcommit_memory)` : undefined
}

function readSystemFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}

function countLines(text = ''): number {
  let lines = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

const numberOf = (text: string | undefined): number => memberOf(text, /^([0-9]+)\s*$/)

function memberOf(text: string | undefined, pattern: RegExp, otherwise = Number.POSITIVE_INFINITY): number {
  const digits = text === undefined ? undefined : pattern.exec(text)?.[1]
  return digits === undefined ? otherwise : Number(digits)
}
