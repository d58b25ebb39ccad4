/** Tests the servers of the other tests: none can connect to the server of another. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { RedisServer } from '../support/redis.test.helper.js'

test('an address of one server is refused by another, also if that one has taken the port', async (t) => {
  const first = await RedisServer.start(t)
  await first.kill()
  const second = await RedisServer.start(t, { port: first.port })
  const open = (address: string): Redis => {
    const client = new Redis(address, { lazyConnect: true, retryStrategy: () => null })
    client.on('error', () => {})
    t.after(() => client.disconnect())
    return client
  }
  await assert.rejects(open(first.url).set('a', 'b'))
  assert.equal(await open(second.url).get('a'), null)
})
