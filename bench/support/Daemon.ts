/** Manages a running daemon, ours or another: starts it on a data directory, calls it, reads /proc, stops it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Connection, type HttpResponse } from './Connection.js'
import { apiToken } from './DataDirectory.js'

const pollMs = 1
const startLimitMs = 20_000
const stopLimitMs = 20_000
/** The unit of the times in /proc. Linux fixes it for every architecture we run on. */
const microsecondsPerTick = 10_000

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export type Memory = { rssMb: number; peakMb: number }

export class Daemon {
  readonly port: number
  /** From before the process was created to the end of the first response. */
  readonly startMs: number
  readonly #pid: number
  readonly #child: ChildProcess

  readonly #dataDir: string

  private constructor(child: ChildProcess, dataDir: string, port: number, startMs: number) {
    this.#child = child
    this.#dataDir = dataDir
    this.#pid = Number(readFileSync(join(dataDir, 'kmd.pid'), 'utf8'))
    this.port = port
    this.startMs = startMs
  }

  /** Starts the command, with `{dir}` replaced, and waits for its first response in the way launchers do. */
  static async start(
    command: readonly string[],
    dataDir: string,
    environment: NodeJS.ProcessEnv = {},
  ): Promise<Daemon> {
    const [netFile, pidFile] = [join(dataDir, 'kmd.net'), join(dataDir, 'kmd.pid')]
    for (const file of [netFile, pidFile]) rmSync(file, { force: true })
    const [program, ...args] = command.map((word) => word.replaceAll('{dir}', dataDir))
    const startedAt = performance.now()
    const env = { ...process.env, ...environment }
    const child = spawn(program!, args, { stdio: ['ignore', 'ignore', 'inherit'], env })
    let gone: string | undefined
    child.once('error', (error) => {
      gone = error.message
    })
    child.once('exit', (code, signal) => {
      running.delete(child)
      gone ??= `it ended with ${code ?? signal}`
    })
    running.add(child)

    // Both files are written once the socket accepts connections. An empty file is still being written.
    while (readIfThere(netFile) === '' || readIfThere(pidFile) === '') {
      if (gone !== undefined) throw new StartError(`${program} did not start: ${gone}`)
      if (performance.now() - startedAt > startLimitMs) throw new StartError(`${program} did not start in time`)
      await sleep(pollMs)
    }
    const port = Number(/:(\d+)$/.exec(readIfThere(netFile))?.[1])
    const { status } = await exchange(port, build(port, 'GET', '/versions'))
    const startMs = performance.now() - startedAt
    if (status !== 200) throw new StartError(`${program} responded to /versions with status ${status}`)
    return new Daemon(child, dataDir, port, startMs)
  }

  /** Returns a full request as bytes. */
  build(method: string, path: string, body?: object): Uint8Array {
    return build(this.port, method, path, body)
  }

  /** Sends one request on a new connection; any status other than 200 is an error. */
  async call(method: string, path: string, body?: object): Promise<unknown> {
    const response = await exchange(this.port, this.build(method, path, body))
    if (response.status !== 200) {
      const log = readIfThere(join(this.#dataDir, 'kmd.log')).split('\n').slice(-5).join('\n')
      throw new Error(`${method} ${path} returned ${response.status}: ${response.body}\nThe end of its log:\n${log}`)
    }
    return JSON.parse(response.body)
  }

  async unlock(walletId: string, password: string): Promise<string> {
    const response = await this.call('POST', '/v1/wallet/init', { wallet_id: walletId, wallet_password: password })
    const { wallet_handle_token: handle } = response as { wallet_handle_token?: string }
    if (!/^[0-9a-f]{16}\.[0-9a-f]{64}$/.test(handle ?? '')) throw new Error('unlocking gave no handle')
    return handle!
  }

  /** Returns the user and system time so far of the process with all its threads. */
  cpuMicroseconds(): number {
    const stat = readFileSync(`/proc/${this.#pid}/stat`, 'latin1')
    // The program name, in parentheses, can contain anything, so fields are counted from after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * microsecondsPerTick
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.#pid, name)
  }

  memory(): Memory {
    const status = readFileSync(`/proc/${this.#pid}/status`, 'latin1')
    const megabytes = (name: string): number =>
      Number(new RegExp(`^${name}:\\s*(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
    return { rssMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM') }
  }

  /** Stops the daemon gracefully, waiting for requests in progress. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM')
  }

  /** Kills a daemon that still has requests in progress. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = new Promise((resolve) => this.#child.once('exit', resolve))
    process.kill(this.#pid, signal)
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), stopLimitMs)
    await exited
    clearTimeout(timer)
  }
}

function build(port: number, method: string, path: string, body?: object): Uint8Array {
  const text = body === undefined ? '' : JSON.stringify(body)
  const content =
    body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-KMD-API-Token: ${apiToken}\r\n${content}\r\n${text}`,
  )
}

async function exchange(port: number, request: Uint8Array): Promise<HttpResponse> {
  const connection = await Connection.open(port, { keepBody: true })
  try {
    return await connection.request(request)
  } finally {
    connection.close()
  }
}

const readIfThere = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8').trim() : '')

export class StartError extends Error {
  override name = 'StartError'
}
