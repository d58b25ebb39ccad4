/** A process on a machine of the network, which is killed and started again, with a clock of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Host } from './Network.test.helper.js'
import { setting } from './settings.test.helper.js'

export type ServiceOptions = {
  readonly host: Host
  /** Of the test: logs are written to it. */
  readonly directory: string
  readonly command: readonly string[]
  readonly env?: { readonly [name: string]: string } | undefined
}

/** Long enough for an overloaded machine. */
const startMs = 90_000

export class Service {
  readonly name: string
  readonly host: Host
  readonly clock: Clock
  readonly #options: ServiceOptions
  #child: ChildProcess | undefined
  #env: { readonly [name: string]: string }

  constructor(name: string, options: ServiceOptions) {
    this.name = name
    this.host = options.host
    this.#options = options
    this.#env = options.env ?? {}
    this.clock = new Clock(options.directory, name)
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** For the next start. */
  setEnv(env: { readonly [name: string]: string }): void {
    this.#env = { ...this.#env, ...env }
  }

  /** Starts it, again and again where it ends at once, as a supervisor does: what it needs may be down. */
  async start(): Promise<void> {
    const giveUpAt = performance.now() + startMs
    while (!(await this.#spawn())) {
      if (performance.now() > giveUpAt) throw new Error(`${this.name} does not start; see ${this.name}.log`)
      await sleep(300)
    }
  }

  /** Whether it printed that it is ready. */
  async #spawn(): Promise<boolean> {
    const { host, directory, command } = this.#options
    const [program, ...args] = [...host.prefix, ...command]
    const log = openSync(join(directory, `${this.name}.log`), 'a')
    const env = { PATH: process.env['PATH'], HOME: '/nonexistent', ...this.clock.env, ...this.#env }
    const child = spawn(program!, args, { stdio: ['ignore', 'pipe', log], env })
    this.#child = child
    const ended = once(child, 'exit').then(() => false)
    const ready = new Promise<boolean>((resolve) => child.stdout!.once('data', () => resolve(true)))
    const isReady = await Promise.race([ready, ended])
    child.stdout!.resume()
    return isReady
  }

  async signal(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child === undefined || !this.isRunning) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }

  /** Resolves when it has ended by itself. */
  async ended(): Promise<void> {
    if (this.isRunning) await once(this.#child!, 'exit')
  }

  kill(): Promise<void> {
    return this.signal('SIGKILL')
  }
}

/** The clock of a process, by libfaketime: it can be changed while the process runs. Timers go on as they were. */
export class Clock {
  readonly #file: string
  readonly #library: string

  constructor(directory: string, name: string) {
    this.#file = join(directory, `${name}.clock`)
    // A copy: the directory of the programs may not be readable by the user of the database.
    this.#library = join(directory, 'libfaketime.so.1')
    // Once: processes that run have the file in their memory.
    if (!existsSync(this.#library)) copyFileSync(join(setting('FAKETIME_LIB'), 'libfaketime.so.1'), this.#library)
    this.set(0)
  }

  /** How much it is ahead. */
  set(seconds: number): void {
    writeFileSync(this.#file, `${seconds < 0 ? '' : '+'}${seconds}s\n`, { mode: 0o644 })
  }

  get env(): { readonly [name: string]: string } {
    return {
      LD_PRELOAD: this.#library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }
  }
}
