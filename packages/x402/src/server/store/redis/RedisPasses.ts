import { Bytes } from '@latchkey/algorand'
import { now, type RedisConnection, refusedWhenFull, script } from '../../../db/redis/RedisConnection.js'
import type { IssuedPass, NewPass, PassStore, TakeResult } from '../PassStore.js'

/** How many calls a pass remembers, and the number of characters of each. */
const [kept, callLength] = [64, 24]
const marginMs = 60_000

const issueScript = script(`${refusedWhenFull}${now}
local length, requests = tonumber(ARGV[1]), ARGV[2]
if redis.call('EXISTS', KEYS[1]) == 0 then
  local untilMs = math.floor(now / 1000) * 1000 + length
  redis.call('HSET', KEYS[1], 'until', untilMs, 'requests', requests, 'taken', 0, 'calls', '')
  redis.call('PEXPIRE', KEYS[1], math.max(untilMs - now, redis.call('PTTL', KEYS[2]), 0) + ${marginMs})
end
local pass = redis.call('HMGET', KEYS[1], 'until', 'requests', 'taken')
return { pass[1], pass[2] == '' and -1 or pass[2] - pass[3] }
`)

/** A call is remembered with its time, so that it is known how far back the memory goes. */
const remember = `
local entry = string.format('%s%015.0f', call, now)
local size = #entry
local isForgetting = #calls >= ${kept} * size
if isRepeated and isForgetting and tonumber(string.sub(calls, ${callLength + 1}, size)) > now - 60000 then
  return redis.error_reply('it is not known any more whether the request of a pass was counted')
end
local remembered = (isForgetting and string.sub(calls, size + 1) or calls) .. entry
`

const takeScript = script(`${now}
local call, isRepeated = ARGV[1], ARGV[2] == '1'
local pass = redis.call('HMGET', KEYS[1], 'until', 'requests', 'taken', 'calls')
if not pass[1] or pass[2] == '' then return { 'unknown', 0 } end
local left, calls = pass[2] - pass[3], pass[4]
if string.find(calls, call, 1, true) then return { 'taken', left } end
${remember}
if tonumber(pass[1]) <= now then return { 'unknown', 0 } end
if left <= 0 then return { 'used_up', 0 } end
redis.call('HSET', KEYS[1], 'taken', pass[3] + 1, 'calls', remembered)
return { 'taken', left - 1 }
`)

const giveBackScript = script(`${now}
local call, isRepeated = ARGV[1], ARGV[2] == '1'
local pass = redis.call('HMGET', KEYS[1], 'taken', 'calls')
if not pass[1] or tonumber(pass[1]) <= 0 then return 0 end
local calls = pass[2]
if string.find(calls, call, 1, true) then return 0 end
${remember}
redis.call('HSET', KEYS[1], 'taken', pass[1] - 1, 'calls', remembered)
return 1
`)

/**
 * Passes on the server of the claims. The clock of the server decides when they expire. `nowMs` and `untilMs` of a new
 * pass determine its duration.
 */
export class RedisPasses implements PassStore {
  readonly #connection: RedisConnection

  constructor(connection: RedisConnection) {
    this.#connection = connection
  }

  async issue(id: string, { nowMs, untilMs, requests }: NewPass): Promise<IssuedPass> {
    const keys = [this.#key(id), this.#connection.key(`c:${id}`)]
    const reply = await this.#connection.run(issueScript, keys, [untilMs - nowMs, requests ?? ''])
    const [until, left] = (reply as readonly unknown[]).map((value) => Number(String(value)))
    return { untilMs: until!, requestsLeft: left === -1 ? undefined : left! }
  }

  async take(id: string): Promise<TakeResult> {
    const reply = (await this.#once(takeScript, id)) as [Buffer, number]
    const type = String(reply[0]) as TakeResult['type']
    return type === 'taken' ? { type, requestsLeft: Number(reply[1]) } : { type }
  }

  async giveBack(id: string): Promise<void> {
    await this.#once(giveBackScript, id)
  }

  /** Counts once: a call whose response was lost is repeated under its name, which the pass remembers. */
  #once(what: ReturnType<typeof script>, id: string) {
    const call = Bytes.toHex(Bytes.random(callLength / 2))
    let tries = 0
    return this.#connection.run(what, [this.#key(id)], () => [call, tries++ === 0 ? '0' : '1'])
  }

  #key(id: string): string {
    return this.#connection.key(`p:${id}`)
  }
}
