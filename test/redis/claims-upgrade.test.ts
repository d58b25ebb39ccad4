/** Tests keys of the previous version, without renewed leases, and replicas of that version that still use them. */
import { after } from 'node:test'
import { RedisClaims } from '@latchkey/x402/redis'
import { Redis } from 'ioredis'
import { claimsUpgrade, longLeaseMs, type VersionBefore } from '../support/claimsUpgrade.test.helper.js'
import { RedisServer } from '../support/redis.test.helper.js'

const server = await RedisServer.start({ after })
let stores = 0

/** The decision and the changes of the previous version, for a buyer without a secret. */
const claimBefore = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local owner, lease = ARGV[1], tonumber(ARGV[2])
local known = redis.call('HMGET', KEYS[1], 'owner', 'binding', 'state', 'until', 'done')
local result
if not known[1] then result = 'new'
elseif known[3] == 'serving' and tonumber(known[4]) >= now then result = 'busy'
elseif known[3] == 'served' then result = 'taken'
else result = known[5] == '1' and 'held' or 'again' end
if result == 'busy' or result == 'taken' then return result end
redis.call('HSET', KEYS[1], 'owner', owner, 'binding', 'b', 'state', 'serving', 'until', now + lease, 'result', result, 'network', 'n')
if known[1] and known[1] ~= owner then redis.call('HSET', KEYS[1], 'before', known[1]) end
redis.call('PEXPIRE', KEYS[1], 3600000)
return result`
const finishBefore = `
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
if ARGV[2] == 'forgotten' then redis.call('DEL', KEYS[1]) else redis.call('HSET', KEYS[1], 'state', ARGV[2]) end
return 1`

claimsUpgrade('RedisClaims', async (t, prepare) => {
  const prefix = `upgrade-${++stores}`
  const client = new Redis(server.url)
  const keyOf = (transactionId: string): string => `{${prefix}}:c:${transactionId}`
  const before: VersionBefore = {
    claim: async (transactionId, owner) =>
      String(await client.eval(claimBefore, 1, keyOf(transactionId), owner, longLeaseMs)),
    finish: async (transactionId, owner, end) => {
      await client.eval(finishBefore, 1, keyOf(transactionId), owner, end)
    },
  }
  await prepare(before)
  const store = await RedisClaims.open({ address: server.url, prefix })
  t.after(() => {
    store.close()
    client.disconnect()
  })
  const pass = async (ms: number): Promise<void> => {
    for (const key of await client.keys(`{${prefix}}:c:*`)) {
      await client.hset(key, 'until', Number(await client.hget(key, 'until')) - ms)
    }
  }
  return { store, before, pass, nowMs: Date.now }
})
