/**
 * The user at the other end of a Unix socket, as the kernel noted it when the connection was made (SO_PEERCRED on Linux). Node
 * cannot ask for it, so that a program of the system does: perl, which nearly every Linux has, or python3. It gets the socket
 * and nothing else: no environment, no input.
 */
import { spawn } from 'node:child_process'
import { existsSync, readlinkSync } from 'node:fs'

type Program = { readonly file: string; readonly args: readonly string[] }

/** Each writes the process, the user and the group of the peer of descriptor 3. By full path: never one of another directory. */
const programs: readonly Program[] = [
  {
    file: '/usr/bin/perl',
    args: [
      '-MSocket=SOL_SOCKET,SO_PEERCRED',
      '-e',
      'open(my $s, "+<&=", 3) or exit 1; my $c = getsockopt($s, SOL_SOCKET, SO_PEERCRED) or exit 1; print join(" ", unpack("l L L", $c));',
    ],
  },
  {
    file: '/usr/bin/python3',
    args: [
      '-I',
      '-S',
      '-c',
      'import socket, struct\ns = socket.socket(fileno=3)\nprint(*struct.unpack("iII", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)))',
    ],
  },
]

const mostAtOnce = 4
const mostWaiting = 256
const programMs = 10_000
/** What the kernel shows for every user that has no number in this user namespace: it identifies none. */
export const unmappedUser = 65_534

/** Whether this system can tell at all. */
export function isSupported(): boolean {
  return process.platform === 'linux' && findProgram() !== undefined
}

function findProgram(): Program | undefined {
  return programs.find(({ file }) => existsSync(file))
}

export class PeerCredentials {
  #running = 0
  readonly #waiting: (() => void)[] = []

  /**
   * The user at the other end of the socket with this descriptor; undefined where that cannot be determined. Call it while the
   * socket is open: what is closed before its turn comes is not asked about, because its descriptor may be another's by then.
   */
  userOf(descriptor: number): Promise<number | undefined> {
    const [socket, program] = [socketOf(descriptor), findProgram()]
    if (!isSupported() || socket === undefined || program === undefined) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const start = (): void => {
        const user = socketOf(descriptor) === socket ? ask(program, descriptor) : Promise.resolve(undefined)
        void user.then(resolve).finally(() => this.#next())
      }
      if (this.#running < mostAtOnce) {
        this.#running++
        start()
      } else if (this.#waiting.length < mostWaiting) this.#waiting.push(start)
      else resolve(undefined)
    })
  }

  #next(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#running--
    else next()
  }
}

/** The socket is passed on within the call. */
function ask({ file, args }: Program, descriptor: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      stdio: ['ignore', 'pipe', 'ignore', descriptor],
      env: {},
      timeout: programMs,
    })
    let output = ''
    child.stdout?.setEncoding('latin1').on('data', (text: string) => {
      output = (output + text).slice(0, 100)
    })
    child.on('error', () => resolve(undefined))
    child.on('close', (code) => {
      const user = /^-?[0-9]+ ([0-9]{1,10}) [0-9]+\s*$/.exec(output)?.[1]
      resolve(code !== 0 || user === undefined || Number(user) === unmappedUser ? undefined : Number(user))
    })
  })
}

/** Which socket a descriptor is, such as `socket:[12]`. */
function socketOf(descriptor: number): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`)
  } catch {
    return undefined
  }
}
