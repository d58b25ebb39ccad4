import { Bytes } from '@latchkey/algorand'
import { RedisConnection, type RedisOptions } from '../../../db/redis/RedisConnection.js'
import { StoreError } from '../../../db/StoreError.js'
import {
  bytesOf,
  type ClaimEnd,
  type ClaimLease,
  type ClaimRenewals,
  type ClaimResult,
  type ClaimStore,
  type HeldAnswer,
  type HeldClaim,
  keepServedMs,
  type StoredPurchase,
} from '../Claims.js'
import {
  beginScript,
  claimScript,
  finishScript,
  hasScript,
  holdScript,
  openScript,
  renewScript,
} from './claimScripts.js'
import { RedisPasses } from './RedisPasses.js'
import { RedisUsage } from './RedisUsage.js'

/** Options of {@link RedisClaims}. */
export type RedisClaimsOptions = RedisOptions & {
  /**
   * The total size of answers held by all replicas, in bytes.
   *
   * @default 64 MiB
   */
  readonly maxHeldBytes?: number | undefined
}

const defaultMaxHeldBytes = 64 * 1024 * 1024
/**
 * Rounds decide how long a claim is needed, but every key must expire. The time is twice that of a round on the public
 * networks, plus an hour. An older payment that was settled is refused by the ledger.
 */
const [roundMs, marginMs] = [6_000, 3_600_000]
/** A claim is forgotten at the latest about 3,000 rounds after it was made. */
const maxRounds = 10_000n
/** More requests than a process serves at a time. */
const maxLeases = 10_000

/** The id of the claims when the claim was made, and when the lease ends. */
type Lease = { readonly id: string; endMs: number }

/**
 * Claims and passes in Redis or Valkey, shared by processes on many machines. The clock of the server decides. This
 * store keeps no sales: a seller's page needs `SqliteClaims` or `PostgresClaims`. Data that the server loses, for
 * example in a failover without persistence, is lost here: see docs/stores.md.
 */
export class RedisClaims implements ClaimStore {
  readonly passes: RedisPasses
  readonly usage: RedisUsage
  readonly hasPurchases = true
  readonly renewals: ClaimRenewals = {
    renew: (claims, leaseMs) => this.#renew(claims, leaseMs),
    begin: (claim) => this.#begin(claim),
  }
  readonly #connection: RedisConnection
  readonly #maxHeldBytes: number
  /** Claims of this process whose handlers have not succeeded yet, by owner. */
  readonly #leases = new Map<string, Lease>()
  #id: string

  private constructor(connection: RedisConnection, id: string, options: RedisClaimsOptions) {
    this.#connection = connection
    this.#id = id
    this.#maxHeldBytes = options.maxHeldBytes ?? defaultMaxHeldBytes
    this.passes = new RedisPasses(connection)
    this.usage = new RedisUsage(connection)
  }

  /**
   * Connects.
   *
   * @throws StoreError if the server cannot be used; methods throw it too
   * @example
   * const claims = await RedisClaims.open({ address: 'rediss://shop@redis.example' })
   */
  static async open(options: RedisClaimsOptions = {}): Promise<RedisClaims> {
    const connection = await RedisConnection.open(options)
    try {
      return new RedisClaims(connection, await openStore(connection), options)
    } catch (error) {
      connection.close()
      throw error
    }
  }

  /** Changes after the server has lost the claims. Facilitators refuse the new id the payments of lost claims. */
  get id(): string {
    return this.#id
  }

