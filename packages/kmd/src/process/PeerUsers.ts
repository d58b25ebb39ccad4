/**
 * The user at the other end of a connection on this machine, as the kernel's tables of sockets have it on Linux. Node cannot
 * ask for the credentials of a peer (SO_PEERCRED).
 *
 * A connection from another machine, or from another network namespace such as that of a container, is in no table here: then
 * the user is not known. The tables of a busy machine are long, so that connections that are made at the same time share one
 * reading.
 */
import { execFile } from 'node:child_process'
import { readlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { endianness } from 'node:os'
import type { ConnectionEnds } from '@latchkey/http'

/** Reads a table. Rejects, or resolves with a blank text, where the system has none. */
export type ReadTable = () => Promise<string>

export type PeerUsersOptions = {
  /** @default /proc/net/tcp and /proc/net/tcp6 */
  readTcp?: ReadTable
  /** @default the output of ss, which asks the kernel */
  readUnix?: ReadTable
  /** The number of the socket behind a descriptor. @default from /proc/self/fd */
  inodeOf?: (descriptor: number) => string | undefined
}

export class PeerUsers {
  readonly #tcp: SharedReading
  readonly #unix: SharedReading
  readonly #inodeOf: (descriptor: number) => string | undefined
  readonly #known = new WeakMap<ConnectionEnds, Promise<number | undefined>>()

  constructor({ readTcp = readTcpTables, readUnix = listUnixSockets, inodeOf = readInode }: PeerUsersOptions = {}) {
    this.#tcp = new SharedReading(readTcp)
    this.#unix = new SharedReading(readUnix)
    this.#inodeOf = inodeOf
  }

  /** The user of a TCP connection; undefined where the system does not tell. Looked up once for a connection. */
  of(ends: ConnectionEnds): Promise<number | undefined> {
    return this.#once(ends, () => this.#tcpUser(ends))
  }

  /** The user of a connection of a Unix socket; undefined where the system does not tell. Looked up once for a connection. */
  ofUnix(ends: ConnectionEnds): Promise<number | undefined> {
    const { descriptor } = ends
    return this.#once(ends, async () => (descriptor === undefined ? undefined : this.#unixUser(descriptor)))
  }

  /** Whether the users of a Unix socket can be looked up at all. */
  async canLookUpUnix(): Promise<boolean> {
    return this.#unix.read().then(
      () => true,
      () => false,
    )
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

  /**
   * Any user can give a socket a name that looks like rows of the table. So a row counts if it is the only one of its number, in
   * two readings: a peer that is there in the second was there during all of the first, and so was its true row.
   */
  async #unixUser(descriptor: number): Promise<number | undefined> {
    const inode = this.#inodeOf(descriptor)
    if (inode === undefined) return undefined
    const first = unixUser(await this.#unix.read(), inode)
    const second = first === undefined ? undefined : unixUser(await this.#unix.read(), inode)
    // Once the connection is closed, its descriptor is that of something else.
    if (second === undefined || this.#inodeOf(descriptor) !== inode) return undefined
    return first?.peer === second.peer && first.user === second.user ? first.user : undefined
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
    if (/^[0-9]+$/.test(uid ?? '') && inode !== '0') return known(Number(uid))
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

const commandMs = 5_000
const longestOutput = 16 * 2 ** 20

/** Without a header, with the users. Fails where the command is not installed. */
function listUnixSockets(): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      timeout: commandMs,
      maxBuffer: longestOutput,
      encoding: 'latin1',
      env: { PATH: commandPath },
    } as const
    execFile('ss', ['-x', '-e', '-H', '-O'], options, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    )
  })
}

/** Of the system only: a directory of somebody else's could have a command of this name. */
const commandPath = '/usr/sbin:/usr/bin:/sbin:/bin'

function readInode(descriptor: number): string | undefined {
  try {
    return /^socket:\[([0-9]+)\]$/.exec(readlinkSync(`/proc/self/fd/${descriptor}`))?.[1]
  } catch {
    return undefined
  }
}

type UnixPeer = { peer: string; user: number }

/**
 * The command leaves out the user root, and older ones leave out all of them. So no user is root only if it is shown here that
 * users are listed: on the row of the daemon's own socket.
 */
function unixUser(table: string, inode: string): UnixPeer | undefined {
  const own = findRow(table, inode)
  const peer = own === undefined ? undefined : findRow(table, own.peer)
  if (own === undefined || peer?.peer !== inode) return undefined
  const user = peer.user ?? (own.user === undefined ? undefined : 0)
  return user === undefined || user === unmappedUser ? undefined : { peer: own.peer, user }
}

type UnixRow = { peer: string; user: number | undefined }

/**
 * The row of a socket; undefined if there are several. Columns: ..., name and number of one end, those of the other, the user.
 * What stands last counts: the name of a client is its own choice.
 */
function findRow(table: string, inode: string): UnixRow | undefined {
  const pattern = new RegExp(`^.* ${inode} +\\S+ ([0-9]+)(?: (.*))?$`)
  const rows = table.split('\n').flatMap((line) => {
    const found = line.includes(inode) ? pattern.exec(line) : null
    const user = /(?:^| )uid:([0-9]+)(?: |$)/.exec(found?.[2] ?? '')?.[1]
    return found === null ? [] : [{ peer: found[1]!, user: user === undefined ? undefined : Number(user) }]
  })
  return rows.length === 1 ? rows[0] : undefined
}

/** What the kernel shows for every user that has no number in this user namespace: it identifies none. */
const unmappedUser = 65_534

function known(user: number): number | undefined {
  return user === unmappedUser ? undefined : user
}
