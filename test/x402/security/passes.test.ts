/** Passes that are forged, stolen, moved to another route, host, network or gate, raced or extended open nothing. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { MemoryPassCache, payingFetch } from '@latchkey/x402/client'
import { paymentGate as expressGate } from '@latchkey/x402/express'
import { paymentGate } from '@latchkey/x402/node'
import type { Gate, GateOptions, Route } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import express from 'express'
import { openMarket, requiredOf } from '../support/market.test.helper.js'
import { rawRequest } from '../support/rawRequest.test.helper.js'
import { listen } from '../support/shops.test.helper.js'

const market = await openMarket({ after })
const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
const secret = 'a secret of at least 32 bytes, as from a generator'
const minutes = { accepts, passes: { minutes: 30 } } as const

type Shop = { url: string; served: string[]; gate: Gate }

async function open(
  t: TestContext,
  routes: { [key: string]: Route },
  options: Partial<GateOptions> = {},
): Promise<Shop> {
  const gate = await market.gate({ routes, passes: { secret }, onWarning: () => {}, ...options })
  const served: string[] = []
  const { url, close } = await listen(
    paymentGate(gate, (request, response) => {
      served.push(`${request.method} ${request.url}`)
      response.end('goods')
    }),
  )
  t.after(close)
  return { url, served, gate }
}

/** Buys, and returns the contents of the header: the pass and the buyer's secret. */
async function buy(url: string, init: RequestInit = {}): Promise<string> {
  const cache = new MemoryPassCache()
  await (await payingFetch(market.newBuyer(), { passes: cache })(url, init)).text()
  const [pass] = cache.all(new URL(url).origin)
  return `${pass!.pass}.${pass!.secret}`
}

const show = async (url: string, pass: string, init: RequestInit = {}): Promise<Response> => {
  const headers = { ...(init.headers as object), 'PAYMENT-PASS': pass }
  const response = await fetch(url, { ...init, headers })
  await response.clone().arrayBuffer()
  return response
}

const errorOf = async (response: Response): Promise<string> =>
  `${response.status} ${(await requiredOf(response)).error}`

test('P1 a forged, changed or truncated pass, or one with another version, is refused', async (t) => {
  const { url, served } = await open(t, { 'GET /a': minutes })
  const pass = await buy(`${url}/a`)
  served.length = 0
  const [version, body, mac, proof] = pass.split('.') as [string, string, string, string]
  const fields = JSON.parse(Buffer.from(body, 'base64url').toString()) as unknown[]
  const later = fields.map((field) => (typeof field === 'number' && field > 1e9 ? field + 1e6 : field))
  const longer = Buffer.from(JSON.stringify(later)).toString('base64url')
  const flipped = [...pass].map((character, index) => {
    const other = character === 'A' ? 'B' : 'A'
    return character === '.' ? undefined : `${pass.slice(0, index)}${other}${pass.slice(index + 1)}`
  })
  const forged = [
    [version, longer, mac, proof].join('.'),
    [version, body, 'A'.repeat(43), proof].join('.'),
    [version, body, '', proof].join('.'),
    ['2', body, mac, proof].join('.'),
    [version, body, mac].join('.'),
    [version, body, mac, proof, proof].join('.'),
    `${pass}, ${pass}`,
    pass.slice(0, -1),
    `${pass}A`,
    'none',
    `1.${'A'.repeat(1_900)}.${'A'.repeat(43)}.${'A'.repeat(43)}`,
    // One in 12 of them, because every character counts.
    ...flipped.filter((one, index) => one !== undefined && index % 12 === 0),
  ] as string[]
  for (const one of forged)
    assert.equal(await errorOf(await show(`${url}/a`, one)), '402 pass_invalid', one.slice(0, 60))
  assert.deepEqual(served, [])
  assert.equal((await show(`${url}/a`, pass)).status, 200)
})

test('P2 a pass without the secret of its payment, as found in a log or a cache, opens nothing', async (t) => {
  const { url } = await open(t, { 'GET /a': minutes })
  const pass = await buy(`${url}/a`)
  const issued = pass.split('.').slice(0, 3).join('.')
  const other = (await buy(`${url}/a`)).split('.')[3]!
  for (const stolen of [issued, `${issued}.${other}`, `${issued}.${'A'.repeat(43)}`]) {
    assert.equal(await errorOf(await show(`${url}/a`, stolen)), '402 pass_invalid')
  }
})

