/**
 * Finds the users of TCP connections in the kernel's socket table. The table of a busy machine is long, so concurrent
 * lookups share one read, each read is parsed once and in pieces, and reads take at most a tenth of the process's time.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { ConnectionEnds } from '@latchkey/http'
import * as SocketTable from '@latchkey/system/socket-table'
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
    const here = SocketTable.spellings({ address: localAddress, port: localPort })
    // The socket whose local end is the peer's.
    for (const peer of SocketTable.spellings({ address: remoteAddress, port: remotePort })) {
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
  const tables: string[] = []
  for (const file of SocketTable.files) tables.push(await readTable(file))
  return tables.join('\n')
}

/** How much of a table is read before other work runs: about 1,700 connections. */
const bytesPerTurn = 256 * 1024

/**
 * Reads synchronously and in pieces: the system returns 4 KiB at a time, and each one would take a thread and a turn of
 * the event loop. Blank if the system has no such table.
 */
async function readTable(file: string): Promise<string> {
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch {
    return ''
  }
  const buffer = Buffer.allocUnsafe(64 * 1024)
  let [text, sinceTurn] = ['', 0]
  try {
    for (;;) {
      const length = readSync(descriptor, buffer)
      if (length === 0) return text
      text += buffer.toString('latin1', 0, length)
      sinceTurn += length
      if (sinceTurn < bytesPerTurn) continue
      sinceTurn = 0
      await nextTurn()
    }
  } finally {
    closeSync(descriptor)
  }
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
