/** Runs a process on a host of the network, with its own clock; it can be killed and restarted. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Host } from './Network.test.helper.js'
import { setting } from './settings.test.helper.js'

export type ServiceOptions = {
  readonly host: Host
  /** The directory of the test, where logs are written. */
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

  /** Applies to the next start. */
  setEnv(env: { readonly [name: string]: string }): void {
    this.#env = { ...this.#env, ...env }
  }

  /** Starts the process, repeatedly if it exits at once, as a supervisor does: its dependencies may be down. */
  async start(): Promise<void> {
    const giveUpAt = performance.now() + startMs
    while (!(await this.#spawn())) {
      if (performance.now() > giveUpAt) throw new Error(`${this.name} does not start; see ${this.name}.log`)
      await sleep(300)
    }
  }

  /** Resolves to whether the process printed that it is ready. */
  async #spawn(): Promise<boolean> {
    const { host, directory, command } = this.#options
    const [program, ...args] = [...host.prefix, ...command]
    const log = openSync(join(directory, `${this.name}.log`), 'a')
    const env = { PATH: process.env['PATH'], HOME: '/nonexistent', ...this.clock.env, ...this.#env }
    const child = spawn(program!, args, { stdio: ['ignore', 'pipe', log], env })
    this.#child = child
    // Not `exit`, which can come before the output of a process that had little to do.
    const ended = once(child, 'close').then(() => false)
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

  /** Resolves when the process has exited on its own. */
  async ended(): Promise<void> {
    if (this.isRunning) await once(this.#child!, 'exit')
  }

  kill(): Promise<void> {
    return this.signal('SIGKILL')
  }
}

/** Controls the clock of a process through libfaketime, also while the process runs. Timers are not affected. */
export class Clock {
  readonly #file: string
  readonly #library: string

  constructor(directory: string, name: string) {
    this.#file = join(directory, `${name}.clock`)
    // Copied, because the database user may not be able to read the directory of the programs.
    this.#library = join(directory, 'libfaketime.so.1')
    // Copied only once, because running processes have the file mapped.
    if (!existsSync(this.#library)) copyFileSync(join(setting('FAKETIME_LIB'), 'libfaketime.so.1'), this.#library)
    this.set(0)
  }

  /** Sets how far the clock is ahead. */
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
