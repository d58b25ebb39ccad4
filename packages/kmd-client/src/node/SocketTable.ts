/** Reads the kernel's table of TCP sockets on Linux to find the user at the other end of a local connection. */
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { endianness } from 'node:os'
import type { Address, Ends } from '../transport/Transport.js'

type Row = { local: string; remote: string; isListening: boolean; uid: number; hasInode: boolean }

const files = ['/proc/net/tcp', '/proc/net/tcp6']
const listening = '0A'

/** The rows of all TCP sockets in the network namespace; undefined if there is no such table. */
export async function read(): Promise<string | undefined> {
  const texts = await Promise.all(files.map((file) => readFile(file, 'latin1').catch(() => '')))
  return texts.every((text) => text === '') ? undefined : texts.join('\n')
}

/**
 * The users holding the peer's end of a connection: the user of its socket once the peer has accepted it, and before
 * that the users of every socket listening there. Empty if the peer is not in the table, as with a container's port.
 */
export function holders(table: string, { local, remote }: Ends): number[] {
  const here = spellings(local)
  const there = spellings(remote)
  const rows = rowsOf(table)
  const accepted = rows.find((row) => there.includes(row.local) && here.includes(row.remote))
  // Before it is accepted, a socket has no inode, and older kernels show root as its user.
  if (accepted?.hasInode === true) return [accepted.uid]
  const places = [...there, ...wildcards.map((address) => `${address}:${hexPort(remote.port)}`)]
  return rows.filter((row) => row.isListening && places.includes(row.local)).map(({ uid }) => uid)
}

function rowsOf(table: string): Row[] {
  const rows: Row[] = []
  for (const line of table.split('\n')) {
    const [, local, remote, state, , , , uid, , inode] = line.trim().split(/\s+/)
    if (local === undefined || remote === undefined || !/^[0-9]+$/.test(uid ?? '')) continue
    rows.push({ local, remote, isListening: state === listening, uid: Number(uid), hasInode: inode !== '0' })
  }
  return rows
}

const wildcards = ['0'.repeat(8), '0'.repeat(32)]
const mappedPrefix = [0, 0, 0xffff]

/** The notations of an address in the table. A dual-stack socket may show an IPv4 address as IPv6. */
function spellings({ address, port }: Address): string[] {
  const words = wordsOf(address)
  const all = words.length === 1 ? [words, [...mappedPrefix, ...words]] : [words]
  const isMapped = words.length === 4 && mappedPrefix.every((word, at) => words[at] === word)
  return [...all, ...(isMapped ? [words.slice(3)] : [])].map((each) => `${each.map(hexWord).join('')}:${hexPort(port)}`)
}

/** One 32-bit word for IPv4, four for IPv6. */
function wordsOf(address: string): number[] {
  if (!isIPv6(address)) return [toWord(address.split('.').map(Number))]
  // A URL also writes the last 32 bits in hexadecimal, and omits at most one run of zeros.
  const text = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1)
  const [head = '', tail] = text.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
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

function hexPort(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0')
}
