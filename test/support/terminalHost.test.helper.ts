/**
 * Runs `latchkey` commands in terminals like `openTerminal`, but many commands in one process, because most of a
 * command's time is its start. For tests of output: not of servers, signals, or how a process ends.
 */
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type OpenTerminal, openTerminal } from './terminal.test.helper.js'
import type { HostedCall } from './terminalHost-process.test.helper.js'

type Scope = { after: (work: () => unknown) => void }
type Host = { readonly terminal: OpenTerminal; readonly requests: Socket }

export type HostedRun = {
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Typed when the command begins. */
  readonly typed?: string | undefined
}

const program = fileURLToPath(new URL('./terminalHost-process.test.helper.js', import.meta.url))

export class TerminalHosts {
  readonly #scope: Scope
  readonly #directory: string
  readonly #idle: Host[] = []
  #count = 0

  /** @param directory for the sockets */
  constructor(scope: Scope, directory: string) {
    this.#scope = scope
    this.#directory = directory
  }

  /** Returns what the terminal shows. Commands that run at the same time have different terminals. */
  async run({ args, env, typed }: HostedRun): Promise<string> {
    const host = this.#idle.pop() ?? (await this.#start())
    const end = `end of command ${this.#count++}`
    const call: HostedCall = { args, env, end }
    host.requests.write(`${JSON.stringify(call)}\n`)
    if (typed !== undefined) host.terminal.type(typed)
    const screen = await host.terminal.sees(`${end}\n`)
    this.#idle.push(host)
    return screen
  }

  async #start(): Promise<Host> {
    const path = join(this.#directory, `host${this.#count++}`)
    const server: Server = createServer()
    await once(server.listen(path), 'listening')
    const connected = once(server, 'connection') as Promise<[Socket]>
    const terminal = openTerminal(this.#scope, [process.execPath, program, path])
    const [requests] = await Promise.race([connected, terminal.ended.then(() => Promise.reject(new Error('no host')))])
    requests.on('error', () => {})
    server.close()
    this.#scope.after(() => {
      requests.destroy()
      rmSync(path, { force: true })
    })
    return { terminal, requests }
  }
}
