/**
 * Runs a process whose time is measured by the shell that starts it, because Node does not report the processor time of
 * its children.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'

/** Prints when the command starts, and afterwards its real, user and system time. */
const script = 'TIMEFORMAT="%R %U %S"; echo "$EPOCHREALTIME" >&3; { time "$@" 2>/dev/null 3>&-; } 2>&3'

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export type Times = {
  /** When the command was started, in milliseconds since 1970. */
  startedAtMs: number
  endedAtMs: number
  wallMs: number
  /** User and system time of the command and of the processes that it waited for. */
  cpuMs: number
}

export class TimedProcess {
  readonly #ended: Promise<Times>

  constructor([program, ...args]: readonly string[], environment: NodeJS.ProcessEnv = process.env) {
    const child = spawn('bash', ['-c', script, 'bash', program!, ...args], {
      stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
      env: environment,
    })
    running.add(child)
    this.#ended = times(child).finally(() => running.delete(child))
    // The error is thrown to the caller of `ended`; until then, it must not count as unhandled.
    this.#ended.catch(() => {})
  }

  ended(): Promise<Times> {
    return this.#ended
  }
}

async function times(child: ChildProcess): Promise<Times> {
  let text = ''
  const pipe = child.stdio[3] as Readable
  pipe.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  const [code] = (await once(child, 'close')) as [number | null]
  const endedAtMs = now()
  if (code !== 0) throw new Error(`${child.spawnargs.slice(4).join(' ')} ended with ${code}`)
  const [started, real, user, system] = text.split(/\s+/).map(Number) as [number, number, number, number]
  return { startedAtMs: started * 1000, endedAtMs, wallMs: real * 1000, cpuMs: (user + system) * 1000 }
}

/** Milliseconds since 1970, with fractions. */
export const now = (): number => performance.timeOrigin + performance.now()
