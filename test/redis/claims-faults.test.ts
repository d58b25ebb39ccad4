/** Tests claims and rates while connections break, the server is killed, and its settings are wrong. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { MemorySettlements, type SettlementStore } from '@latchkey/x402/facilitator'
import { RedisClaims, RedisRates } from '@latchkey/x402/redis'
import { Redis } from 'ioredis'
import { cutProxy } from '../support/cutProxy.test.helper.js'
import { lostResponses } from '../support/lostResponses.test.helper.js'
import { idOf } from '../support/paymentIds.test.helper.js'
import { RedisServer } from '../support/redis.test.helper.js'
import { severalProcesses } from '../support/severalProcesses.test.helper.js'
import { unnumbered } from '../support/unnumbered.test.helper.js'

const server = await RedisServer.start({ after })
let stores = 0
const lease = { binding: 'b', proof: 'secret', leaseMs: 600_000, network: 'n', round: 1n, forgetRound: 9n } as const

severalProcesses('RedisClaims', async () => `${server.url}/9`)

lostResponses('RedisClaims', async (t) => {
  const proxy = await cutProxy(t, server)
  const prefix = `faults-${++stores}`
  const direct = await RedisClaims.open({ address: server.url, prefix })
  const store = await RedisClaims.open({
    address: server.url.replace(`:${server.port}`, `:${proxy.port}`),
    prefix,
    commandTimeoutMs: 2_000,
    retryMs: 20_000,
  })
  t.after(() => {
    store.close()
    direct.close()
  })
  return { store, direct, proxy }
})

test('RedisClaims: a server that persists every change keeps the claims when it is killed', async (t) => {
  const own = await RedisServer.start(t, { settings: { appendonly: 'yes', appendfsync: 'always' } })
  const store = await RedisClaims.open({ address: own.url, retryMs: 60_000 })
  t.after(() => store.close())
  const { id } = store
  const claim = (count: number, owner: string) => store.claim(idOf(count), { ...lease, owner, nowMs: Date.now() })
  const answer = { status: 200, headers: [], body: new Uint8Array([7]) }
  await claim(0, 'first')
  await store.hold(idOf(0), 'first', answer)
  let next = 1
  let isOver = false
  const claimed: number[] = []
  const work = async (): Promise<void> => {
    while (!isOver) {
      const count = next++
      assert.equal((await claim(count, `owner-${count}`)).type, 'new', 'also if its response was lost')
      claimed.push(count)
    }
  }
  const workers = Array.from({ length: 8 }, work)
  while (claimed.length < 50) await new Promise((resolve) => setTimeout(resolve, 5))
  await own.kill()
  await own.restart()
  const before = claimed.length
  while (claimed.length < before + 50) await new Promise((resolve) => setTimeout(resolve, 5))
  isOver = true
  await Promise.all(workers)
  for (const count of claimed) assert.equal((await claim(count, 'other')).type, 'busy')
  assert.deepEqual(await unnumbered(claim(0, 'later')), { type: 'held', answer })
  assert.equal(store.id, id)
})

test('RedisClaims: a claim that cannot be made is an error that names the server but no password', async (t) => {
  const own = await RedisServer.start(t)
  const store = await RedisClaims.open({ address: own.url, retryMs: 100 })
  await own.kill()
  await assert.rejects(
    async () => store.claim(idOf(1), { ...lease, owner: 'a', nowMs: 0 }),
    (error: Error & { code?: string }) =>
      error.code === 'store_failed' &&
      error.message.includes(String(own.port)) &&
      !error.message.includes(own.password),
  )
  await assert.rejects(async () => store.has(idOf(1)), { code: 'store_failed' })
  store.close()
})

test('RedisClaims: gives up on a hanging server after the time limit of a command', async (t) => {
  const own = await RedisServer.start(t)
  const store = await RedisClaims.open({ address: own.url, commandTimeoutMs: 1_500, retryMs: 2_000 })
  t.after(() => store.close())
  const client = new Redis(own.url)
  t.after(() => client.disconnect())
  await client.call('CLIENT', 'PAUSE', '60000', 'ALL')
  await assert.rejects(async () => store.claim(idOf(1), { ...lease, owner: 'a', nowMs: 0 }), {
    code: 'store_failed',
    message: /did not respond in time|no connection/,
  })
})

test('RedisClaims: every key expires, and scripts that the server has forgotten are resent', async () => {
  const prefix = `faults-${++stores}`
  const store = await RedisClaims.open({ address: server.url, prefix })
  const client = new Redis(server.url)
  await store.claim(idOf(1), { ...lease, owner: 'a', nowMs: 0 })
  await client.script('FLUSH')
  await store.hold(idOf(1), 'a', { status: 200, headers: [], body: new Uint8Array(10) })
  await store.finish(idOf(1), 'a', 'served')
  await store.passes.issue(idOf(1), { nowMs: 0, untilMs: 60_000, requests: 2 })
  await store.passes.take(idOf(1))
  const keys = await client.keys(`{${prefix}}:*`)
  assert.ok(keys.length >= 6, String(keys))
  for (const key of keys) assert.ok((await client.pttl(key)) > 0, key)
  client.disconnect()
  store.close()
})

test('RedisClaims: warns only about a server that evicts keys when its memory is full', async (t) => {
  const own = await RedisServer.start(t, { settings: { maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' } })
  const warnings: string[] = []
  const onWarning = (text: string): void => void warnings.push(text)
  for (const address of [own.url, server.url]) (await RedisClaims.open({ address, onWarning })).close()
  assert.equal(warnings.length, 1)
  assert.match(warnings[0]!, /allkeys-lru.*noeviction/s)
})

test('RedisClaims: a full memory is an error, and no claim is made', async (t) => {
  const own = await RedisServer.start(t, { settings: { 'maxmemory-policy': 'noeviction' } })
  const store = await RedisClaims.open({ address: own.url })
  t.after(() => store.close())
  const client = new Redis(own.url)
  t.after(() => client.disconnect())
  await client.config('SET', 'maxmemory', '1')
  await assert.rejects(async () => store.claim(idOf(1), { ...lease, owner: 'a', nowMs: 0 }), {
    message: /its memory is full/,
  })
  await client.config('SET', 'maxmemory', '0')
  assert.equal(await store.has(idOf(1)), false)
})

test('RedisRates: counts the requests of a minute across all replicas, per caller', async (t) => {
  const rates = await Promise.all([1, 2].map(() => RedisRates.open({ address: server.url, prefix: 'rates' })))
  t.after(() => {
    for (const one of rates) one.close()
  })
  const counts = await Promise.all(Array.from({ length: 64 }, (_, index) => rates[index % 2]!.countCaller('a')))
  // The minute may have ended meanwhile.
  const highest = Math.max(...counts)
  assert.ok(highest >= 32 && highest <= 64)
  if (highest === 64) assert.equal(new Set(counts).size, 64)
  const settlements: SettlementStore = Object.assign(new MemorySettlements(), { countCaller: rates[0]!.countCaller })
  assert.equal(await settlements.countCaller!('b'), 1)
  const client = new Redis(server.url)
  t.after(() => client.disconnect())
  for (const key of await client.keys('{rates}:*')) assert.ok((await client.pttl(key)) > 0)
})
