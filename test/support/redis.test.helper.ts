/**
 * Runs Redis servers for a test on a free loopback port, with a password that only this test knows, and without
 * persistence unless a test asks for it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './freePort.test.helper.js'

/** Long enough for a start on an overloaded machine. */
const startMs = 60_000

type Scope = { after: (work: () => unknown) => void }

export type RedisServerOptions = {
  /** @default a free port */
  readonly port?: number | undefined
  /** @default '127.0.0.1' */
  readonly host?: string | undefined
  /** Additional settings of the server, like `{ appendonly: 'yes' }`. */
  readonly settings?: { readonly [name: string]: string } | undefined
  /** A command that starts the server, like `['ip', 'netns', 'exec', 'name']`. */
  readonly prefix?: readonly string[] | undefined
}

/** A server that can be killed and restarted. */
export class RedisServer {
  readonly port: number
  readonly host: string
  readonly directory: string
  readonly password = randomBytes(16).toString('hex')
  readonly #options: RedisServerOptions
  #process: ChildProcess | undefined

  private constructor(directory: string, port: number, options: RedisServerOptions) {
    this.directory = directory
    this.port = port
    this.host = options.host ?? '127.0.0.1'
    this.#options = options
  }

  /** Starts a server, which stops with the test. */
  static async start(t: Scope, options: RedisServerOptions = {}): Promise<RedisServer> {
    const directory = mkdtempSync(join(tmpdir(), 'latchkey-redis-'))
    const server = new RedisServer(directory, options.port ?? (await freePort()), options)
    t.after(async () => {
      await server.kill()
      rmSync(directory, { recursive: true, force: true })
    })
    await server.restart()
    return server
  }

  get url(): string {
    return `redis://:${this.password}@${this.host}:${this.port}`
  }

  /** Restarts the server after `kill` or a crash: empty, unless a setting makes it persist its data. */
  async restart(): Promise<void> {
    const settings = {
      bind: this.host,
      port: String(this.port),
      save: '',
      requirepass: this.password,
      dir: this.directory,
      ...this.#options.settings,
    }
    const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
    const libraries = process.env['LATCHKEY_TEST_LIBRARIES']
    const [command, ...args] = [...(this.#options.prefix ?? []), join(binDirectory(), 'redis-server'), ...flags]
    const child = spawn(command!, args, {
      env: { PATH: process.env['PATH'], ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#process = child
    await ready(child)
  }

  /** Whether the process is running. */
  get isRunning(): boolean {
    return this.#process !== undefined && this.#process.exitCode === null && this.#process.signalCode === null
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const child = this.#process
    if (child === undefined || !this.isRunning) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await ended
  }
}

function binDirectory(): string {
  return process.env['REDIS_BIN'] ?? (existsSync('/usr/bin/redis-server') ? '/usr/bin' : '/usr/local/bin')
}

/** Resolves once the server accepts connections. @throws with its output if it exits before */
function ready(child: ChildProcess): Promise<void> {
  let text = ''
  return new Promise((resolve, reject) => {
    const fail = (): void => reject(new Error(`Redis did not start: ${text}`))
    const timer = setTimeout(fail, startMs)
    child.once('error', reject)
    child.once('exit', () => {
      clearTimeout(timer)
      fail()
    })
    child.stdout!.on('data', (chunk: Buffer) => {
      if (text.length < 10_000) text += chunk.toString()
      if (!/Ready to accept connections/i.test(text)) return
      clearTimeout(timer)
      resolve()
    })
  })
}
