/**
 * Proves, before anything is sent, that the daemon of a data directory is at the other end of a connection.
 *
 * A killed daemon leaves `kmd.net` behind, and any account on the machine can then listen on that port. So the peer's
 * socket must belong to the owner of the data directory, or to root, who can read the directory anyway. If the system
 * does not reveal the peer, as with a container's published port and on macOS, a running daemon must hold `kmd.lock`: a
 * daemon removes `kmd.net` when it takes the lock, and again before it stops listening.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, readFile, stat } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type Ends, TransportError } from '@latchkey/http-client'
import * as SocketTable from '@latchkey/system/socket-table'
import type { Doubt } from '../transport/DaemonTransport.js'

type User = number

/** Returns undefined if the peer is the directory's daemon. */
export async function doubt(dataDir: string, ends: Ends): Promise<Doubt | undefined> {
  try {
    return await examine(dataDir, ends)
  } catch {
    // The directory is gone or no longer belongs to this user.
    return stale(dataDir)
  }
}

async function examine(dataDir: string, ends: Ends): Promise<Doubt | undefined> {
  // A connection to a free port in the ephemeral range can connect to itself.
  if (ends.local.port === ends.remote.port && ends.local.address === ends.remote.address) return stale(dataDir)
  const holders = await holdersOf(ends)
  if (holders.length === 0) return byLock(dataDir, ends.remote.port)
  const trusted = await trustedUsers(dataDir)
  const stranger = holders.find((uid) => !trusted.has(uid))
  return stranger === undefined ? undefined : foreign(dataDir, stranger)
}

/**
 * Examines an address over a separate connection, for a `fetch` whose connections cannot be inspected. Once connected,
 * only the examination decides: a peer that resets the connection has proven nothing.
 *
 * @throws TransportError with the code `refused` if no connection can be made.
 */
export async function doubtAddress(dataDir: string, host: string, port: number): Promise<Doubt | undefined> {
  const socket = connect({ host, port, timeout: probeMs })
  try {
    await connected(socket)
    const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = socket
    const local = { address: localAddress, port: localPort }
    return await doubt(dataDir, { local, remote: { address: remoteAddress, port: remotePort } })
  } finally {
    socket.destroy()
  }
}

function connected(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (systemCode: string | undefined): void => reject(new TransportError('refused', { systemCode }))
    socket.on('connect', resolve)
    socket.on('timeout', () => fail('ETIMEDOUT'))
    socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code))
  })
}

/**
 * The id that the kernel shows for every user without a mapping in this user namespace, so it identifies no single user
 * there. If every user has a mapping, as outside user namespaces and in most containers, it is an ordinary user.
 */
async function unmappedUser(): Promise<User | undefined> {
  const map = await readFile('/proc/self/uid_map', 'latin1').catch(() => '')
  if (/^\s*0\s+0\s+4294967295\s*$/.test(map)) return undefined
  const text = await readFile('/proc/sys/kernel/overflowuid', 'latin1').catch(() => '')
  return /^[0-9]+\n?$/.test(text) ? Number(text) : 65_534
}

/** Root, the directory's owner, and the token file's owner if only trusted users can have put the file there. */
async function trustedUsers(dataDir: string): Promise<Set<User>> {
  const [directory, token] = await Promise.all([stat(dataDir), stat(join(dataDir, 'kmd.token'))])
  const users = new Set([0, directory.uid])
  if ((directory.mode & constants.S_IWOTH) === 0) users.add(token.uid)
  const unmapped = await unmappedUser()
  if (unmapped !== undefined) users.delete(unmapped)
  return users
}

/**
 * Reads `kmd.net` after checking the lock: the daemon holding the lock has written the file, or removed the stale one.
 */
async function byLock(dataDir: string, port: number): Promise<Doubt | undefined> {
  const state = await lockState(join(dataDir, 'kmd.lock'))
  if (state === 'unknown') return unproven(dataDir)
  const address = await readFile(join(dataDir, 'kmd.net'), 'latin1').catch(() => '')
  return state === 'held' && address.split('\n', 1)[0]!.endsWith(`:${port}`) ? undefined : stale(dataDir)
}

