/** Runs one party of paid requests in a separate process, which reports its processor time. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Counts } from '../decoding/MsgpackCounts.js'
import type { Facts } from '../devnet/Process.js'

export const roles = ['buyer', 'seller', 'facilitator', 'devnet'] as const
export type Role = (typeof roles)[number]

/** The options of a party. */
export type PartyOptions = {
  /** The key daemon is not part of a paid request. */
  readonly role: Role | 'daemon'
  /** The directory of a built checkout of this repository; undefined for the published packages. */
  readonly checkout: string | undefined
  /** The facts of the devnet, for all other parties. */
  readonly devnet?: Facts | undefined
  /** The address to which this party sends its requests. */
  readonly url?: string | undefined
  /** An empty directory; for the key daemon, its data directory. */
  readonly directory: string
  /** Whether to count msgpack operations, which makes them slower. */
  readonly isCounted?: boolean | undefined
}

/** The commands of a party, and its results. */
export type Command =
  | { readonly type: 'cpu' }
  | { readonly type: 'msgpack' }
  | { readonly type: 'buy'; readonly count: number; readonly at: number }
export type Purchases = { readonly perSecond: number; readonly p50Ms: number; readonly p99Ms: number }
export type Message =
  | { readonly type: 'ready'; readonly value: unknown }
  | { readonly type: 'done'; readonly value: unknown }
  | { readonly type: 'failed'; readonly reason: string }

export class Party {
  readonly role: PartyOptions['role']
  /** The address of the party, or the facts of a devnet. */
  readonly ready: unknown
  readonly #child: ChildProcess

  private constructor(role: PartyOptions['role'], child: ChildProcess, ready: unknown) {
    this.role = role
    this.#child = child
    this.ready = ready
  }

  static async start(options: PartyOptions): Promise<Party> {
    const child = fork(new URL('./process.js', import.meta.url), [JSON.stringify(options)])
    return new Party(options.role, child, await result(child))
  }

  /** Returns user and system time since the start, in milliseconds. */
  async cpuMs(): Promise<number> {
    return (await this.#call({ type: 'cpu' })) as number
  }

  /** Returns the msgpack operations since the start of a counted party. */
  async msgpack(): Promise<Counts> {
    return (await this.#call({ type: 'msgpack' })) as Counts
  }

  /** Makes a buyer buy, with some requests at a time. */
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
