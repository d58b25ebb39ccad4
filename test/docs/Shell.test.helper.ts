/**
 * Runs the commands of one page in order, as a reader would: in a directory that looks like the root of a clone, or in
 * an empty one, with its own home directory. Long-running commands keep running until the end of the page.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { atEnd, type Scope, temporaryDirectory, until } from '../process/commands.test.helper.js'
import { fastConfig, root } from '../support/daemon.test.helper.js'
import { freePort } from '../support/freePort.test.helper.js'
import { commandRewrites, knownPorts, longRunning, notRun } from './rules.test.helper.js'

const commandTimeoutMs = 60_000
const installTimeoutMs = 400_000

/** Where the commands of a page run. */
export type Place = {
  /** The name of the working directory, below the home directory. */
  readonly name: string
  readonly prepare: (directory: string) => void
  readonly environment: (directory: string) => { readonly [name: string]: string }
  /** Applied before the rewrites of `rules.test.helper.ts`. */
  readonly rewrites: readonly (readonly [RegExp, (found: string) => string])[]
  /** Commands that are skipped. */
  readonly notRun: readonly RegExp[]
}

/** Looks like a clone to commands. */
const clone: Place = {
  name: 'latchkey',
  prepare: (directory) => {
    for (const name of readdirSync(root).filter((entry) => !entry.startsWith('.'))) {
      symlinkSync(join(root, name), join(directory, name))
    }
  },
  environment: (directory) => ({
    PATH: [join(directory, 'node_modules', '.bin'), process.env['PATH']].join(delimiter),
    // `npx` must use the installed packages and print no messages.
    npm_config_offline: 'true',
    npm_config_loglevel: 'silent',
    npm_config_update_notifier: 'false',
  }),
  rewrites: [
    // The other steps were done before the tests began.
    [/^npm start$/, () => 'npx latchkey dev'],
    // Starting npx takes longer than most commands, and it would run the same file (`publish/journeys.test.ts` uses it).
    // The variable is the one by which commands recognise it.
    [/\bnpx latchkey\b/g, () => 'npm_lifecycle_event=npx latchkey'],
  ],
  notRun: notRun.map(([pattern]) => pattern),
}

export type Ran = { readonly command: string; readonly output: string; readonly code: number | null }

export class Shell {
  readonly #scope: Scope
  readonly #home: string
  readonly #directory: string
  readonly #place: Place
  /** Maps the ports on the page to the ports in use. */
  readonly #ports: Map<number, number>
  /** The running commands by their rule, because two of a kind cannot share a port. */
  readonly #up = new Map<RegExp, () => Promise<void>>()
  /** The output of long-running commands. */
  readonly #printed = new Map<string, () => string>()

