/**
 * The connection of one process to Redis or Valkey. Scripts have a time limit, and are sent again after the connection
 * was lost.
 */

import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { StoreError } from '../StoreError.js'

/** The part of a client that a store uses, implemented by `Redis` and `Cluster` of `ioredis`. */
export type RedisClient = {
  readonly callBuffer: (command: string, ...args: (string | Buffer | number)[]) => Promise<unknown>
}

/** How a store connects to its server. */
export type RedisOptions = {
  /**
   * `redis://user:password@host:port/database`, or `rediss://` for TLS.
   *
   * @default process.env.REDIS_URL, or redis://127.0.0.1:6379
   */
  readonly address?: string | undefined
  /** Your own client, for example for a cluster or Sentinel. The store does not close it. */
  readonly client?: RedisClient | undefined
  /**
   * The prefix of all keys, as in `{latchkey}:`. The braces keep the keys of a store in one slot of a cluster. Letters,
   * digits, `-`, `_`, `.` and `:`.
   *
   * @default 'latchkey'
   */
  readonly prefix?: string | undefined
  /**
   * The time limit for one command.
   *
   * @default 2000
   */
  readonly commandTimeoutMs?: number | undefined
  /** @default 5000 */
  readonly connectTimeoutMs?: number | undefined
  /**
   * How long a change is retried while the server is not available, or its response was lost. Each change has a name by
   * which the server knows that it was made.
   *
   * @default 5000
   */
  readonly retryMs?: number | undefined
  /**
   * Called with problems in the settings of the server.
   *
   * @default process.emitWarning
   */
  readonly onWarning?: ((message: string) => void) | undefined
}

/** The result of a script: texts, numbers, null and lists of them, with all bytes as stored. */
export type Reply = Buffer | number | null | readonly Reply[]

/** The arguments of a script. */
export type Arguments = readonly (string | Buffer | number)[]

type OwnClient = RedisClient & {
  readonly connect: () => Promise<void>
  readonly disconnect: (reconnect?: boolean) => void
  readonly on: (event: 'error', listener: (error: unknown) => void) => unknown
}

const [firstPauseMs, maxPauseMs] = [25, 500]
/** Errors after a failover, or while a server starts. Another server answers shortly after. */
const temporary = /^(READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|UNKILLABLE|BUSY|NOREPLICAS)\b/

export class RedisConnection {
  /** The prefix of all keys. */
  readonly prefix: string
  /** The server for messages, without the password. */
  readonly server: string
  readonly #client: RedisClient
  readonly #own: OwnClient | undefined
  readonly #commandTimeoutMs: number
  readonly #retryMs: number
  #isClosed = false

  private constructor(client: RedisClient, own: OwnClient | undefined, server: string, options: RedisOptions) {
    this.prefix = `{${prefixOf(options)}}:`
    this.server = server
    this.#client = client
    this.#own = own
    this.#commandTimeoutMs = options.commandTimeoutMs ?? 2_000
    this.#retryMs = options.retryMs ?? 5_000
  }

  /**
   * Connects, and warns about settings with which claims would be lost.
   *
   * @throws StoreError if the server cannot be used
   */
  static async open(options: RedisOptions = {}): Promise<RedisConnection> {
    prefixOf(options)
    const { client } = options
    const address = options.address ?? process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'
    const server = client === undefined ? describe(address) : 'the client that was passed'
    const own = client === undefined ? await ownClient(address, options) : undefined
    const connection = new RedisConnection(client ?? own!, own, server, options)
    try {
      // Not awaited, because commands sent before the connection is established fail and are sent again.
      own?.connect().catch(() => {})
      const warning = evictionWarning(server, String(await connection.#retry(() => connection.#send('INFO', 'memory'))))
      if (warning !== undefined) (options.onWarning ?? ((text) => process.emitWarning(text)))(warning)
    } catch (error) {
      connection.close()
      throw error
    }
    return connection
  }

  /** The key for a name. */
  key(name: string): string {
    return `${this.prefix}${name}`
  }

  /**
   * Runs a script that can safely run twice. The script is sent again if its response was lost.
   *
   * @throws StoreError
   */
  run(script: Script, keys: readonly string[], args: Arguments | (() => Arguments)): Promise<Reply> {
    return this.#retry(() => this.#runOnce(script, keys, typeof args === 'function' ? args() : args))
  }

  async #runOnce(script: Script, keys: readonly string[], args: Arguments): Promise<Reply> {
    try {
      return await this.#send('EVALSHA', script.sha, keys.length, ...keys, ...args)
    } catch (error) {
      if (!/^NOSCRIPT\b/.test((error as Error).message)) throw error
      return await this.#send('EVAL', script.text, keys.length, ...keys, ...args)
    }
  }

  /**
   * Checks that the server can be used now.
   *
   * @throws StoreError if it cannot
   */
  async ping(): Promise<void> {
    try {
      await this.#send('PING')
    } catch (error) {
      throw this.#named(error)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#own?.disconnect()
  }

  async #retry(work: () => Promise<Reply>): Promise<Reply> {
    const untilMs = performance.now() + this.#retryMs
    for (let tries = 0; ; tries++) {
      try {
        return await work()
      } catch (error) {
        if (!isTemporary(error) || performance.now() >= untilMs || this.#isClosed) throw this.#named(error)
        await sleep(Math.min(firstPauseMs * 2 ** tries, maxPauseMs) * (0.5 + Math.random() / 2))
      }
    }
  }

  /** Waits no longer than the time limit, even if the client hangs. */
  async #send(command: string, ...args: (string | Buffer | number)[]): Promise<Reply> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const timeUp = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`no response within ${this.#commandTimeoutMs} ms`))
        // The connection may be silently broken, and would be used for all further commands.
        if (!this.#isClosed) this.#own?.disconnect(true)
      }, this.#commandTimeoutMs)
    })
    try {
      const reply = this.#client.callBuffer(command, ...args)
      // If the time was up first, nothing else handles the rejection.
      reply.catch(() => {})
      return (await Promise.race([reply, timeUp])) as Reply
    } finally {
      clearTimeout(timer)
    }
  }

  #named(error: unknown): StoreError {
    if (error instanceof StoreError) return error
    const { message } = error as Error
    const [, reason, hint] = reasons.find(([pattern]) => pattern.test(message)) ?? [undefined, message.slice(0, 300)]
    return new StoreError('store_failed', `the server ${this.server}: ${reason}`, { hint, cause: error })
  }
}

