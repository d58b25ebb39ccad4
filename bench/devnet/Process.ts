/** Runs the devnet command in a separate process. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const command = fileURLToPath(new URL('../../../packages/cli/bin/latchkey.js', import.meta.url))

export type Facts = {
  url: string
  genesisHash: string
  dispenser: { mnemonic: string }
  accounts: { address: string; mnemonic: string; secretKey: string }[]
}

export class DevnetProcess {
  readonly facts: Facts
  readonly port: number
  readonly mnemonic: string
  /** From the start of the process to the response to its first request. */
  readonly firstAnswerMs: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, facts: Facts, firstAnswerMs: number) {
    this.#child = child
    this.facts = facts
    this.port = Number(new URL(facts.url).port)
    this.mnemonic = facts.dispenser.mnemonic
    this.firstAnswerMs = firstAnswerMs
  }

  static async start(args: readonly string[] = []): Promise<DevnetProcess> {
    const startedAt = performance.now()
    const child = spawn(
      process.execPath,
      [command, 'devnet', '--port', '0', '--json', '--log-level', 'warning', ...args],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    process.on('exit', () => child.kill('SIGKILL'))
    let text = ''
    child.stdout!.setEncoding('utf8')
    for await (const piece of child.stdout!) {
      text += piece
      if (text.includes('\n')) break
    }
    const facts = JSON.parse(text) as Facts
    await (await fetch(`${facts.url}/v2/status`)).arrayBuffer()
    return new DevnetProcess(child, facts, performance.now() - startedAt)
  }

  memoryMb(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / 1024
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    await once(this.#child, 'exit')
  }
}

/** Returns how long Node takes to start an empty program, the lower bound for any program of ours. */
export function emptyProcessMs(): number {
  const startedAt = performance.now()
  spawnSync(process.execPath, ['-e', '0'])
  return performance.now() - startedAt
}
