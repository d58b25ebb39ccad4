/**
 * The scripts that change claims. A claim and its answer are hashes. `forget` contains the claims of a network by the
 * round in which they are forgotten. `served` and `kept` contain the answers, as `bytes|id`, by expiry time. `bytes` is
 * the total.
 */
import { now, refusedWhenFull, script } from '../../../db/redis/RedisConnection.js'

/** Bookkeeping outlives every key that it counts. */
const outliveMs = 86_400_000

const answers = `
local prefix = KEYS[1]
local claimOf = function(id) return prefix .. 'c:' .. id end
local answerOf = function(id) return prefix .. 'a:' .. id end
local served, kept, total = prefix .. 'served', prefix .. 'kept', prefix .. 'bytes'
-- Takes an answer out of the sums.
local uncount = function(id)
  local bytes = redis.call('HGET', claimOf(id), 'bytes')
  if not bytes then return end
  local member = bytes .. '|' .. id
  if redis.call('ZREM', served, member) + redis.call('ZREM', kept, member) > 0 then redis.call('DECRBY', total, bytes) end
end
-- Counts an answer among those that expire, or those that are needed until they were served.
local count = function(id, set, bytes, ttl)
  uncount(id)
  redis.call('HSET', claimOf(id), 'bytes', bytes)
  redis.call('PEXPIRE', answerOf(id), ttl)
  redis.call('ZADD', set, now + ttl, bytes .. '|' .. id)
  redis.call('INCRBY', total, bytes)
  for _, key in ipairs({ set, total }) do
    local left = redis.call('PTTL', key)
    if left < ttl + ${outliveMs} then redis.call('PEXPIRE', key, ttl + ${outliveMs}) end
  end
end
local dropAnswer = function(id)
  uncount(id)
  redis.call('HDEL', claimOf(id), 'bytes')
  redis.call('DEL', answerOf(id))
end
-- Moves the answer of a claim between the sets, if there is one.
local keep = function(id, set, ttl)
  if redis.call('EXISTS', answerOf(id)) == 0 then return end
  count(id, set, redis.call('HGET', claimOf(id), 'bytes'), ttl)
end
`

/** The first key is the prefix. All keys have it, and its braces assign them to one slot of a cluster. */
const head = `${now}${answers}`

/** Keys: the prefix, the id of the store. Arguments: the expected id, and an id for a new store. Returns the id. */
export const openScript = script(`
local id = redis.call('GET', KEYS[2])
if not id then
  id = ARGV[2]
  redis.call('SET', KEYS[2], id)
end
redis.call('PEXPIRE', KEYS[2], 400 * ${outliveMs})
return id
`)

/** Keys: the prefix, the id of the store, the claim. Returns the id of the store, and whether there is a claim. */
export const hasScript = script(`
return { redis.call('GET', KEYS[2]), redis.call('EXISTS', KEYS[3]) }
`)

/** Decides like `decideClaim` in Claims.ts. */
export const claimScript = script(`${refusedWhenFull}${head}
local id, storeId, owner, binding, proof = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local lease, ttl, network, round, forgetRound = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8], ARGV[9], ARGV[10]
if redis.call('GET', KEYS[2]) ~= storeId then return { 'lost' } end
redis.call('PEXPIRE', KEYS[2], 400 * ${outliveMs})
local forget = prefix .. 'forget:' .. network
for _, old in ipairs(redis.call('ZRANGEBYSCORE', forget, '-inf', '(' .. round, 'LIMIT', 0, 10)) do
  dropAnswer(old)
  redis.call('DEL', claimOf(old))
  redis.call('ZREM', forget, old)
end
local named = prefix .. 'b:' .. ARGV[11]
if ARGV[11] ~= '' then
  -- The purchase outlives the claim of its payment, and is then without effect.
  local first = redis.call('HMGET', named, 'id', 'fingerprint', 'binding', 'payload')
  if first[1] and first[1] ~= id and first[1] ~= ARGV[14] and redis.call('EXISTS', claimOf(first[1])) == 1 then
    return { 'purchased', first[1], first[2], first[3], first[4] }
  end
end
local claim = claimOf(id)
local known = redis.call('HMGET', claim, 'owner', 'binding', 'state', 'until', 'done', 'result', 'fence', 'fenced')
-- Whether the handler began is not known of a replica of an older version, which leaves no fenced owner.
local isDone = known[5] == '1' or (known[3] == 'serving' and known[8] ~= known[1])
local result
local fence
if not known[1] then
  result = 'new'
elseif known[1] == owner and known[3] == 'serving' then
  -- The response to the same call was lost.
  result = known[6]
  fence = known[7]
else
  local isReady = proof == 'secret' and redis.call('EXISTS', answerOf(id)) == 1
  if known[2] ~= binding or proof == 'hash' then result = 'taken'
  elseif known[3] == 'serving' and tonumber(known[4]) >= now then result = ARGV[15] ~= '1' and isDone and isReady and 'held' or 'busy'
  elseif known[3] == 'served' then result = isReady and 'held' or 'taken'
  else result = isDone and 'held' or 'again' end
end
if result == 'busy' or result == 'taken' then return { result } end
if not fence then
  fence = redis.call('INCR', prefix .. 'fence')
  redis.call('PEXPIRE', prefix .. 'fence', 400 * ${outliveMs})
  redis.call('HSET', claim, 'fence', fence, 'fenced', owner, 'done', result == 'held' and '1' or '0', 'begun', '0')
end
redis.call('HSET', claim, 'owner', owner, 'binding', binding, 'state', 'serving', 'until', now + lease, 'result', result, 'network', network)
if known[1] and known[1] ~= owner then redis.call('HSET', claim, 'before', known[1]) end
redis.call('PEXPIRE', claim, ttl)
-- A payment belongs to the first purchase that it was claimed for.
if ARGV[11] ~= '' then
  redis.call('HSETNX', claim, 'purchase', ARGV[11])
  if redis.call('HGET', claim, 'purchase') == ARGV[11] then
    redis.call('HSET', named, 'id', id, 'fingerprint', ARGV[12], 'binding', binding, 'payload', ARGV[13])
    redis.call('PEXPIRE', named, ttl)
  end
end
keep(id, kept, ttl)
redis.call('ZADD', forget, forgetRound, id)
if redis.call('PTTL', forget) < ttl + ${outliveMs} then redis.call('PEXPIRE', forget, ttl + ${outliveMs}) end
-- A payment that is sent again must find the pass that it was issued with.
local pass = prefix .. 'p:' .. id
local passLeft = redis.call('PTTL', pass)
if passLeft >= 0 and passLeft < ttl then redis.call('PEXPIRE', pass, ttl) end
if result ~= 'held' then return { result, tostring(fence) } end
local answer = redis.call('HMGET', answerOf(id), 'status', 'headers', 'body')
return { result, tostring(fence), answer[1], answer[2], answer[3] }
`)

