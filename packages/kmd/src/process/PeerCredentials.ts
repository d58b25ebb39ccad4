/**
 * Finds the user at the other end of a Unix socket, as noted by the kernel when the connection was made (SO_PEERCRED on
 * Linux). Node cannot query it, so a system program does: perl, which nearly every Linux has, or python3. The program
 * gets only the sockets: no environment, no input. One process serves all waiting connections, because a process for
 * each would let a peer with many connections keep others waiting.
 */
import { spawn } from 'node:child_process'
import { existsSync, readlinkSync } from 'node:fs'

type Program = { readonly file: string; readonly args: readonly string[] }

/**
 * Each program writes one line per descriptor, starting at 3, for as many as its argument says: process, user and group
 * of the peer, or a dash. Full paths ensure that no program from another directory is run.
 */
const programs: readonly Program[] = [
  {
    file: '/usr/bin/perl',
    args: [
      '-MSocket=SOL_SOCKET,SO_PEERCRED',
      '-e',
      'for my $d (3 .. 2 + $ARGV[0]) { my $s; my $c = open($s, "+<&=", $d) ? getsockopt($s, SOL_SOCKET, SO_PEERCRED) : undef; print defined $c ? join(" ", unpack("l L L", $c)) : "-", "\\n"; }',
    ],
  },
  {
    file: '/usr/bin/python3',
    args: [
      '-I',
      '-S',
      '-c',
      [
        'import socket, struct, sys',
        'for d in range(3, 3 + int(sys.argv[1])):',
        '  try: print(*struct.unpack("iII", socket.socket(fileno=d).getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)))',
        '  except OSError: print("-")',
      ].join('\n'),
    ],
  },
]

const mostAtOnce = 2
/** The maximum number of connections per process. */
const mostOfBatch = 128
const mostWaiting = 2_048
/** The minimum interval between process starts, except for urgent queries. */
const betweenMs = 20
const programMs = 10_000
/** The id that the kernel shows for every user without a mapping in this user namespace. This id identifies no user. */
export const unmappedUser = 65_534

type User = number | undefined
type Waiting = { readonly descriptor: number; readonly socket: string; readonly resolve: (user: User) => void }

/** Queries the users of several connections, in order. */
export type AskUsers = (descriptors: readonly number[]) => Promise<readonly User[]>

export type PeerCredentialsOptions = {
  /** @default perl or python3 */
  ask?: AskUsers
  /** A monotonic clock, in milliseconds. @default performance.now */
  now?: () => number
}

/** Whether this system supports the query. */
export function isSupported(): boolean {
  return process.platform === 'linux' && findProgram() !== undefined
}

function findProgram(): Program | undefined {
  return programs.find(({ file }) => existsSync(file))
}

export class PeerCredentials {
  readonly #ask: AskUsers
  readonly #now: () => number
  #running = 0
  #startedAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #urgent: Waiting[] = []
  #others: Waiting[] = []

  constructor({ ask = askProgram, now = () => performance.now() }: PeerCredentialsOptions = {}) {
    this.#ask = ask
    this.#now = now
  }

  /**
   * Returns the user at the other end of the socket with this descriptor; undefined if it cannot be determined. Call
   * this while the socket is open. A socket that is closed before its turn is skipped, because its descriptor may then
   * belong to another socket.
   *
   * @param options `isUrgent`: the connection has shown a valid token, and goes before those that have not.
   */
  userOf(descriptor: number, { isUrgent = false }: { isUrgent?: boolean } = {}): Promise<User> {
    const socket = socketOf(descriptor)
    if (socket === undefined) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      if (isUrgent) this.#urgent.push({ descriptor, socket, resolve })
      else this.#others.push({ descriptor, socket, resolve })
      // The oldest one is the least likely to be still open.
      if (this.#others.length > mostWaiting) this.#others.shift()!.resolve(undefined)
      this.#next()
    })
  }

  #next(): void {
    // One process is reserved for urgent queries, which then never wait for those of strangers.
    const most = this.#urgent.length > 0 ? mostAtOnce : mostAtOnce - 1
    if (this.#running >= most || this.#urgent.length + this.#others.length === 0) return
    const waitMs = this.#urgent.length > 0 ? 0 : this.#startedAt + betweenMs - this.#now()
    if (waitMs > 0) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined
        this.#next()
      }, waitMs)
      return
    }
    const batch = this.#takeBatch()
    if (batch.length === 0) return
    this.#running++
    this.#startedAt = this.#now()
    // The sockets are passed on within the call.
    this.#ask(batch.map(({ descriptor }) => descriptor))
      .catch((): readonly User[] => [])
      .then((users) => {
        this.#running--
        for (const [at, { resolve }] of batch.entries()) resolve(users[at])
        this.#next()
      })
  }

  #takeBatch(): Waiting[] {
    const batch: Waiting[] = []
    while (batch.length < mostOfBatch) {
      const waiting = this.#urgent.shift() ?? this.#others.shift()
      if (waiting === undefined) break
      if (socketOf(waiting.descriptor) === waiting.socket) batch.push(waiting)
      else waiting.resolve(undefined)
    }
    return batch
  }
}

function askProgram(descriptors: readonly number[]): Promise<readonly User[]> {
  const program = findProgram()
  if (!isSupported() || program === undefined) return Promise.resolve([])
  return new Promise((resolve) => {
    const child = spawn(program.file, [...program.args, String(descriptors.length)], {
      stdio: ['ignore', 'pipe', 'ignore', ...descriptors],
      env: {},
      timeout: programMs,
    })
    let output = ''
    child.stdout?.setEncoding('latin1').on('data', (text: string) => {
      output = (output + text).slice(0, 100 * mostOfBatch)
    })
    child.on('error', () => resolve([]))
    child.on('close', (code) => resolve(code === 0 ? readUsers(output, descriptors.length) : []))
  })
}

/** Requires exactly one line per connection; otherwise, none of the output counts. */
function readUsers(output: string, count: number): readonly User[] {
  const lines = output.split('\n')
  return lines.length === count + 1 && lines[count] === '' ? lines.slice(0, count).map(readUser) : []
}

function readUser(line: string): User {
  const user = /^-?[0-9]+ ([0-9]{1,10}) [0-9]+$/.exec(line)?.[1]
  return user === undefined || Number(user) === unmappedUser ? undefined : Number(user)
}

/** The socket of a descriptor, such as `socket:[12]`. */
function socketOf(descriptor: number): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`)
  } catch {
    return undefined
  }
}
