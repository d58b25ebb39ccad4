/**
 * The users of TCP connections, from the kernel's table of sockets. The table of a busy machine is long: connections that are
 * made at the same time share one reading, each reading is parsed once, in pieces, and readings take at most a tenth of the
 * time of the process.
 */
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { endianness } from 'node:os'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { ConnectionEnds } from '@latchkey/http'
import { unmappedUser } from './PeerCredentials.js'

/** Reads a table. Rejects, or resolves with a blank text, where the system has none. */
export type ReadTable = () => Promise<string>

type Users = ReadonlyMap<string, number>

const linesPerTurn = 2_000
/** A reading is followed by a pause of so many times the time that parsing it took. */
const pauseFactor = 9
const shortestPauseMs = 5

export class TcpTable {
  readonly #readTable: ReadTable
  #current: Promise<unknown> | undefined
  #next: Promise<Users> | undefined
  #pauseMs = 0

  constructor(readTable: ReadTable = readTcpTables) {
    this.#readTable = readTable
  }

  /** Undefined where the table does not have the connection. */
  async userOf(ends: ConnectionEnds): Promise<number | undefined> {
    const { localAddress, localPort, remoteAddress, remotePort } = ends
    // A connection that was closed has no ends any more.
    if (remoteAddress === undefined || remotePort === undefined) return undefined
    if (localAddress === undefined || localPort === undefined) return undefined
    const users = await this.#read()
    const here = spellings(localAddress, localPort)
    // The socket whose own end is the peer's.
    for (const peer of spellings(remoteAddress, remotePort)) {
      for (const each of here) {
        const user = users.get(`${peer} ${each}`)
        if (user !== undefined) return user
      }
    }
    return undefined
  }

  /** One reading at a time. Who asks while one is under way gets the next: the connection may be newer than the first. */
  #read(): Promise<Users> {
    this.#next ??= this.#start()
    return this.#next
  }

  async #start(): Promise<Users> {
    await this.#current?.catch(() => {})
    if (this.#pauseMs >= shortestPauseMs) await sleep(this.#pauseMs)
    this.#next = undefined
    const reading = this.#readTable().then((table) => this.#parse(table))
    this.#current = reading
    return reading
  }

  async #parse(table: string): Promise<Users> {
    const users = new Map<string, number>()
    let spentMs = 0
    for (let at = 0; at < table.length; ) {
      if (at > 0) await nextTurn()
      const startedAt = performance.now()
      at = parsePiece(table, at, users)
      spentMs += performance.now() - startedAt
    }
    this.#pauseMs = spentMs * pauseFactor
    return users
  }
}

async function readTcpTables(): Promise<string> {
  const files = ['/proc/net/tcp', '/proc/net/tcp6']
  return (await Promise.all(files.map((file) => readFile(file, 'latin1').catch(() => '')))).join('\n')
}

/** Number, own end, other end, state, queues, timer, retransmissions, user, timeout, inode. */
const row = /^ *[0-9]+: ([0-9A-F]+:[0-9A-F]{4} [0-9A-F]+:[0-9A-F]{4}) (?:\S+ +){4}([0-9]+) +[0-9]+ +([0-9]+)/

/** Adds the rows from `at` on, and returns where the next piece begins. A row without an inode belongs to no process any more. */
function parsePiece(table: string, at: number, users: Map<string, number>): number {
  let start = at
  for (let line = 0; line < linesPerTurn && start < table.length; line++) {
    const end = table.indexOf('\n', start)
    const next = end < 0 ? table.length : end
    const [, ends, uid, inode] = row.exec(table.slice(start, next)) ?? []
    const isKnown = uid !== undefined && inode !== '0' && Number(uid) !== unmappedUser
    if (ends !== undefined && isKnown && !users.has(ends)) users.set(ends, Number(uid))
    start = next + 1
  }
  return start
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
