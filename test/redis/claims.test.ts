import { after } from 'node:test'
import { RedisClaims } from '@latchkey/x402/redis'
import { Redis } from 'ioredis'
import { type ClaimsKind, claimsConformance } from '../support/claimsConformance.test.helper.js'
import { RedisServer } from '../support/redis.test.helper.js'

const server = await RedisServer.start({ after })
let stores = 0

/** Moves all times of a store back, which simulates the passing of that much time. */
const ageScript = `
local by = tonumber(ARGV[1])
for _, key in ipairs(redis.call('KEYS', ARGV[2] .. '*')) do
  local kind = redis.call('TYPE', key)['ok']
  local untilMs = kind == 'hash' and redis.call('HGET', key, 'until')
  if untilMs then redis.call('HSET', key, 'until', untilMs - by) end
  if kind == 'zset' and not string.find(key, ':forget:', 1, true) then
    for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do redis.call('ZINCRBY', key, -by, member) end
  end
  local left = redis.call('PTTL', key)
  if left >= 0 then redis.call('PEXPIRE', key, left - by) end
end`

const redis: ClaimsKind = {
  name: 'RedisClaims',
  hasOwnClock: true,
  hasSales: false,
  open: async (t, options) => {
    const prefix = `test-${++stores}`
    const open = (): Promise<RedisClaims> => RedisClaims.open({ address: server.url, prefix, ...options })
    const [store, ...others] = await Promise.all([open(), open(), open()])
    const client = new Redis(server.url)
    t.after(() => {
      for (const one of [store!, ...others]) one.close()
      client.disconnect()
    })
    const pass = async (ms: number): Promise<void> => {
      await client.eval(ageScript, 0, Math.ceil(ms), `{${prefix}}:`)
    }
    return { store: store!, others, nowMs: Date.now, pass }
  },
}

claimsConformance(redis)
