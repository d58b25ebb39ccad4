/**
 * The user at the other end of a connection on this machine. Of a TCP connection the kernel's table of sockets has it, on
 * Linux: one from another machine, or from another network namespace such as that of a container, is not in it, and then the
 * user is not known. The table of a busy machine is long, so that connections that are made at the same time share one reading.
 */
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { endianness } from 'node:os'
import type { ConnectionEnds } from '@latchkey/http'
import { PeerCredentials, unmappedUser } from './PeerCredentials.js'

/** Reads a table. Rejects, or resolves with a blank text, where the system has none. */
export type ReadTable = () => Promise<string>

export type PeerUsersOptions = {
  /** @default /proc/net/tcp and /proc/net/tcp6 */
  readTcp?: ReadTable
  credentials?: Pick<PeerCredentials, 'userOf'>
}

export class PeerUsers {
  readonly #tcp: SharedReading
  readonly #credentials: Pick<PeerCredentials, 'userOf'>
  readonly #known = new WeakMap<ConnectionEnds, Promise<number | undefined>>()

  constructor({ readTcp = readTcpTables, credentials = new PeerCredentials() }: PeerUsersOptions = {}) {
    this.#tcp = new SharedReading(readTcp)
    this.#credentials = credentials
  }

  /** The user of a TCP connection; undefined where the system does not tell. Looked up once for a connection. */
  of(ends: ConnectionEnds): Promise<number | undefined> {
    return this.#once(ends, () => this.#tcpUser(ends))
  }

  /** The user of a connection of a Unix socket; undefined where the system does not tell. Looked up once for a connection. */
  ofUnix(ends: ConnectionEnds): Promise<number | undefined> {
    const { descriptor } = ends
    return this.#once(ends, async () => (descriptor === undefined ? undefined : this.#credentials.userOf(descriptor)))
  }

  #once(ends: ConnectionEnds, lookUp: () => Promise<number | undefined>): Promise<number | undefined> {
    let user = this.#known.get(ends)
    if (user === undefined) {
      user = lookUp().catch(() => undefined)
      this.#known.set(ends, user)
    }
    return user
  }

  async #tcpUser({ localAddress, localPort, remoteAddress, remotePort }: ConnectionEnds): Promise<number | undefined> {
    // A connection that was closed has no ends any more.
    if (remoteAddress === undefined || remotePort === undefined) return undefined
    if (localAddress === undefined || localPort === undefined) return undefined
    const [peer, here] = [spellings(remoteAddress, remotePort), spellings(localAddress, localPort)]
    return tcpUser(await this.#tcp.read(), peer, here)
  }
}

/** One reading at a time. Who asks while one is under way gets the next: the connection may be newer than the first. */
class SharedReading {
  readonly #readTable: ReadTable
  #current: Promise<unknown> | undefined
  #next: Promise<string> | undefined

  constructor(readTable: ReadTable) {
    this.#readTable = readTable
  }

  read(): Promise<string> {
    this.#next ??= this.#start()
    return this.#next
  }

  async #start(): Promise<string> {
    await this.#current?.catch(() => {})
    this.#next = undefined
    const reading = this.#readTable()
    this.#current = reading
    return reading
  }
}

async function readTcpTables(): Promise<string> {
  const files = ['/proc/net/tcp', '/proc/net/tcp6']
  return (await Promise.all(files.map((file) => readFile(file, 'latin1').catch(() => '')))).join('\n')
}

/** The user of the socket whose own end is the peer's. One without an inode belongs to no process any more. */
function tcpUser(table: string, peer: readonly string[], here: readonly string[]): number | undefined {
  for (const line of table.split('\n')) {
    const [, local, remote, , , , , uid, , inode] = line.trim().split(/\s+/)
    if (local === undefined || remote === undefined || !peer.includes(local) || !here.includes(remote)) continue
    if (/^[0-9]+$/.test(uid ?? '') && inode !== '0') return Number(uid) === unmappedUser ? undefined : Number(uid)
  }
  return undefined
}

/** As the table writes an address. One of IPv4 is written as one of IPv6 by a socket that takes both. */
function spellings(address: string, port: number): string[] {
  const words = wordsOf(address)
  const mapped = [0, 0, 0xffff]
  const isMapped = words.length === 4 && mapped.every((word, at) => words[at] === word)
  const four = isMapped ? words.slice(3) : words
  const all = words.length === 1 || isMapped ? [four, [...mapped, ...four]] : [words]
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  return all.map((each) => `${each.map(hexWord).join('')}:${hexPort}`)
}

/** One word of 32 bits for IPv4, four for IPv6. */
function wordsOf(address: string): number[] {
  if (!isIPv6(address)) return [toWord(address.split('.').map(Number))]
  // A URL has one form of each address, all of it in hexadecimal.
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

/** The kernel prints each word in the order of the machine's bytes. */
function hexWord(word: number): string {
  const bytes = Buffer.alloc(4)
  if (endianness() === 'LE') bytes.writeUInt32LE(word)
  else bytes.writeUInt32BE(word)
  return bytes.toString('hex').toUpperCase()
}