/**
 * Returns `lost` if the server has lost all claims, `gone` or `other` if it has lost this one, `taken over` if its
 * lease ended.
 */
export const holdScript = script(`${refusedWhenFull}${head}
local id, storeId, owner, bytes, max = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
if redis.call('GET', KEYS[2]) ~= storeId then return 'lost' end
local found = redis.call('HMGET', claimOf(id), 'owner', 'before', 'fence')
if not found[1] then return 'gone' end
if found[1] ~= owner then return found[2] == owner and 'taken over' or 'other' end
if ARGV[9] ~= '' and found[3] ~= ARGV[9] then return 'other' end
redis.call('HSET', claimOf(id), 'done', '1', 'begun', '0')
dropAnswer(id)
if bytes > max then return 'full' end
-- Those that the server has deleted since.
for _, set in ipairs({ served, kept }) do
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, 100)) do
    redis.call('ZREM', set, member)
    redis.call('DECRBY', total, (string.match(member, '^(%d+)|')))
  end
end
-- Served ones make room, the oldest first.
while tonumber(redis.call('GET', total) or '0') + bytes > max do
  local member = redis.call('ZRANGE', served, 0, 0)[1]
  if not member then return 'full' end
  dropAnswer(string.match(member, '|(.*)$'))
  redis.call('ZREM', served, member)
end
redis.call('HSET', answerOf(id), 'status', ARGV[6], 'headers', ARGV[7], 'body', ARGV[8])
count(id, kept, bytes, redis.call('PTTL', claimOf(id)))
return 'held'
`)

/** Returns 0 if another request has the claim. */
export const finishScript = script(`${head}
local id, owner, finish, keepMs = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local claim = claimOf(id)
local found = redis.call('HMGET', claim, 'owner', 'fence', 'begun')
-- One that is gone was ended, or lost by the server: then facilitators know which claims were the first.
if not found[1] then return 1 end
if found[1] ~= owner or (ARGV[5] ~= '' and found[2] ~= ARGV[5]) then return 0 end
if finish == 'forgotten' then
  dropAnswer(id)
  redis.call('ZREM', prefix .. 'forget:' .. redis.call('HGET', claim, 'network'), id)
  redis.call('DEL', claim)
  return 1
end
redis.call('HSET', claim, 'state', finish)
-- The handler failed, and may run again.
if finish == 'open' and found[3] == '1' then redis.call('HSET', claim, 'done', '0', 'begun', '0') end
if finish == 'served' then keep(id, served, keepMs) else keep(id, kept, redis.call('PTTL', claim)) end
return 1
`)

/** Whether an owner still holds its claim. */
const isOwn = `
local isOwn = function(id, owner, fence)
  local found = redis.call('HMGET', claimOf(id), 'owner', 'fence', 'state')
  return found[1] == owner and found[2] == fence and found[3] == 'serving'
end
`

/**
 * Arguments: the lease duration, then the payment, owner and fence of each lease. Returns the owners that still hold
 * theirs.
 */
export const renewScript = script(`${head}${isOwn}
local held = {}
for index = 2, #ARGV, 3 do
  local id, owner, fence = ARGV[index], ARGV[index + 1], ARGV[index + 2]
  if isOwn(id, owner, fence) then
    redis.call('HSET', claimOf(id), 'until', now + tonumber(ARGV[1]))
    held[#held + 1] = owner
  end
end
return held
`)

/** Arguments: a payment, its owner and fence, and the id of the store. Returns whether its handler may run. */
export const beginScript = script(`${refusedWhenFull}${head}${isOwn}
local id, owner, fence = ARGV[1], ARGV[2], ARGV[3]
if redis.call('GET', KEYS[2]) ~= ARGV[4] or not isOwn(id, owner, fence) then return 0 end
if redis.call('HGET', claimOf(id), 'done') ~= '1' then redis.call('HSET', claimOf(id), 'done', '1', 'begun', '1') end
return 1
`)
