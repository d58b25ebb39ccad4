/** Requests whose connection broke are repeated if that is safe, and count once. */
import assert from 'node:assert/strict'
import events from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import { Address, Transaction } from '@latchkey/algorand'
import { Server } from '@latchkey/http-client'
import { makeDataDir, readState, removeDataDir, serve, startOurs, transports } from './daemons.test.helper.js'
import { Kmd } from './index.js'
import { createDaemonTransport } from './transport/DaemonTransport.js'

const timeout = 60_000
const token = 't'.repeat(64)
const password = 'secret'
const genesisHash = new Uint8Array(32).fill(7)
const network = Buffer.from(genesisHash).toString('base64')

for (const { name, client } of transports) {
  test(`a request is repeated at most twice if new connections also break, over ${name}`, { timeout }, async (t) => {
    let requests = 0
    let broken = 0
    const server = await serve(({ socket }, outgoing) => {
      requests++
      if (requests <= broken) socket.destroy()
      else outgoing.end('{"versions":["v1"]}')
    })
    t.after(() => server.close())
    const kmd = await Kmd.connect({ address: server.address, token, ...client })
    broken = 2
    assert.deepEqual(await kmd.versions(), ['v1'])
    assert.equal(requests, 3)
    requests = 0
    broken = 100
    await assert.rejects(kmd.versions(), { code: 'connection_lost' })
    assert.equal(requests, 3)
    kmd.close()
  })

  test(`a request that fails the second time is not repeated after its own connection broke, over ${name}`, {
    timeout,
  }, async (t) => {
    let requests = 0
    const server = await serve(({ socket }) => {
      requests++
      socket.destroy()
    })
    t.after(() => server.close())
    const kmd = await Kmd.connect({ address: server.address, token, ...client })
    const changes = [
      () => kmd.approvals.approve({ id: 'a' }),
      () => kmd.agents.revoke({ agent: 'a' }),
      () => kmd.contacts.delete({ address: Address.encode(genesisHash) }),
    ]
    for (const change of changes) {
      requests = 0
      await assert.rejects(change(), { code: 'connection_lost' })
      // `fetch` does not reveal whether the connection was idle.
      assert.equal(requests, name === 'fetch' ? 2 : 1)
    }
  })

  test(`an aborted request is not repeated, over ${name}`, { timeout }, async (t) => {
    const abort = new AbortController()
    let requests = 0
    const server = await serve(({ socket }) => {
      requests++
      abort.abort(new Error('given up'))
      socket.destroy()
    })
    t.after(() => server.close())
    const kmd = await Kmd.connect({ address: server.address, token, ...client })
    await assert.rejects(kmd.versions({ signal: abort.signal }), /given up/)
    assert.equal(requests, 1)
  })

  test(`a signature whose response was lost is repeated and counts once, over ${name}`, { timeout }, async (t) => {
    const dataDir = makeDataDir()
    const daemon = await startOurs(dataDir)
    t.after(async () => {
      await daemon.stop()
      removeDataDir(dataDir)
    })
    const owner = await Kmd.connect({ dataDir })
    const { id: walletId } = await owner.wallets.create({ name: 'purse', password })
    const address = await (await owner.unlock({ id: walletId, password: () => password })).generateKey()
    const limits = [
      { per: 'day', network, type: 'amount', assetId: 0n, amount: 2_000_000n },
      { per: 'hour', network, type: 'count', count: 1 },
    ] as const
    const rules = { networks: [network], limits, payees: { allow: 'all' } } as const
    const granted = await owner.agents.create({ name: 'shopper', walletId, password, addresses: [address], rules })
    owner.close()

    // Passes every request on to the daemon, and drops the response to the first two signatures.
    const { address: at } = readState(dataDir)
    let lost = 0
    const signatures: string[] = []
    const proxy = await serve(async (incoming, outgoing) => {
      const chunks: Buffer[] = []
      for await (const chunk of incoming) chunks.push(chunk as Buffer)
      const { method, url } = incoming
      const headers = { 'X-KMD-API-Token': String(incoming.headers['x-kmd-api-token']) }
      const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }
      const response = await fetch(`http://${at}${url}`, { method: method!, headers, ...body })
      const text = await response.text()
      if (url === '/latchkey/v1/agent/sign') {
        assert.equal(response.status, 200, text)
        signatures.push(text)
        if (++lost <= 2) {
          incoming.socket.destroy()
          return
        }
      }
      outgoing.writeHead(response.status).end(text)
    })
    t.after(() => proxy.close())
    const agent = await Kmd.asAgent({ address: proxy.address, token: granted.token, ...client })
    t.after(() => agent.close())
    const transaction = Transaction.encode({
      ...{ type: 'pay', snd: Address.decode(address), rcv: new Uint8Array(32).fill(9), amt: 500_000n },
      ...{ fee: 1_000n, fv: 1n, lv: 1_000n, gh: genesisHash },
    })
    assert.ok((await agent.sign(transaction)).length > 0)
    assert.equal(signatures.length, 3)
    assert.equal(new Set(signatures).size, 1, 'the same signature each time')
    const { budget } = await agent.self()
    assert.deepEqual(
      budget.map(({ used }) => used),
      [501_000n, 1n],
    )
  })
}

test('closing the client lets requests in progress finish', { timeout }, async (t) => {
  let respond = (): void => {}
  const arrived = new Promise<void>((resolve) => {
    respond = resolve
  })
  let answer = (): void => {}
  const server = await serve((_, outgoing) => {
    answer = () => void outgoing.end('{"versions":["v1"]}')
    respond()
  })
  t.after(() => server.close())
  const kmd = await Kmd.connect({ address: server.address, token })
  const versions = kmd.versions()
  await arrived
  kmd.close()
  answer()
  assert.deepEqual(await versions, ['v1'])
})

for (const once of [false, true]) {
  test(`a connection that the daemon closes while its peer is examined is replaced${once ? ', even if the operation must not be repeated' : ''}`, {
    timeout,
  }, async (t) => {
    // Simulates a daemon that waits only briefly for the first byte, and a client on a machine too busy to send it in
    // time.
    let requests = 0
    const sockets: Socket[] = []
    const server = createServer((_, outgoing) => {
      requests++
      outgoing.end('{}')
    })
    server.on('connection', (socket) => sockets.push(socket))
    server.listen(0, '127.0.0.1')
    await events.once(server, 'listening')
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    let examined = 0
    const connection = async (): Promise<undefined> => {
      if (++examined > 5) return undefined
      while (sockets.length < examined) await new Promise((resolve) => setImmediate(resolve))
      const closed = events.once(sockets.at(-1)!, 'close')
      sockets.at(-1)!.end()
      await closed
      return undefined
    }
    const transport = createDaemonTransport({ connection, address: async () => undefined })
    t.after(() => transport.close())
    const { port } = server.address() as AddressInfo
    const response = await transport.send({
      ...{ server: Server.fromUrl(new URL(`http://127.0.0.1:${port}`)), path: '/', method: 'POST', headers: {} },
      ...{ body: new Uint8Array([1]), signal: undefined, timeoutMs: 50_000, maxResponseBytes: 100 },
      ...{ once, repeatable: false },
    })
    assert.deepEqual([response.status, examined, requests], [200, 6, 1])
  })
}
