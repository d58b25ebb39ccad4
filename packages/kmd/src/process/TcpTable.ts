/**
 * Finds the users of TCP connections in the kernel's socket table. The table of a busy machine is long, so concurrent
 * lookups share one read, each read is parsed once and in pieces, and reads take at most a tenth of the process's time.
 */
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { endianness } from 'node:os'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { ConnectionEnds } from '@latchkey/http'
import { unmappedUser } from './PeerCredentials.js'

/** Reads a table. Rejects, or resolves with blank text, if the system has none. */
export type ReadTable = () => Promise<string>

type Users = ReadonlyMap<string, number>

const linesPerTurn = 2_000
/** The pause after a read, as a multiple of its parsing time. */
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

  /** Undefined if the table does not have the connection. */
  async userOf(ends: ConnectionEnds): Promise<number | undefined> {
    const { localAddress, localPort, remoteAddress, remotePort } = ends
    // A closed connection no longer has addresses.
    if (remoteAddress === undefined || remotePort === undefined) return undefined
    if (localAddress === undefined || localPort === undefined) return undefined
    const users = await this.#read()
    const here = spellings(localAddress, localPort)
    // The socket whose local end is the peer's.
    for (const peer of spellings(remoteAddress, remotePort)) {
      for (const each of here) {
        const user = users.get(`${peer} ${each}`)
        if (user !== undefined) return user
      }
    }
    return undefined
  }

  /**
   * Runs one read at a time. A lookup during a read gets the next one, because its connection may be newer than the
   * current read.
   */
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

/** Number, local end, remote end, state, queues, timer, retransmissions, user, timeout, inode. */
const row = /^ *[0-9]+: ([0-9A-F]+:[0-9A-F]{4} [0-9A-F]+:[0-9A-F]{4}) (?:\S+ +){4}([0-9]+) +[0-9]+ +([0-9]+)/

/**
 * Adds the rows from `at` on, and returns where the next piece begins. A row without an inode no longer belongs to a
 * process.
 */
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

/** The notations of an address in the table. A dual-stack socket shows an IPv4 address as IPv6. */
function spellings(address: string, port: number): string[] {
  const words = wordsOf(address)
  const mapped = [0, 0, 0xffff]
  const isMapped = words.length === 4 && mapped.every((word, at) => words[at] === word)
  const four = isMapped ? words.slice(3) : words
  const all = words.length === 1 || isMapped ? [four, [...mapped, ...four]] : [words]
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  return all.map((each) => `${each.map(hexWord).join('')}:${hexPort}`)
}

/** One 32-bit word for IPv4, four for IPv6. */
function wordsOf(address: string): number[] {
  if (!isIPv6(address)) return [toWord(address.split('.').map(Number))]
  // A URL has one form of each address, all in hexadecimal.
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