test('P3 a pass opens no other route, path reading, method or price', async (t) => {
  const dear = { ...accepts, price: '$5' }
  const { url, served } = await open(t, {
    'GET /a': minutes,
    'POST /a': { accepts: dear, passes: { minutes: 30 } },
    'GET /b': { accepts: dear, passes: { minutes: 30 } },
    'GET /one/:id': { accepts, passes: { minutes: 30, scope: 'path' } },
  })
  const pass = await buy(`${url}/a`)
  const one = await buy(`${url}/one/1`)
  served.length = 0
  const attempts: [method: string, target: string, pass: string, headers?: { [name: string]: string }][] = [
    ['GET', '/b', pass],
    ['POST', '/a', pass],
    ['GET', '/a/../b', pass],
    ['GET', '/a/%2e%2e/b', pass],
    ['GET', '//b', pass],
    ['GET', '/a;/../b', pass],
    ['GET', '/a\\..\\b', pass],
    ['GET', '/%62', pass],
    ['GET', '/a', pass, { 'X-HTTP-Method-Override': 'POST' }],
    ['GET', '/a?_method=POST', pass],
    ['GET', '/one/2', one],
    ['GET', '/one/1/../2', one],
    ['GET', '/a', one],
  ]
  for (const [method, target, shown, headers = {}] of attempts) {
    const answer = await rawRequest(url, target, { method, headers: { 'PAYMENT-PASS': shown, ...headers } })
    assert.ok([400, 402, 405].includes(answer.status), `${method} ${target}: ${answer.head}`)
  }
  assert.deepEqual(served, [])
  assert.equal((await show(`${url}/a`, pass, { method: 'HEAD' })).status, 200)
})

test('P4 a pass opens nothing with another host, origin, network or secret', async (t) => {
  const shop = await open(t, { 'GET /a': minutes })
  const pass = await buy(`${shop.url}/a`)
  const host = async (gate: Gate, origin: string): Promise<string> => {
    const request = new Request(`${origin}/a`, { headers: { 'PAYMENT-PASS': pass } })
    const decision = await gate.decide(request)
    return decision.type === 'response' ? errorOf(decision.response) : decision.type
  }
  assert.equal(await host(shop.gate, 'http://127.0.0.1'), 'paid')
  assert.equal(await host(shop.gate, 'http://other.example'), '402 pass_invalid')
  // Services that share a secret name their origins, so no Host header moves a pass from one to the other.
  const named = await open(t, { 'GET /a': minutes }, { origin: 'https://dear.example' })
  assert.equal(await host(named.gate, 'http://127.0.0.1'), '402 pass_invalid')
  const other = await open(t, { 'GET /a': minutes }, { passes: { secret: `${secret}, another one` } })
  assert.equal(await host(other.gate, 'http://127.0.0.1'), '402 pass_invalid')
  const elsewhere = await openMarket(t, { genesisHash: Buffer.alloc(32, 7).toString('base64') })
  const routes = {
    'GET /a': {
      accepts: { ...accepts, network: elsewhere.chain.caip2, payTo: elsewhere.seller },
      passes: { minutes: 30 },
    },
  }
  assert.notEqual(elsewhere.chain.caip2, market.chain.caip2)
  const gate = await elsewhere.gate({ routes, passes: { secret }, onWarning: () => {} })
  assert.equal(await host(gate, 'http://127.0.0.1'), '402 pass_invalid')
})

test('P5 64 concurrent requests, and two processes on one file, open exactly as many as were sold', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-passes-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'claims.db')
  const claims = new SqliteClaims(file)
  t.after(() => claims.close())
  const shop = await open(t, { 'GET /a': { accepts, passes: { requests: 21 } } }, { claims })
  const pass = await buy(`${shop.url}/a`)
  shop.served.length = 0
  const id = (JSON.parse(Buffer.from(pass.split('.')[1]!, 'base64url').toString()) as string[])[2]!
  // Another process uses requests from the same file at the same time.
  const module = fileURLToPath(import.meta.resolve('@latchkey/x402/sqlite'))
  const program = `
    import { SqliteClaims } from ${JSON.stringify(module)}
    const claims = new SqliteClaims(${JSON.stringify(file)})
    let count = 0
    for (let times = 0; times < 5; times++) if (claims.passes.take(${JSON.stringify(id)}, Date.now()).type === 'taken') count++
    claims.close()
    process.stdout.write(String(count))`
  const other = new Promise<string>((resolve, reject) => {
    execFile(process.execPath, ['--input-type=module', '-e', program], (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    )
  })
  const responses = await Promise.all(Array.from({ length: 64 }, () => show(`${shop.url}/a`, pass)))
  const opened = responses.filter(({ status }) => status === 200).length
  assert.equal(opened, shop.served.length)
  assert.equal(opened + Number(await other), 20)
  for (const response of responses.filter(({ status }) => status !== 200)) {
    assert.equal(await errorOf(response), '402 pass_used_up')
  }
})