const reasons: readonly (readonly [pattern: RegExp, reason: string, hint: string])[] = [
  [/^OOM\b/, 'its memory is full', 'Raise maxmemory. No acknowledged payment is lost.'],
  [/^(NOAUTH|WRONGPASS)\b/, 'it does not accept the user or the password', 'Check the address, or REDIS_URL.'],
  [
    /^NOPERM\b/,
    'the user lacks a permission',
    'Allow EVAL, EVALSHA, INFO, PING and the commands that the scripts call, on keys with the prefix.',
  ],
  [/^MISCONF\b/, 'it cannot write its data to disk', "Free some disk space, or check the server's log."],
  [/^READONLY\b/, 'it is read-only', 'Use the address of the primary server: this is a replica.'],
  [/^(MOVED|CROSSSLOT)\b/, 'it is part of a cluster', 'Pass an ioredis `Cluster` as `client`.'],
  [
    /writeable|closed|ECONN|EPIPE|retries|not connected/i,
    'there is no connection to it',
    'Start the server, or check host and port.',
  ],
  [/no response within/, 'it did not respond in time', "Check the network and the server's load."],
]

/** Errors of the server are not temporary, except after a failover. All others are errors of the connection. */
function isTemporary(error: unknown): boolean {
  if (error instanceof StoreError) return false
  const { name, message } = error as Error
  return name === 'ReplyError' ? temporary.test(message) : true
}

/** @throws StoreError if the prefix cannot be used in keys */
function prefixOf({ prefix = 'latchkey' }: RedisOptions): string {
  if (/^[A-Za-z0-9_.:-]{1,64}$/.test(prefix)) return prefix
  const hint = 'Use letters, digits, -, _, . and :, at most 64.'
  throw new StoreError('store_failed', 'the key prefix is not valid', { hint })
}

/** @throws StoreError for another kind of address, without the password in its text */
function describe(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url !== undefined && /^rediss?:$/.test(url.protocol)) return `${url.protocol}//${url.host}`
  const hint = 'Use redis://host:port, or rediss://host:port for TLS.'
  throw new StoreError('store_failed', 'the address of the Redis server is not valid', { hint })
}

async function ownClient(address: string, { connectTimeoutMs = 5_000 }: RedisOptions): Promise<OwnClient> {
  const { Redis } = await driver()
  const client = new Redis(address, {
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    // A claim that cannot be made now fails immediately. The store decides which commands are sent again.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(25 * 2 ** Math.min(times, 6), maxPauseMs),
    // The former primary is now a replica, and the address may lead to another server.
    reconnectOnError: (error) => /^READONLY\b/.test(error.message),
  })
  // Each command fails with the error. Without a listener it would be printed.
  client.on('error', () => {})
  return client as unknown as OwnClient
}

/** @throws StoreError if `ioredis` is not installed */
async function driver(): Promise<Pick<typeof import('ioredis'), 'Redis'>> {
  try {
    return await import('ioredis')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    const hint = 'Install it: npm install ioredis'
    throw new StoreError('store_failed', 'stores in Redis need the package ioredis', { hint, cause: error })
  }
}

function evictionWarning(server: string, info: string): string | undefined {
  const value = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]
  const policy = value('maxmemory_policy')
  if (policy === undefined || policy === 'noeviction' || value('maxmemory') === '0') return undefined
  return (
    `the server ${server} deletes keys when its memory is full (maxmemory-policy ${policy}): if it deletes a claim, ` +
    'the payment can be used again; set maxmemory-policy to noeviction'
  )
}

type Script = { readonly text: string; readonly sha: string }

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

/** `now` in milliseconds. The clock of the server decides, not those of the replicas. */
export const now = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

/**
 * Begins a script that the server refuses entirely while its memory is full (since Redis 7). Without it, a script that
 * has written anything continues beyond the limit.
 */
export const refusedWhenFull = '#!lua\n'
