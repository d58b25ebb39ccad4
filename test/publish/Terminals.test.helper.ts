/** Types commands into terminals as a reader does: a command that keeps running occupies its terminal. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { longRunning } from '../docs/rules.test.helper.js'
import { atEnd, type Scope, until } from '../process/commands.test.helper.js'
import { isInstallation } from './Outside.test.helper.js'

const timeoutMs = 600_000

export type TerminalsOptions = {
  readonly home: string
  readonly folder: string
  readonly environment: { readonly [name: string]: string }
  /** The command that runs another one in the network of the terminals. Installations run outside, with the registry. */
  readonly inNetwork: readonly string[]
  /**
   * Whether a new terminal gets the variables of the last one, as a page may tell its reader.
   *
   * @default false
   */
  readonly hasSameVariables?: boolean | undefined
}

export class Terminals {
  readonly #scope: Scope
  readonly #options: TerminalsOptions
  #count = 0
  /** The variables of the free terminal. */
  #variables = ''
  #isBusy = true
  /** The number of commands that were typed. */
  typed = 0

  constructor(scope: Scope, options: TerminalsOptions) {
    this.#scope = scope
    this.#options = options
  }

  /** Types a command in the current terminal, or in a new one if a command runs there. Returns what it printed. */
  async type(command: string): Promise<{ readonly output: string; readonly code: number | null }> {
    if (this.#isBusy) this.#open()
    this.typed++
    const ready = longRunning.find((one) => one.command.test(command))?.ready
    return ready === undefined ? this.#finish(command) : this.#stayUp(command, ready)
  }

  #open(): void {
    const { home, hasSameVariables } = this.#options
    const before = hasSameVariables && this.#variables !== '' ? readFileSync(this.#variables) : ''
    this.#variables = join(home, `.terminal-${++this.#count}`)
    writeFileSync(this.#variables, before)
    this.#isBusy = false
  }

  async #finish(command: string): Promise<{ output: string; code: number | null }> {
    const script = `. ${this.#variables}\n${command}\nstatus=$?\nexport -p > ${this.#variables}\nexit $status`
    const { child, output } = this.#spawn(script, isInstallation(command) ? [] : this.#options.inNetwork)
    const timer = setTimeout(() => kill(child), timeoutMs)
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
    clearTimeout(timer)
    return { output: output(), code }
  }

  async #stayUp(command: string, ready: RegExp): Promise<{ output: string; code: number | null }> {
    const { child, output } = this.#spawn(`. ${this.#variables}\n${command}`, this.#options.inNetwork)
    this.#isBusy = true
    const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
    atEnd(this.#scope, async () => {
      kill(child, 'SIGTERM')
      await closed
    })
    let hasEnded = false
    void closed.then(() => {
      hasEnded = true
    })
    await until(`${command} to be up; it printed ${output()}`, () => hasEnded || ready.test(output()))
    return { output: output(), code: hasEnded ? -1 : 0 }
  }

  #spawn(script: string, prefix: readonly string[]): { child: ChildProcess; output: () => string } {
    const { folder, home, environment } = this.#options
    const [program, ...args] = [...prefix, 'sh', '-c', script]
    const child = spawn(program!, args, {
      cwd: folder,
      env: { PATH: process.env['PATH'], ...environment, HOME: home },
      // Runs in a separate process group, so that everything the shell starts stops with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
    }
    return { child, output: () => text }
  }
}

function kill({ pid }: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(-pid!, signal)
  } catch (error) {
    // The process has already exited.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
