/** Against servers on this machine, which count who connects, and names that resolve to whatever the test says. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type Destinations, GuardedFetch, type Resolve } from './GuardedFetch.js'

type Seller = { readonly port: number; readonly connections: () => number }

async function startSeller(t: TestContext, redirect?: string): Promise<Seller> {
  let connections = 0
  const server = createServer((_, response) => {
    if (redirect === undefined) response.end('hello')
    else response.writeHead(302, { Location: redirect }).end()
  })
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}

async function open(t: TestContext, destinations: Destinations, ...answers: string[][]): Promise<typeof fetch> {
  let calls = 0
  const resolve: Resolve = (_, __, callback) => {
    const addresses = answers[Math.min(calls++, answers.length - 1)] ?? []
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    setImmediate(() => callback(null, found))
  }
  const guarded = await GuardedFetch.open(destinations, resolve)
  t.after(() => guarded.close())
  return guarded.fetch
}

const refused = { code: 'destination_refused' }

test('a name with one private address is refused, whatever its others are', async (t) => {
  const { port, connections } = await startSeller(t)
  for (const addresses of [['127.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['::1'], ['10.0.0.1', '8.8.8.8'], []]) {
    const fetch = await open(t, {}, addresses)
    await assert.rejects(fetch(`https://shop.example:${port}/`), refused, addresses.join())
  }
  assert.equal(connections(), 0)
})

test('the address that was checked is connected to, not the one that the name has next', async (t) => {
  const { port, connections } = await startSeller(t)
  // Each look at the name has another answer: there is one, and its address is used.
  const allowed = await open(t, { allowPrivate: true }, ['127.0.0.1'], ['192.0.2.1'])
  assert.equal(await (await allowed(`http://shop.example:${port}/`)).text(), 'hello')
  assert.equal(connections(), 1)
})

test('without TLS only what is allowed, and no public address', async (t) => {
  const { port, connections } = await startSeller(t)
  const plain = await open(t, {}, ['93.184.216.34'])
  await assert.rejects(plain('http://shop.example/'), refused)
  const priv = await open(t, { allowPrivate: true }, ['93.184.216.34'])
  await assert.rejects(priv('http://shop.example/'), refused)
  await assert.rejects(priv('http://93.184.216.34/'), refused)
  assert.equal((await priv(`http://127.0.0.1:${port}/`)).status, 200)
  assert.equal(connections(), 1)
})

test('a redirect leads nowhere else', async (t) => {
  const inner = await startSeller(t)
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:7f00:1]', '0.0.0.0', '2130706433']) {
    const outer = await startSeller(t, `http://${host}:${inner.port}/`)
    const fetch = await open(t, { allowHosts: [`127.0.0.1:${outer.port}`] }, ['127.0.0.1'])
    await assert.rejects(fetch(`http://127.0.0.1:${outer.port}/`), refused, host)
    assert.equal(outer.connections(), 1)
  }
  assert.equal(inner.connections(), 0)
})

test('an allowed host is allowed by itself, with its port if that is given', async (t) => {
  const [one, other] = [await startSeller(t), await startSeller(t)]
  const byPort = await open(t, { allowHosts: [`127.0.0.1:${one.port}`] })
  assert.equal((await byPort(`http://127.0.0.1:${one.port}/`)).status, 200)
  await assert.rejects(byPort(`http://127.0.0.1:${other.port}/`), refused)
  const byName = await open(t, { allowHosts: ['Shop.Example'] }, ['127.0.0.1'])
  await assert.rejects(byName(`http://127.0.0.1:${one.port}/`), refused)
  await assert.rejects(byName(`http://shop.example.evil.test:${one.port}/`), refused)
  await assert.rejects(byName(`http://evilshop.example:${one.port}/`), refused)
})
