/** A party of paid requests in a process of its own, which tells what processor time it took. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Facts } from '../devnet/Process.js'

export const roles = ['buyer', 'seller', 'facilitator', 'devnet'] as const
export type Role = (typeof roles)[number]

/** What a party is started with. */
export type PartyOptions = {
  readonly role: Role
  /** The directory of a built checkout of this repository; undefined for the published packages. */
  readonly checkout: string | undefined
  /** The facts of the devnet, for all other parties. */
  readonly devnet?: Facts | undefined
  /** The address of the party that this one sends its requests to. */
  readonly url?: string | undefined
  /** An empty directory. */
  readonly directory: string
}

/** What a party is asked, and what it answers. */
export type Command = { readonly type: 'cpu' } | { readonly type: 'buy'; readonly count: number; readonly at: number }
export type Purchases = { readonly perSecond: number; readonly p50Ms: number; readonly p99Ms: number }
export type Message =
  | { readonly type: 'ready'; readonly value: unknown }
  | { readonly type: 'done'; readonly value: unknown }
  | { readonly type: 'failed'; readonly reason: string }

export class Party {
  readonly role: Role
  /** Its address; of a devnet its facts. */
  readonly ready: unknown
  readonly #child: ChildProcess

  private constructor(role: Role, child: ChildProcess, ready: unknown) {
    this.role = role
    this.#child = child
    this.ready = ready
  }

  static async start(options: PartyOptions): Promise<Party> {
    const child = fork(new URL('./process.js', import.meta.url), [JSON.stringify(options)])
    return new Party(options.role, child, await result(child))
  }

  /** In milliseconds, of the user and of the system, since it was started. */
  async cpuMs(): Promise<number> {
    return (await this.#call({ type: 'cpu' })) as number
  }

  /** Has a buyer buy, some requests at a time. */
  async buy(count: number, at: number): Promise<Purchases> {
    return (await this.#call({ type: 'buy', count, at })) as Purchases
  }

  #call(command: Command): Promise<unknown> {
    const answer = result(this.#child)
    this.#child.send(command)
    return answer
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return
    this.#child.disconnect()
    await once(this.#child, 'exit')
  }
}

async function result(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController()
  const exit = once(child, 'exit', { signal: ended.signal }).then(() => {
    throw new Error('a party ended')
  })
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal: ended.signal }), exit])) as [Message]
    if (message.type === 'failed') throw new Error(message.reason)
    return message.value
  } finally {
    exit.catch(() => {})
    ended.abort()
  }
}
