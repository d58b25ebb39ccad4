import { now, type RedisConnection, refusedWhenFull, script } from '../../../db/redis/RedisConnection.js'
import {
  type MeteredWork,
  maxUnpaidPayers,
  type NotedWork,
  type ReturnedWork,
  type UnpaidWork,
  type UsageStore,
  type WorkState,
} from '../UsageStore.js'

/** An authorization is valid for about an hour. Its work is of no use long after that. */
const keepMs = 86_400_000

/**
 * Work is a hash, and `work` contains its ids by the time at which its gate counts as ended. `unpaid` contains the
 * payers by the time until which they are refused. Keys: the prefix.
 */
const head = `${now}
local prefix = KEYS[1]
local workOf = function(id) return prefix .. 'w:' .. id end
local work, unpaid, counts = prefix .. 'work', prefix .. 'unpaid', prefix .. 'unpaid-counts'
local isUnpaid = function(payer)
  local untilMs = redis.call('ZSCORE', unpaid, payer)
  return untilMs and tonumber(untilMs) > now
end
local outlive = function(key, ms) if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms) end end
local drop = function(id)
  redis.call('DEL', workOf(id))
  redis.call('ZREM', work, id)
end
local lease = function(id, ms)
  redis.call('PEXPIRE', workOf(id), ms + ${keepMs})
  redis.call('ZADD', work, now + ms, id)
  outlive(work, ms + ${keepMs})
end
`

const isUnpaidScript = script(`${head}return isUnpaid(ARGV[1]) and 1 or 0`)

/** A payer that left several authorizations unpaid is counted as often. */
const countScript = script(`${head}
local total, limit = 0, tonumber(ARGV[1])
for _, payer in ipairs(redis.call('ZRANGEBYSCORE', unpaid, '(' .. now, '+inf', 'LIMIT', 0, limit)) do
  total = total + tonumber(redis.call('HGET', counts, payer) or 1)
  if total >= limit then return limit end
end
return total
`)

const beginScript = script(`${refusedWhenFull}${head}
local id, payer = ARGV[1], ARGV[2]
if isUnpaid(payer) then return 0 end
redis.call('HSET', workOf(id), 'payer', payer, 'charge', ARGV[3], 'order', ARGV[4], 'taken', 0)
lease(id, tonumber(ARGV[5]))
return 1
`)

const noteScript = script(`${refusedWhenFull}${head}
local id = ARGV[1]
if redis.call('HGET', workOf(id), 'taken') ~= '0' then return 'gone' end
redis.call('HSET', workOf(id), 'charge', ARGV[3])
lease(id, tonumber(ARGV[4]))
return isUnpaid(ARGV[2]) and 'refused' or 'noted'
`)

const takeOverScript = script(`${head}
local id = ARGV[1]
if redis.call('EXISTS', workOf(id)) == 1 then redis.call('HSET', workOf(id), 'taken', 1) end
return redis.call('HGET', workOf(id), 'charge')
`)

const giveBackScript = script(`${head}
local id = ARGV[1]
if redis.call('EXISTS', workOf(id)) == 0 then return 0 end
redis.call('HSET', workOf(id), 'order', ARGV[2], 'taken', 1)
lease(id, tonumber(ARGV[3]))
return 1
`)

const chargeScript = script(`${head}return redis.call('HGET', workOf(ARGV[1]), 'charge')`)

const endScript = script(`${head}
drop(ARGV[1])
return 1
`)

const leaveScript = script(`${head}
drop(ARGV[1])
local forget = function(payers)
  for _, payer in ipairs(payers) do redis.call('HDEL', counts, payer) end
end
forget(redis.call('ZRANGEBYSCORE', unpaid, '-inf', now))
redis.call('ZREMRANGEBYSCORE', unpaid, '-inf', now)
redis.call('ZADD', unpaid, now + tonumber(ARGV[3]), ARGV[2])
redis.call('HINCRBY', counts, ARGV[2], 1)
forget(redis.call('ZRANGE', unpaid, 0, -${maxUnpaidPayers + 1}))
redis.call('ZREMRANGEBYRANK', unpaid, 0, -${maxUnpaidPayers + 1})
outlive(unpaid, tonumber(ARGV[3]))
outlive(counts, tonumber(ARGV[3]))
return 1
`)

const takeScript = script(`${head}
local taken = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', work, '-inf', '(' .. now, 'LIMIT', 0, tonumber(ARGV[1]))) do
  local found = redis.call('HMGET', workOf(id), 'payer', 'charge', 'order')
  if found[1] then
    redis.call('ZADD', work, now + tonumber(ARGV[2]), id)
    redis.call('HSET', workOf(id), 'taken', 1)
    for _, value in ipairs({ id, found[1], found[2], found[3] }) do taken[#taken + 1] = value end
  else
    redis.call('ZREM', work, id)
  end
end
return taken
`)

/** Metered work on the server of the claims. The clock of the server decides. */
export class RedisUsage implements UsageStore {
  readonly #connection: RedisConnection

  constructor(connection: RedisConnection) {
    this.#connection = connection
  }

  async isUnpaid(payer: string): Promise<boolean> {
    return (await this.#run(isUnpaidScript, [payer])) === 1
  }

  async countUnpaid(limit: number): Promise<number> {
    return limit === 0 ? 0 : Number(await this.#run(countScript, [limit]))
  }

  async begin({ transactionId, payer, charge, order }: MeteredWork, leaseMs: number): Promise<boolean> {
    return (await this.#run(beginScript, [transactionId, payer, charge.toString(), order, leaseMs])) === 1
  }

  async note({ transactionId, payer, charge }: NotedWork, leaseMs: number): Promise<WorkState> {
    return String(await this.#run(noteScript, [transactionId, payer, charge.toString(), leaseMs])) as WorkState
  }

  async chargeOf(transactionId: string): Promise<bigint | undefined> {
    return chargeIn(await this.#run(chargeScript, [transactionId]))
  }

  async takeOver(transactionId: string): Promise<bigint | undefined> {
    return chargeIn(await this.#run(takeOverScript, [transactionId]))
  }

  async giveBack({ transactionId, order }: ReturnedWork, afterMs: number): Promise<void> {
    await this.#run(giveBackScript, [transactionId, order, afterMs])
  }

  async end(transactionId: string): Promise<void> {
    await this.#run(endScript, [transactionId])
  }

  async leaveUnpaid({ transactionId, payer, refuseMs }: UnpaidWork): Promise<void> {
    await this.#run(leaveScript, [transactionId, payer, refuseMs])
  }

  async takeAbandoned(limit: number, leaseMs: number): Promise<MeteredWork[]> {
    const values = ((await this.#run(takeScript, [limit, leaseMs])) as readonly unknown[]).map(String)
    const work: MeteredWork[] = []
    for (let index = 0; index < values.length; index += 4) {
      const [transactionId, payer, charge, order] = values.slice(index, index + 4) as [string, string, string, string]
      work.push({ transactionId, payer, charge: BigInt(charge), order })
    }
    return work
  }

  #run(what: ReturnType<typeof script>, args: readonly (string | number)[]) {
    return this.#connection.run(what, [this.#connection.prefix], args)
  }
}

function chargeIn(reply: unknown): bigint | undefined {
  return reply === null || reply === undefined ? undefined : BigInt(String(reply))
}
