/** Runs commands in processes that have loaded their code, because most of a command's time is its start. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

export type Outcome = { code: number | null; stdout: string; stderr: string }

export type HostedCall = {
  readonly command: 'latchkey' | 'kmd'
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

export type OnOutput = (name: 'stdout' | 'stderr', text: string) => void

type Message = (Outcome & { isExit?: boolean }) | { name: 'stdout' | 'stderr'; text: string }

const program = fileURLToPath(new URL('./commandHost-process.test.helper.js', import.meta.url))

const running = new Set<CommandHost>()
const killAll = (): void => {
  for (const host of running) host.kill('SIGKILL')
}
// Not a hook of node:test, which would start its runner in a program that is not a test.
const batch = globalThis as { latchkeyBatchEnd?: (() => unknown)[] }
batch.latchkeyBatchEnd?.push(killAll)
process.once('exit', killAll)

/** A process that runs one command at a time. */
export class CommandHost {
  readonly #child: ChildProcess
  readonly #requests: Writable
  readonly #responses: Readable
  readonly #errors: Readable
  #isGone = false

  constructor() {
    const stdio = ['ignore', 'inherit', 'pipe', 'pipe', 'pipe'] as const
    // Detached, so the commands have no terminal.
    this.#child = spawn(process.execPath, [program], { env: {}, stdio: [...stdio], detached: true })
    this.#requests = this.#child.stdio[3] as Writable
    this.#responses = this.#child.stdio[4] as Readable
    this.#errors = this.#child.stderr!.setEncoding('utf8')
    // A command that ends the process closes the stream.
    this.#requests.on('error', () => {})
    running.add(this)
    this.#child.once('exit', () => {
      this.#isGone = true
      running.delete(this)
    })
  }

  get pid(): number {
    return this.#child.pid!
  }

  /** Whether a command has ended the process. */
  get isGone(): boolean {
    return this.#isGone
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** @param onOutput called with the output of a server, which is then not part of the outcome */
  async run(call: HostedCall, onOutput?: OnOutput): Promise<Outcome> {
    this.#hold(true)
    try {
      let direct = ''
      const onError = (text: string): void => {
        if (onOutput === undefined) direct += text
        else onOutput('stderr', text)
      }
      const [outcome] = await Promise.all([this.#outcome(call, onOutput), this.#endOfErrors(onError)])
      return { ...outcome, stderr: outcome.stderr + direct }
    } finally {
      this.#hold(false)
    }
  }

  #outcome(call: HostedCall, onOutput: OnOutput | undefined): Promise<Outcome> {
    return new Promise<Outcome>((resolve, reject) => {
      let rest = Buffer.alloc(0)
      const receive = (piece: Buffer): void => {
        rest = Buffer.concat([rest, piece])
        for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
          const message = JSON.parse(rest.subarray(0, end).toString()) as Message
          rest = rest.subarray(end + 1)
          if ('name' in message) {
            onOutput?.(message.name, message.text)
            continue
          }
          this.#responses.off('data', receive).off('close', fail)
          if (message.isExit === true) this.#release()
          resolve({ code: message.code, stdout: message.stdout, stderr: message.stderr })
        }
      }
      const fail = (): void => reject(new Error(`no outcome of ${call.command} ${call.args.join(' ')}`))
      this.#responses.on('data', receive).on('close', fail)
      this.#requests.write(`${JSON.stringify({ ...call, isServer: onOutput !== undefined })}\n`)
    })
  }

  /** Lets a process exit: it waits for its thread that reads the next request. */
  #release(): void {
    this.#isGone = true
    this.#requests.end()
  }

  /** Passes on what the command writes to descriptor 2 directly, until the byte that ends it. */
  #endOfErrors(onText: (text: string) => void): Promise<void> {
    return new Promise<void>((resolve) => {
      const end = (): void => {
        this.#errors.off('data', receive).off('close', end)
        resolve()
      }
      const receive = (text: string): void => {
        // Log lines that were being written may come after the byte.
        const shown = text.replaceAll('\0', '')
        if (shown !== '') onText(shown)
        if (shown.length < text.length) end()
      }
      this.#errors.on('data', receive).on('close', end)
    })
  }

  /** An idle host does not keep the test process running. */
  #hold(isHeld: boolean): void {
    const handles = [this.#child, this.#requests, this.#responses, this.#errors]
    for (const one of handles as unknown as Pick<Socket, 'ref' | 'unref'>[]) {
      if (isHeld) one.ref()
      else one.unref()
    }
  }
}

export type HostedServer = {
  readonly pid: number
  /** Sends a signal to the process while the server runs. SIGKILL ends the process, any other at most the server. */
  readonly kill: (signal: NodeJS.Signals) => void
  /** The exit code, or SIGKILL. */
  readonly ended: Promise<number | NodeJS.Signals>
  /** Ends the server in any case. */
  readonly end: () => Promise<void>
}

const idle: CommandHost[] = []
const maxIdle = 3

/** Long enough for an overloaded machine. */
const stopMs = 30_000

/**
 * Runs a server in a process that ran others before, one at a time. For tests of a server's responses, files, output and
 * settings: not of how its process starts and exits.
 */
export function startHosted(call: HostedCall, onOutput: OnOutput): HostedServer {
  let host = idle.pop()
  while (host?.isGone) host = idle.pop()
  return runServer(host ?? new CommandHost(), call, onOutput)
}

function runServer(host: CommandHost, call: HostedCall, onOutput: OnOutput): HostedServer {
  let isEnded = false
  const ended = host.run(call, onOutput).then(
    ({ code }) => {
      isEnded = true
      if (idle.length < maxIdle) idle.push(host)
      else host.kill('SIGKILL')
      return code ?? 0
    },
    () => {
      isEnded = true
      return 'SIGKILL' as const
    },
  )
  const kill = (signal: NodeJS.Signals): void => {
    if (!isEnded) host.kill(signal)
  }
  const end = async (): Promise<void> => {
    kill('SIGTERM')
    const timer = setTimeout(() => kill('SIGKILL'), stopMs)
    await ended
    clearTimeout(timer)
  }
  return { pid: host.pid, kill, ended, end }
}