  async has(transactionId: string): Promise<boolean> {
    const reply = (await this.#run(hasScript, [this.#connection.key(`c:${transactionId}`)], [])) as [Buffer, number]
    if (String(reply[0] ?? '') !== this.#id) this.#id = await openStore(this.#connection)
    return reply[1] === 1
  }

  async claim(transactionId: string, lease: ClaimLease): Promise<ClaimResult> {
    const { owner, binding, proof, leaseMs, network, round, forgetRound } = lease
    const rounds = forgetRound > round ? forgetRound - round : 0n
    const ttlMs = Math.max(Number(rounds < maxRounds ? rounds : maxRounds) * roundMs, leaseMs) + marginMs
    const { key = '', fingerprint = '', payload = '', replaces = '', isPatient = false } = lease.purchase ?? {}
    const what = [owner, binding, proof, leaseMs, ttlMs, network, String(round), String(forgetRound)]
    const purchase = [key, fingerprint, payload, replaces, isPatient ? '1' : '']
    try {
      for (;;) {
        const reply = await this.#run(claimScript, [], [transactionId, this.#id, ...what, ...purchase])
        const [result, number, ...answer] = reply as readonly (Buffer | null)[]
        const type = String(result) as ClaimResult['type'] | 'lost'
        if (type === 'new' || type === 'again') this.#remember(owner, leaseMs)
        if (type === 'busy' || type === 'taken') return { type }
        if (type === 'purchased') return { type, purchase: purchaseOf([number, ...answer]) }
        const fence = Number(number)
        if (type !== 'lost') return type === 'held' ? { type, answer: answerOf(answer), fence } : { type, fence }
        this.#id = await openStore(this.#connection)
      }
    } catch (error) {
      // The payment may be claimed, and the buyer would have to wait until the lease ends.
      this.finish(transactionId, owner, 'open').catch(() => {})
      throw error
    }
  }

  async hold(transactionId: string, owner: string, answer: HeldAnswer, fence?: number): Promise<boolean> {
    const { status, headers, body } = answer
    const bytes = bytesOf(answer)
    // An answer that is too large is not sent.
    const sent = bytes > this.#maxHeldBytes ? new Uint8Array() : body
    const kept = [status, JSON.stringify(headers), Buffer.from(sent.buffer, sent.byteOffset, sent.byteLength)]
    const lease = this.#leases.get(owner)
    const values = [transactionId, lease?.id ?? this.#id, owner, bytes, this.#maxHeldBytes, ...kept, fence ?? '']
    const result = String(await this.#run(holdScript, [], values))
    this.#leases.delete(owner)
    // The lease has not ended: the server has lost the claim, and another replica may have it now. A payment that is
    // not charged here is charged there, if at all. If the server has lost everything, facilitators know which claims
    // were the first.
    const isLost = result === 'gone' || (result === 'other' && performance.now() < (lease?.endMs ?? 0))
    if (!isLost) return result !== 'taken over' && result !== 'other'
    throw new StoreError('store_failed', `the server ${this.#connection.server}: it lost the claim of ${transactionId}`)
  }

  async finish(transactionId: string, owner: string, end: ClaimEnd, _nowMs?: number, fence?: number): Promise<boolean> {
    this.#leases.delete(owner)
    return (await this.#run(finishScript, [], [transactionId, owner, end, keepServedMs, fence ?? ''])) === 1
  }

  /**
   * Checks that the server can be used now.
   *
   * @throws StoreError if it cannot
   */
  ping(): Promise<void> {
    return this.#connection.ping()
  }

  close(): void {
    this.#connection.close()
  }

  async #renew(claims: readonly HeldClaim[], leaseMs: number): Promise<string[]> {
    const endMs = performance.now() + leaseMs
    const values = claims.flatMap(({ transactionId, owner, fence }) => [transactionId, owner, String(fence)])
    const held = ((await this.#run(renewScript, [], [leaseMs, ...values])) as Buffer[]).map(String)
    for (const owner of held) {
      const lease = this.#leases.get(owner)
      if (lease !== undefined) lease.endMs = endMs
    }
    return held
  }

  async #begin({ transactionId, owner, fence }: HeldClaim): Promise<boolean> {
    const id = this.#leases.get(owner)?.id ?? this.#id
    return (await this.#run(beginScript, [], [transactionId, owner, String(fence), id])) === 1
  }

  #remember(owner: string, leaseMs: number): void {
    const [oldest] = this.#leases.size < maxLeases ? [] : this.#leases.keys()
    if (oldest !== undefined) this.#leases.delete(oldest)
    this.#leases.set(owner, { id: this.#id, endMs: performance.now() + leaseMs })
  }

  #run(
    script: Parameters<RedisConnection['run']>[0],
    keys: readonly string[],
    args: readonly (string | Buffer | number)[],
  ) {
    const { prefix } = this.#connection
    return this.#connection.run(script, [prefix, `${prefix}id`, ...keys], args)
  }
}

function purchaseOf(members: readonly (Buffer | null | undefined)[]): StoredPurchase {
  const [transactionId, fingerprint, binding, payload] = members.map(String) as [string, string, string, string]
  return { transactionId, fingerprint, binding, payload }
}

/** Returns the id of the claims, and creates one if there is none. */
async function openStore(connection: RedisConnection): Promise<string> {
  const { prefix } = connection
  const fresh = Bytes.toHex(Bytes.random(16))
  return String(await connection.run(openScript, [prefix, `${prefix}id`], ['', fresh]))
}

function answerOf([status, headers, body]: readonly (Buffer | null)[]): HeldAnswer | undefined {
  if (status == null || headers == null || body == null) return undefined
  const held = JSON.parse(headers.toString()) as HeldAnswer['headers']
  return { status: Number(status), headers: held, body: new Uint8Array(body) }
}