test('P6 resending a payment neither extends nor refills its pass', async (t) => {
  const shop = await open(t, { 'GET /a': { accepts, passes: { requests: 3 } } })
  const url = `${shop.url}/a`
  const unpaid = await fetch(url)
  const { repeatHeader } = await market.newBuyer().pay((await requiredOf(unpaid)) as never)
  const pay = () => fetch(url, { headers: { 'PAYMENT-SIGNATURE': repeatHeader } })
  const status = (response: Response): string | null => response.headers.get('payment-pass-status')
  const first = await pay()
  const again = await pay()
  assert.deepEqual([first.status, again.status], [200, 200])
  assert.match(status(first)!, /requests=2$/)
  assert.equal(status(again), status(first))
  const info = JSON.parse(Buffer.from(repeatHeader, 'base64').toString()).extensions['payment-secret'].info as {
    secret: string
  }
  const pass = (response: Response): string => `${response.headers.get('payment-pass')}.${info.secret}`
  // Two passes of one payment share its requests.
  assert.equal((await show(url, pass(first))).status, 200)
  assert.equal((await show(url, pass(again))).status, 200)
  for (const one of [first, again]) assert.equal(await errorOf(await show(url, pass(one))), '402 pass_used_up')
  const last = await pay()
  assert.deepEqual([last.status, status(last), last.headers.get('payment-pass')], [200, null, null])
  assert.deepEqual(shop.served.length, 3)
})

test('P7 a giant header, or a thousand cookies, cost nothing and open nothing', async (t) => {
  const { gate } = await open(t, { 'GET /a': minutes })
  const decide = async (headers: { [name: string]: string }): Promise<string> => {
    const decision = await gate.decide(new Request('http://127.0.0.1/a', { headers }))
    return decision.type === 'response' ? errorOf(decision.response) : decision.type
  }
  assert.equal(await decide({ 'PAYMENT-PASS': '1.'.repeat(500_000) }), '402 pass_invalid')
  assert.equal(await decide({ 'PAYMENT-PASS': `1.${'A'.repeat(1_000_000)}.x.y` }), '402 pass_invalid')
  assert.equal(await decide({ Cookie: 'x402-pass-AAAAAAAA=1; '.repeat(1_000) }), '402 Payment required')
  assert.equal(await decide({ Cookie: `x402-pass-AAAAAAAA=${'1.'.repeat(500_000)}` }), '402 Payment required')
})

test('P8 a cookie set or sent through another page neither shuts out nor changes anything', async (t) => {
  const route = { accepts: { ...accepts, paymentFlow: 'authorization' }, passes: { minutes: 30 } } as const
  const { url, served } = await open(t, { '/a': route })
  const unpaid = await fetch(`${url}/a`)
  const { header } = await market.newBuyer().pay((await requiredOf(unpaid)) as never)
  const paid = await fetch(`${url}/a`, { headers: { 'PAYMENT-SIGNATURE': header, 'PAYMENT-PASS': 'cookie' } })
  const [cookie] = paid.headers.getSetCookie()[0]!.split(';')
  assert.match(paid.headers.getSetCookie()[0]!, /; HttpOnly; SameSite=Lax/)
  served.length = 0
  const name = cookie!.split('=')[0]!
  const tossed = `${name}=tossed; ${name}=1.AA.BB.CC; ${cookie}`
  assert.equal((await fetch(`${url}/a`, { headers: { Cookie: tossed } })).status, 200)
  assert.equal((await fetch(`${url}/a`, { method: 'DELETE', headers: { Cookie: cookie! } })).status, 402)
  assert.equal((await fetch(`${url}/a?_method=DELETE`, { headers: { Cookie: cookie! } })).status, 402)
  assert.equal((await show(`${url}/a`, cookie!.slice(name.length + 1))).status, 402)
  assert.deepEqual(served, ['GET /a'])
})

test('P4 a pass of one gate opens nothing at another gate of the same server with the same keys below its prefix', async (t) => {
  const app = express()
  const prices = { '/cheap': '$0.01', '/dear': '$5' }
  for (const [prefix, price] of Object.entries(prices)) {
    const routes = { 'GET /a': { accepts: { ...accepts, price }, passes: { minutes: 30 } } }
    app.use(prefix, expressGate(await market.gate({ routes, passes: { secret } })))
    app.get(`${prefix}/a`, (_, response) => void response.send('goods'))
  }
  const { url, close } = await listen(app)
  t.after(close)
  const pass = await buy(`${url}/cheap/a`)
  assert.equal((await show(`${url}/cheap/a`, pass)).status, 200)
  assert.equal(await errorOf(await show(`${url}/dear/a`, pass)), '402 pass_invalid')
})
