/** The notation of the kernel's table of TCP sockets on Linux. */
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { endianness } from 'node:os'

/** The tables of IPv4 and IPv6, in the order in which they are read. */
export const files = ['/proc/net/tcp', '/proc/net/tcp6'] as const

/** Returns the text of a table; blank if the system has none. */
export function read(file: (typeof files)[number]): Promise<string> {
  return readFile(file, 'latin1').catch(() => '')
}

const mappedPrefix = [0, 0, 0xffff]

/** The notations of an end of a connection. A dual-stack socket may show an IPv4 address as IPv6. */
export function spellings({ address, port }: { readonly address: string; readonly port: number }): string[] {
  const words = wordsOf(address)
  const isMapped = words.length === 4 && mappedPrefix.every((word, at) => words[at] === word)
  const four = isMapped ? words.slice(3) : words
  const all = words.length === 1 || isMapped ? [four, [...mappedPrefix, ...four]] : [words]
  return all.map((each) => `${each.map(hexWord).join('')}:${hexPort(port)}`)
}

/** The notation of a port. */
export function hexPort(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0')
}

/** One 32-bit word for IPv4, four for IPv6. */
function wordsOf(address: string): number[] {
  if (!isIPv6(address)) return [toWord(address.split('.').map(Number))]
  // A URL has one form of each address, all in hexadecimal, and leaves out one run of zeros at most.
  const [head = '', tail] = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1).split('::')
  const groupsOf = (text: string | undefined): string[] => (text === undefined || text === '' ? [] : text.split(':'))
  const [before, after] = [groupsOf(head), groupsOf(tail)]
  const groups = [...before, ...Array(8 - before.length - after.length).fill('0'), ...after]
  const bytes = groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff])
  return [0, 4, 8, 12].map((at) => toWord(bytes.slice(at, at + 4)))
}

function toWord([a = 0, b = 0, c = 0, d = 0]: number[]): number {
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
}

/** The kernel prints each word in the machine's byte order. */
function hexWord(word: number): string {
  const bytes = Buffer.alloc(4)
  if (endianness() === 'LE') bytes.writeUInt32LE(word)
  else bytes.writeUInt32BE(word)
  return bytes.toString('hex').toUpperCase()
}
