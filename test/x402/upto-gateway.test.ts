/** Streams of a service behind the gateway, which are charged by usage. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openGateway, Upstream } from '@latchkey/x402/gateway'
import { authorizationFor } from './support/authorizations.test.helper.js'
import { openMarket, until } from './support/market.test.helper.js'
import { newSeller } from './support/uptoShop.test.helper.js'

const timeout = 60_000
const market = await openMarket({ after })

async function listen(t: TestContext, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

type Case = { readonly method: string; readonly pieces: number; readonly rest: string }

/** How a client has a stream broken off: by a body that is refused, or by one that it does not send. */
const cases: { readonly [how: string]: Case } = {
  'sends a body that is refused (GET)': { method: 'GET', pieces: 500, rest: 'f\r\n_method=DELETE&\r\n' },
  'sends a body that is refused': { method: 'POST', pieces: 500, rest: 'f\r\n_method=DELETE&\r\n' },
  'does not send the rest of its body': { method: 'POST', pieces: 20, rest: '' },
}

for (const [how, { method, pieces, rest }] of Object.entries(cases)) {
  test(`a client that gets a stream, and then ${how}, is charged`, { timeout }, async (t) => {
    // The service responds before it has the body.
    const service = createServer(async (_, response) => {
      response.writeHead(200, { 'Settlement-Overrides': '{"amount":"400000"}' })
      for (let count = 0; count < pieces && !response.destroyed; count++) {
        response.write('piece;')
        await sleep(10)
      }
    })
    const upstream = new Upstream({ url: await listen(t, service), timeoutMs: 1_000 })
    t.after(() => upstream.close())
    const seller = newSeller(market)
    const accepts = { price: { upTo: '$0.50', stream: true }, payTo: seller } as const
    const gate = await market.gate({ routes: { [`${method} /model`]: { accepts } } })
    const gateway = openGateway({ gate, upstream, onError: () => {} })
    const url = `${await listen(t, createServer(gateway.request))}/model`
    const header = await authorizationFor(market, await fetch(url, { method }), { rounds: 900n })
    const { host, hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    t.after(() => socket.destroy())
    let received = ''
    socket.on('data', (data) => {
      received += data
    })
    const head = [`${method} /model HTTP/1.1`, `Host: ${host}`, `PAYMENT-SIGNATURE: ${header}`]
    const body = ['Content-Type: application/x-www-form-urlencoded', 'Transfer-Encoding: chunked', '', '4', 'a=1&', '']
    socket.write([...head, ...body].join('\r\n'))
    await until(() => received.split('piece;').length > 20)
    socket.write(rest)
    await once(socket, 'close')
    // The balance is read when the gate has settled the charge, or dropped it.
    for (let tries = 0; tries < 100 && (await market.dollars(seller)) === 0n; tries++) await sleep(20)
    assert.equal(await market.dollars(seller), 400_000n)
  })
}
