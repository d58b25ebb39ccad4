/** Follows a documentation page exactly: its blocks in order, with free ports and a separate directory. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type Block, blocksOf } from '../docs/Blocks.test.helper.js'
import { atEnd, type Scope, temporaryDirectory } from '../process/commands.test.helper.js'
import { root } from '../support/daemon.test.helper.js'

export type FollowedPageOptions = {
  readonly page: string
  /** Maps the ports of the page to the ports in use. */
  readonly ports: ReadonlyMap<number, number>
  /** The directories of programs. */
  readonly path: readonly string[]
  readonly environment: { readonly [name: string]: string }
  /** Changes files of deploy/ before they are copied. */
  readonly edit: (text: string) => string
}

export type Ran = { readonly code: number | null; readonly output: string }

const blockTimeoutMs = 180_000

export class FollowedPage {
  readonly directory: string
  readonly #options: FollowedPageOptions
  readonly #blocks: readonly Block[]

  /** Looks like a clone to commands: built files are linked, and deploy/ is a copy with the ports in use. */
  constructor(scope: Scope, options: FollowedPageOptions) {
    this.#options = options
    this.#blocks = blocksOf(options.page)
    this.directory = join(temporaryDirectory(scope), 'latchkey')
    mkdirSync(this.directory)
    const linked = readdirSync(root).filter((name) => !name.startsWith('.') && name !== 'deploy')
    for (const name of linked) symlinkSync(join(root, name), join(this.directory, name))
    cpSync(join(root, 'deploy'), join(this.directory, 'deploy'), { recursive: true })
    for (const file of readdirSync(join(root, 'deploy'), { recursive: true, encoding: 'utf8' })) {
      const path = join(this.directory, 'deploy', file)
      if (statSync(path).isFile()) writeFileSync(path, options.edit(this.real(readFileSync(path, 'utf8'))))
    }
    atEnd(scope, () => this.#stopDaemon())
  }

  /** Returns the blocks of a section of the page. */
  section(name: string): readonly Block[] {
    return this.#blocks.filter(({ section }) => section === name)
  }

  /** Returns text of the page with the ports in use. */
  real(text: string): string {
    const ports = [...this.#options.ports.keys()].join('|')
    return text.replaceAll(new RegExp(`\\b(${ports})\\b`, 'g'), (port) => String(this.#options.ports.get(Number(port))))
  }

  read(path: string): string {
    const file = join(this.directory, this.real(path))
    return existsSync(file) ? readFileSync(file, 'utf8') : ''
  }

  write({ about, text }: Block): void {
    const file = join(this.directory, about)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, this.real(text))
  }

  /** Runs a block in one shell. Background processes keep running until the test ends. */
  async run(scope: Scope, { text }: Block): Promise<Ran> {
    const log = join(this.directory, `block-${Date.now()}-${Math.random().toString(36).slice(2)}.out`)
    // A file instead of a pipe, because background processes keep it open.
    const output = openSync(log, 'w')
    const { PATH = '' } = process.env
    const child = spawn('sh', ['-e', '-c', this.real(text)], {
      cwd: this.directory,
      env: {
        ...this.#options.environment,
        PATH: [...this.#options.path, PATH].join(':'),
        HOME: dirname(this.directory),
      },
      stdio: ['ignore', output, output],
      // Runs in a separate process group, so everything that it starts stops with it.
      detached: true,
    })
    closeSync(output)
    atEnd(scope, () => killGroup(child.pid!))
    const timer = setTimeout(() => killGroup(child.pid!), blockTimeoutMs)
    const [code] = (await once(child, 'exit')) as [number | null]
    clearTimeout(timer)
    return { code, output: readFileSync(log, 'utf8') }
  }

  /** Stops nginx, which leaves the process group. */
  #stopDaemon(): void {
    const pid = Number.parseInt(this.read('replicas/nginx/nginx.pid'), 10)
    if (pid > 0) attempt(() => process.kill(pid, 'SIGTERM'))
  }
}

function killGroup(pid: number): void {
  attempt(() => process.kill(-pid, 'SIGKILL'))
}

function attempt(work: () => void): void {
  try {
    work()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
