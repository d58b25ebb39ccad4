/**
 * The daemon's Unix socket, in addition to its port. The kernel decides who may connect, by the modes of the socket and
 * of the directories above it. So neither may be open to other users, who could replace the socket with their own.
 */
import { chmodSync, chownSync, lstatSync, readFileSync, realpathSync, type Stats, statSync, unlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { basename, dirname, isAbsolute, join } from 'node:path'
import type { Server } from '@latchkey/http'
import { StartError } from '../errors.js'
import * as PeerCredentials from './PeerCredentials.js'
import * as UnixSocketAcl from './UnixSocketAcl.js'

export type UnixSocketSettings = {
  /** An absolute path. */
  path: string
  /** A group, by name or number, whose members may also connect. @default the daemon's user only */
  group?: string | undefined
  /** The users that may connect. The daemon also checks the user of each connection. @default all of the group */
  users?: readonly number[] | undefined
  /** Grants the users access. @default {@link UnixSocketAcl.restrict} */
  restrict?: typeof UnixSocketAcl.restrict
}

/** Who can connect to the socket, apart from the daemon's user and root: no one, the listed users, or the group. */
export type Admitted = 'none' | 'users' | 'group'

/** The size of `sun_path`, including the terminating zero. */
const longestPath = process.platform === 'darwin' ? 103 : 107
const [ownMode, groupMode] = [0o600, 0o660]
const writableByOthers = 0o022
const sticky = 0o1000

/**
 * Starts listening, and returns whom the kernel lets connect. The socket is removed when the server stops.
 *
 * @throws {@link StartError} `unix_socket`
 */
export async function listen(server: Server, settings: UnixSocketSettings): Promise<Admitted> {
  const { path, group, users, restrict = UnixSocketAcl.restrict } = settings
  checkPath(path)
  if (users !== undefined && !PeerCredentials.isSupported()) {
    throw refused(
      'unix_socket_uids cannot be enforced here: this requires Linux, and /usr/bin/perl or /usr/bin/python3',
    )
  }
  const real = join(checkDirectory(dirname(path)), basename(path))
  checkPath(real)
  const groupId = group === undefined ? undefined : findGroup(group)
  await removeStale(real)
  await withUmask(0o177, () => server.listenUnix(real)).catch((error: Error) => {
    throw refused(`cannot listen on ${path}: ${error.message}`)
  })
  try {
    if (groupId === undefined) {
      chmodSync(real, ownMode)
      return 'none'
    }
    chownSync(real, process.getuid?.() ?? 0, groupId)
    // The mode stays as it is: it is part of the list.
    if (users !== undefined && (await restrict(real, users))) return 'users'
    chmodSync(real, groupMode)
    return 'group'
  } catch (error) {
    await server.stop(0)
    throw refused(`cannot set the mode of ${path}: ${(error as Error).message}`)
  }
}

/** The name is bound within the call, so the socket never has another mode. */
function withUmask<T>(umask: number, bind: () => T): T {
  const before = process.umask(umask)
  try {
    return bind()
  } finally {
    process.umask(before)
  }
}

function checkPath(path: string): void {
  if (process.platform === 'win32') throw refused('this system has no Unix sockets')
  if (!isAbsolute(path)) throw refused(`unix_socket must be an absolute path, not ${path}`)
  if (path.includes('\0')) throw refused('unix_socket must not contain a zero byte')
  if (Buffer.byteLength(path) > longestPath) {
    throw refused(`unix_socket is too long, must be <= ${longestPath} bytes: ${path}`)
  }
}

/**
 * Returns the directory without symbolic links, after checking that it and all directories above it are safe from other
 * users.
 */
function checkDirectory(directory: string): string {
  let real: string
  try {
    real = realpathSync(directory)
  } catch (error) {
    throw refused(`the socket's directory cannot be used: ${(error as Error).message}`)
  }
  const problem = problemOf(real, statSync(real))
  if (problem !== undefined) throw refused(problem)
  for (let above = dirname(real); ; above = dirname(above)) {
    const stats = statSync(above)
    // In a sticky directory such as /tmp, only its owner can move other users' files.
    const mode = (stats.mode & sticky) === 0 ? stats.mode : stats.mode & ~writableByOthers
    const found = problemOf(above, { uid: stats.uid, mode })
    if (found !== undefined) throw refused(found)
    if (above === dirname(above)) return real
  }
}

function problemOf(directory: string, { uid, mode }: Pick<Stats, 'uid' | 'mode'>): string | undefined {
  if (uid !== 0 && uid !== process.getuid?.()) return `${directory} belongs to another user (${uid})`
  return (mode & writableByOthers) === 0 ? undefined : `other users can write to ${directory}: chmod go-w ${directory}`
}

/** Removes a socket left behind by a killed daemon, and nothing else. */
async function removeStale(path: string): Promise<void> {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return
  if (!stats.isSocket()) throw refused(`${path} exists and is not a socket`)
  if (stats.uid !== process.getuid?.()) throw refused(`the socket ${path} belongs to another user (${stats.uid})`)
  if (await isListening(path)) throw refused(`another program listens on ${path}`)
  unlinkSync(path)
}

const connectMs = 5_000

/** If the state cannot be determined, assume that a program is listening. */
function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path, timeout: connectMs })
    const settle = (isAlive: boolean): void => {
      socket.destroy()
      resolve(isAlive)
    }
    socket.on('connect', () => settle(true))
    socket.on('timeout', () => settle(true))
    socket.on('error', (error: NodeJS.ErrnoException) =>
      settle(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    )
  })
}

/** Node cannot look up a group. The file has the groups that are not from a directory service. */
function findGroup(group: string): number {
  if (/^[0-9]{1,10}$/.test(group)) return Number(group)
  let text = ''
  try {
    text = readFileSync('/etc/group', 'utf8')
  } catch {
    // Only numbers work then.
  }
  for (const line of text.split('\n')) {
    const [name, , number] = line.split(':')
    if (name === group && /^[0-9]+$/.test(number ?? '')) return Number(number)
  }
  throw refused(`group ${group} is not in /etc/group; give its number`)
}

function refused(message: string): StartError {
  return new StartError('unix_socket', { message })
}
