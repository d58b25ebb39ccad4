/** Reads the kernel's table of TCP sockets on Linux to find the user at the other end of a local connection. */
import { readFile } from 'node:fs/promises'
import { endianness } from 'node:os'
import type { Address, Ends } from '@latchkey/http-client'

type Row = { local: string; remote: string; isListening: boolean; uid: number; hasInode: boolean }

const files = ['/proc/net/tcp', '/proc/net/tcp6']
const listening = '0A'

/**
 * The users holding the peer's end of a connection; empty if there is no such table. The IPv6 table is read only if the
 * IPv4 table does not decide, because the kernel walks all of its sockets for each.
 */
export async function holdersOf(ends: Ends): Promise<number[]> {
  let table = ''
  for (const file of files) {
    table += `${await readFile(file, 'latin1').catch(() => '')}\n`
    const accepted = acceptedBy(table, ends)
    if (accepted !== undefined) return [accepted]
  }
  return holders(table, ends)
}

/**
 * The users holding the peer's end of a connection: the user of its socket once the peer has accepted it, and before
 * that the users of every socket listening there. Empty if the peer is not in the table, as with a container's port.
 */
export function holders(table: string, ends: Ends): number[] {
  const accepted = acceptedBy(table, ends)
  if (accepted !== undefined) return [accepted]
  const { remote } = ends
  const places = [...spellings(remote), ...wildcards.map((address) => `${address}:${hexPort(remote.port)}`)]
  return rowsAt(table, remote.port)
    .filter((row) => row.isListening && places.includes(row.local))
    .map(({ uid }) => uid)
}

/** The user of the socket that the peer accepted. */
function acceptedBy(table: string, { local, remote }: Ends): number | undefined {
  const here = spellings(local)
  const there = spellings(remote)
  const row = rowsAt(table, remote.port).find((each) => there.includes(each.local) && here.includes(each.remote))
  // A socket that waits to be accepted has no inode, and older kernels show root as its user.
  return row?.hasInode === true ? row.uid : undefined
}

/** The rows of sockets with this local port. A busy machine has thousands of rows, so only these are split. */
function rowsAt(table: string, port: number): Row[] {
  const rows: Row[] = []
  const localPort = new RegExp(`^ *[0-9]+: [0-9A-F]+:${hexPort(port)} .*$`, 'gm')
  for (const [line] of table.matchAll(localPort)) {
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
  if (!address.includes(':')) return [toWord(address.split('.').map(Number))]
  // A URL writes the last 32 bits in hexadecimal, too, and leaves out one run of zeros at most.
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
