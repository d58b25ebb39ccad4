/** Tests where the daemon listens, and its warnings. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { suite, test } from 'node:test'
import { missingIpv6 } from '../support/programs.test.helper.js'
import { atEnd, dataDirectory, isReachable, startInProcess } from './commands.test.helper.js'

const usualPort = 7833

/** An address of this machine other than loopback, if there is one. */
const outside = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

suite('listening', { concurrency: 2 }, () => {
  test('without an address and with the default port in use, uses another port of the loopback interface', async (t) => {
    const taker = createServer()
    // If another program already uses the port, that has the same effect.
    await new Promise<void>((resolve) => {
      taker.once('error', () => resolve())
      taker.listen(usualPort, '127.0.0.1', resolve)
    })
    atEnd(t, () => taker.close())
    for (const config of ['{}', '{"address":""}', '{"address":null}']) {
      const kmd = await startInProcess(t, { dataDir: dataDirectory(t, config) })
      assert.match(kmd.address, /^127\.0\.0\.1:[1-9][0-9]*$/)
      assert.notEqual(kmd.port, usualPort)
      assert.equal((await kmd.call('GET', '/versions')).status, 200)
      assert.ok(!kmd.log().includes('level=warning'), kmd.log())
    }
  })

  test('uses the port of the address', async (t) => {
    const first = await startInProcess(t)
    await first.stop()
    const second = await startInProcess(t, { settings: { address: first.address } })
    assert.equal(second.address, first.address)
  })

  for (const address of ['localhost:0', '127.0.0.1:0', ':0']) {
    test(`${address} is 127.0.0.1 only`, async (t) => {
      const kmd = await startInProcess(t, { settings: { address } })
      assert.match(kmd.address, /^127\.0\.0\.1:[1-9][0-9]*$/)
      assert.equal((await kmd.call('GET', '/versions')).status, 200)
      assert.equal(await isReachable(t, kmd.port, '127.0.0.2'), false)
      if (outside !== undefined) assert.equal(await isReachable(t, kmd.port, outside), false)
      assert.ok(!kmd.log().includes('level=warning'), kmd.log())
    })
  }

  for (const address of ['0.0.0.0:0', '[::]:0']) {
    test(`${address} is every interface of both families, with a warning`, { skip: missingIpv6() }, async (t) => {
      const kmd = await startInProcess(t, { settings: { address } })
      assert.match(kmd.address, /^\[::\]:[1-9][0-9]*$/)
      for (const host of ['127.0.0.1', '127.0.0.2', '::1', ...(outside === undefined ? [] : [outside])]) {
        assert.equal(await isReachable(t, kmd.port, host), true, host)
      }
      // How existing clients reach it: Go treats the wildcard as this machine. Other machines use its name, as clients
      // of a container do.
      for (const host of [kmd.address, `0.0.0.0:${kmd.port}`, `${hostname().toUpperCase()}:${kmd.port}`]) {
        const response = await kmd.call('GET', '/versions', undefined, { headers: { Host: host } })
        assert.equal(response.status, 200, host)
      }
      const warning = /level=warning msg="address .* accepts unencrypted connections from other machines"/
      assert.match(kmd.log(), warning)
    })
  }

  test('[::1]:0 is the IPv6 loopback, without a warning', { skip: missingIpv6() }, async (t) => {
    const kmd = await startInProcess(t, { settings: { address: '[::1]:0' } })
    assert.match(kmd.address, /^\[::1\]:[1-9][0-9]*$/)
    assert.equal((await kmd.call('GET', '/versions')).status, 200)
    assert.ok(!kmd.log().includes('level=warning'), kmd.log())
  })

  test('warns about * in the origins', async (t) => {
    const kmd = await startInProcess(t, { settings: { allowed_origins: ['https://example.com', '*'] } })
    assert.match(kmd.log(), /level=warning msg="allowed_origins contains \*/)
    const narrow = await startInProcess(t, { settings: { allowed_origins: ['https://example.com'] } })
    assert.ok(!narrow.log().includes('level=warning'), narrow.log())
  })
})
