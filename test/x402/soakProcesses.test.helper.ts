/** Runs processes of `latchkey` that are killed and restarted, as a supervisor would. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { latchkeyCommand } from '../support/devnet.test.helper.js'
import type { Counter, Random } from './soakRandom.test.helper.js'
import { note } from './soakTimeline.test.helper.js'

type Scope = { after: (work: () => unknown) => void }

/** Long enough for an overloaded machine. */
const startTimeoutMs = 60_000
const maxStderr = 4_000

export class Service {
  readonly name: string
  readonly #args: readonly string[]
  readonly #env: NodeJS.ProcessEnv
  #child: ChildProcess | undefined
  #stderr = ''

  constructor(t: Scope, name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.name = name
    this.#args = args
    this.#env = env
    t.after(() => this.kill())
  }

  /** Returns the end of its output on stderr, for messages. */
  get stderr(): string {
    return this.#stderr
  }

  /** Starts the process, repeatedly if it exits at once, as a facilitator does while its node is down. */
  async start(): Promise<{ [name: string]: unknown }> {
    const giveUpAt = performance.now() + startTimeoutMs
    for (;;) {
      const facts = await this.#spawn()
      if (facts !== undefined) return facts
      assert.ok(performance.now() < giveUpAt, `${this.name} does not start: ${this.#stderr}`)
      await sleep(200)
    }
  }

  async #spawn(): Promise<{ [name: string]: unknown } | undefined> {
    assert.equal(this.#child, undefined, `${this.name} runs already`)
    const child = spawn(process.execPath, [latchkeyCommand, ...this.#args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...this.#env },
    })
    this.#child = child
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = `${this.#stderr}${text}`.slice(-maxStderr)
    })
    const exited = once(child, 'exit')
    const line = await new Promise<string | undefined>((resolve) => {
      let text = ''
      child.stdout.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
        if (text.includes('\n')) resolve(text)
      })
      void exited.then(() => resolve(undefined))
    })
    const facts = JSON.parse(line ?? '{}') as { [name: string]: unknown }
    if (facts['pid'] !== undefined) return facts
    // With --json, the reason why the process ends is also a line of JSON.
    await exited
    this.#child = undefined
    return undefined
  }

  /** Sends SIGKILL, so the process cannot finish anything. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    this.#child = undefined
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
}

/** What can be killed and started again. */
export type Killable = {
  readonly name: string
  readonly kill: () => Promise<void>
  readonly start: () => Promise<unknown>
}

export type KillOptions = { random: Random; kills: Counter; isOver: () => boolean }

/** Kills the services one after another, in any order, sometimes two at once, and restarts them. */
export async function killAtRandom(services: readonly Killable[], options: KillOptions): Promise<void> {
  const { random, kills, isOver } = options
  const killOne = async (service: Killable): Promise<void> => {
    await service.kill()
    kills.add(service.name)
    note(`${service.name} was killed, ${kills.get(service.name)}`)
    await random.pause(0, 1_200)
    await service.start()
    note(`${service.name} runs again, ${kills.get(service.name)}`)
  }
  // On a slow machine, the time may be over before each was killed once.
  const isDone = (): boolean => isOver() && services.every(({ name }) => kills.get(name) > 0)
  const left: Killable[] = []
  while (!isDone()) {
    await random.pause(500, 4_000)
    if (left.length === 0) left.push(...random.shuffle(services))
    await Promise.all(left.splice(0, random.chance(0.2) ? 2 : 1).map(killOne))
  }
}
