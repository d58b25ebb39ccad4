/** The longest block of a daemon's event loop between `start` and `end`, measured inside the daemon. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Daemon } from '../support/Daemon.js'

export type Block = { longestCpuMs: number; longestWallMs: number }

const preload = new URL('./watchBlocks.js', import.meta.url).href
const limitMs = 10_000

export class LongestBlock {
  readonly #file: string

  constructor(directory: string) {
    this.#file = join(directory, 'blocks.json')
  }

  /** The settings that the daemon must be started with. */
  get environment(): { [name: string]: string } {
    return { NODE_OPTIONS: `--import ${preload}`, LATCHKEY_BENCH_BLOCKS: this.#file }
  }

  start(daemon: Daemon): void {
    daemon.signal('SIGUSR2')
  }

  async end(daemon: Daemon): Promise<Block> {
    daemon.signal('SIGUSR2')
    const untilMs = performance.now() + limitMs
    while (!existsSync(this.#file)) {
      if (performance.now() > untilMs) throw new Error('the daemon did not write its longest block')
      await sleep(20)
    }
    await sleep(20)
    return JSON.parse(readFileSync(this.#file, 'utf8'))
  }
}
