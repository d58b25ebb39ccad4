import { now, RedisConnection, type RedisOptions, script } from '../../../db/redis/RedisConnection.js'

/** Keys: the prefix. The minute is that of the server. */
const countScript = script(`${now}
local key = KEYS[1] .. 'r:' .. math.floor(now / 60000) .. ':' .. ARGV[1]
local count = redis.call('INCR', key)
if count == 1 then redis.call('PEXPIRE', key, 120000) end
return count
`)
const maxNameLength = 256

/**
 * Requests per minute by caller, counted over all replicas of a facilitator, or of any other service. A request whose
 * response was lost is counted again, so a count may be too high, but never too low.
 *
 * @example
 * const rates = await RedisRates.open({ address: 'redis://127.0.0.1:6379' })
 * if ((await rates.countCaller(apiKeyName)) > 600) return new Response('too many requests', { status: 429 })
 */
export class RedisRates {
  readonly #connection: RedisConnection

  private constructor(connection: RedisConnection) {
    this.#connection = connection
  }

  /**
   * Connects.
   *
   * @throws StoreError if the server cannot be used
   */
  static async open(options: RedisOptions = {}): Promise<RedisRates> {
    return new RedisRates(await RedisConnection.open(options))
  }

  /**
   * Counts a request of a caller. Returns the number in this minute, including this one. Can be used as `countCaller`
   * of a store of settlements.
   *
   * @throws StoreError if the request cannot be counted
   */
  readonly countCaller = async (name: string): Promise<number> =>
    Number(await this.#connection.run(countScript, [this.#connection.prefix], [name.slice(0, maxNameLength)]))

  close(): void {
    this.#connection.close()
  }
}