const probeMs = 5_000

// Flags of open(2) on macOS and the BSDs.
const sharedLock = 0x10
const flagPlatforms: readonly string[] = ['darwin', 'freebsd', 'openbsd']

async function lockState(path: string): Promise<'held' | 'free' | 'unknown'> {
  const byFlags = flagPlatforms.includes(process.platform)
  if (!byFlags && process.platform !== 'linux') return 'unknown'
  let file: FileHandle
  try {
    file = await open(path, constants.O_RDONLY | (byFlags ? sharedLock | constants.O_NONBLOCK : 0))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (byFlags && code === 'EAGAIN') return 'held'
    return code === 'ENOENT' ? 'free' : 'unknown'
  }
  try {
    return byFlags ? 'free' : await flockState(file.fd)
  } finally {
    await file.close()
  }
}

/** Node has no flock(2). The command tries to take a shared lock, which ends with the descriptor. */
async function flockState(descriptor: number): Promise<'held' | 'free' | 'unknown'> {
  const { spawn } = await import('node:child_process')
  return new Promise((resolve) => {
    const child = spawn('flock', ['-s', '-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', descriptor] })
    child.on('error', () => resolve('unknown'))
    child.on('close', (code) => resolve(code === 0 ? 'free' : code === 1 ? 'held' : 'unknown'))
  })
}

function foreign(dataDir: string, uid: User): Doubt {
  const message = `a program of another user (user ${uid}) listens at the address in kmd.net, not the daemon of ${dataDir}`
  return { reason: 'foreign', message }
}

function stale(dataDir: string): Doubt {
  const message = `no key daemon is running in ${dataDir}: its kmd.net was left behind, and another program uses that address`
  return { reason: 'stale', message }
}

function unproven(dataDir: string): Doubt {
  const message = `this system cannot determine whether the daemon of ${dataDir} listens at the address in kmd.net`
  return { reason: 'unproven', message }
}

type Row = { local: string; remote: string; isListening: boolean; uid: number; hasInode: boolean }

const listening = '0A'

/**
 * The users holding the peer's end of a connection; empty if there is no such table. The IPv6 table is read only if the
 * IPv4 table does not decide, because the kernel walks all of its sockets for each.
 */
export async function holdersOf(ends: Ends): Promise<number[]> {
  let table = ''
  for (const file of SocketTable.files) {
    table += `${await SocketTable.read(file)}\n`
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
  const places = [
    ...SocketTable.spellings(remote),
    ...wildcards.map((address) => `${address}:${SocketTable.hexPort(remote.port)}`),
  ]
  return rowsAt(table, remote.port)
    .filter((row) => row.isListening && places.includes(row.local))
    .map(({ uid }) => uid)
}

/** The user of the socket that the peer accepted. */
function acceptedBy(table: string, { local, remote }: Ends): number | undefined {
  const here = SocketTable.spellings(local)
  const there = SocketTable.spellings(remote)
  const row = rowsAt(table, remote.port).find((each) => there.includes(each.local) && here.includes(each.remote))
  // A socket that waits to be accepted has no inode, and older kernels show root as its user.
  return row?.hasInode === true ? row.uid : undefined
}

/** The rows of sockets with this local port. A busy machine has thousands of rows, so only these are split. */
function rowsAt(table: string, port: number): Row[] {
  const rows: Row[] = []
  const localPort = new RegExp(`^ *[0-9]+: [0-9A-F]+:${SocketTable.hexPort(port)} .*$`, 'gm')
  for (const [line] of table.matchAll(localPort)) {
    const [, local, remote, state, , , , uid, , inode] = line.trim().split(/\s+/)
    if (local === undefined || remote === undefined || !/^[0-9]+$/.test(uid ?? '')) continue
    rows.push({ local, remote, isListening: state === listening, uid: Number(uid), hasInode: inode !== '0' })
  }
  return rows
}

const wildcards = ['0'.repeat(8), '0'.repeat(32)]