  private constructor(scope: Scope, place: Place, ports: Map<number, number>) {
    this.#scope = scope
    this.#place = place
    this.#ports = ports
    this.#home = join(temporaryDirectory(scope), 'you')
    this.#directory = join(this.#home, place.name)
    mkdirSync(this.#directory, { recursive: true })
    place.prepare(this.#directory)
    writeFileSync(this.#state, '')
  }

  static async open(scope: Scope, place: Place = clone): Promise<Shell> {
    const ports = new Map<number, number>()
    for (const port of knownPorts) ports.set(port, await freePort())
    return new Shell(scope, place, ports)
  }

  /** Passes exported variables from one command to the next. */
  get #state(): string {
    return join(this.#home, '.exported')
  }

  /** Runs a block and returns the output of its last command, if it was run. */
  async run(block: string): Promise<Ran[]> {
    const ran: Ran[] = []
    for (const command of commandsIn(block)) {
      if (this.#place.notRun.some((pattern) => pattern.test(command))) continue
      const long = longRunning.find((one) => one.command.test(command))
      ran.push(long === undefined ? await this.#finish(command) : await this.#stayUp(command, long))
    }
    return ran
  }

  /** Writes a file of the page, with the ports in use. */
  write(name: string, text: string): void {
    const file = join(this.#directory, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, this.#withPorts(text))
  }

  /** Returns the output of a long-running command so far. */
  printedBy(command: string): string {
    return this.asOnPage(this.#printed.get(command)?.() ?? '')
  }

  /** Returns a URL of the page, with the port in use. */
  realUrl(url: string): string {
    return this.#withPorts(url)
  }

  get directory(): string {
    return this.#directory
  }

  /** Returns the output with the page's ports and directories. */
  asOnPage(output: string): string {
    let text = output.replaceAll(this.#directory, '/home/you/latchkey').replaceAll(this.#home, '/home/you')
    for (const [shown, used] of this.#ports) text = text.replaceAll(new RegExp(`\\b${used}\\b`, 'g'), String(shown))
    return text
  }

  async #finish(command: string): Promise<Ran> {
    const { child, output } = this.#spawn(
      `set -e\n. "$HOME/.exported"\n${this.#real(command)}\nexport -p > "$HOME/.exported"`,
    )
    const limitMs = command.startsWith('npm ') ? installTimeoutMs : commandTimeoutMs
    const timer = setTimeout(() => kill(child, 'SIGKILL'), limitMs)
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
    clearTimeout(timer)
    return { command, output: output(), code }
  }

  async #stayUp(command: string, { command: kind, ready }: (typeof longRunning)[number]): Promise<Ran> {
    await this.#up.get(kind)?.()
    this.#prepareDaemon(command)
    const { child, output } = this.#spawn(`. "$HOME/.exported"\n${this.#real(command)}`)
    let code: number | null | undefined
    const closed = new Promise<void>((resolve) => {
      child.once('close', (ended) => {
        code = ended
        resolve()
      })
    })
    const stop = async (): Promise<void> => {
      kill(child, 'SIGTERM')
      await closed
    }
    this.#up.set(kind, stop)
    this.#printed.set(command, output)
    atEnd(this.#scope, stop)
    await until(`${command} to be up; it printed ${output()}`, () => code !== undefined || ready.test(output()))
    this.#learnPorts(output())
    // A long-running command that exits has failed, whatever its status.
    return { command, output: output(), code: code === undefined ? 0 : (code ?? -1) || -1 }
  }

  #spawn(script: string): { child: ChildProcess; output: () => string } {
    const env = { PATH: process.env['PATH'], ...this.#place.environment(this.#directory), HOME: this.#home }
    // Runs in a separate process group, so that everything the shell starts stops with it.
    const child = spawn('sh', ['-c', script], {
      cwd: this.#directory,
      env,
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

  /** Returns the command as printed, with free ports. */
  #real(command: string): string {
    let text = command
    for (const [pattern, rewrite] of this.#place.rewrites) text = text.replace(pattern, rewrite)
    for (const [pattern, rewrite] of commandRewrites) {
      text = text.replace(pattern, (found) => rewrite(found, (port) => this.#ports.get(port)!))
    }
    return this.#withPorts(text)
  }

  #withPorts(text: string): string {
    return text.replaceAll(/(?<=(?:127\.0\.0\.1|localhost):|const port = )[0-9]+/g, (port) =>
      String(this.#ports.get(Number(port)) ?? port),
    )
  }

  /** Gives the daemon a free port and cheap password derivation, unless the page has written settings. */
  #prepareDaemon(command: string): void {
    if (!/\blatchkey kmd\b/.test(command)) return
    const [, given] = /(?:-d|--data-dir)[ =](\S+)/.exec(command) ?? []
    const dataDir = given === undefined ? join(this.#home, '.latchkey', 'kmd-v0.5') : given.replace(/^~/, this.#home)
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    const settings = { ...fastConfig, address: `127.0.0.1:${this.#ports.get(7833)}` }
    try {
      writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify(settings), { flag: 'wx' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }

  /** Reads the ports that `latchkey dev` chose. */
  #learnPorts(output: string): void {
    const lines = { Devnet: 4001, 'Key daemon': 4002, Facilitator: 4022, Seller: 4021 }
    for (const [name, shown] of Object.entries(lines)) {
      const [, port] = new RegExp(`^  ${name} +http://127\\.0\\.0\\.1:([0-9]+)`, 'm').exec(output) ?? []
      if (port !== undefined) this.#ports.set(shown, Number(port))
    }
  }
}

/** Splits a block into commands, joining continued lines. A here-document (`<<`) belongs to its command. */
export function commandsIn(block: string): string[] {
  const commands: string[] = []
  const lines = block.split('\n')
  for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
    if (/^\s*(#|$)/.test(line)) continue
    let command = line
    while (command.endsWith('\\')) command += `\n${lines.shift() ?? ''}`
    const [, end] = /<<-?\s*'?(\w+)'?/.exec(command) ?? []
    if (end !== undefined) {
      for (let inner = lines.shift(); inner !== undefined; inner = lines.shift()) {
        command += `\n${inner}`
        if (inner.trim() === end) break
      }
    }
    commands.push(command.replace(/ +# .*$/, ''))
  }
  return commands
}

function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid!, signal)
  } catch (error) {
    // The process has already exited.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
