import assert from 'node:assert/strict'
import test from 'node:test'
import { gunzipSync } from 'node:zlib'
import { Bytes, Network } from '@latchkey/algorand'
import type { PaymentRequired, PaymentRequirements } from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import type { Decision } from '../gate/Gate.js'
import { ask, newLedger, paymentFor, price, requiredIn, stubFacilitator, stubGate } from '../stubs.test.helper.js'
import { describeOffer, type PaywallOptions, renderPage } from './Paywall.js'

/** Chromium's headers for a navigation. */
const browser = {
  Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Dest': 'document',
  'User-Agent': 'Mozilla/5.0',
}

function responseOf(decision: Decision): Response {
  assert.equal(decision.type, 'response')
  return (decision as { response: Response }).response
}

type World = Awaited<ReturnType<typeof stubGate>>

const get = async ({ gate }: World, path: string, headers: { [name: string]: string } = {}, method = 'GET') =>
  responseOf(await gate.decide(ask(path, undefined, { headers, method })))

const typeOf = (response: Response): string => response.headers.get('Content-Type')!

test('a browser gets a page with 402 and the same header as programs', async () => {
  const world = await stubGate({ routes: { 'GET /a': { accepts: price, description: 'a thing' } } })
  const page = await get(world, '/a?x=1', browser)
  const program = await get(world, '/a?x=1')
  assert.equal(page.status, 402)
  assert.equal(typeOf(page), 'text/html; charset=utf-8')
  assert.equal(page.headers.get('PAYMENT-REQUIRED'), program.headers.get('PAYMENT-REQUIRED'))
  assert.equal(page.headers.get('Cache-Control'), 'no-store')
  assert.equal(page.headers.get('Vary'), 'Accept')
  assert.equal(page.headers.get('X-Content-Type-Options'), 'nosniff')
  assert.match(page.headers.get('Content-Security-Policy')!, /default-src 'none'; script-src 'self';/)
  const html = await page.text()
  for (const text of ['a thing', '$0.01', '0.01 USDC on Algorand TestNet', 'Test money']) {
    assert.ok(html.includes(text), text)
  }
})

const people = {
  'without what newer browsers say': { Accept: 'text/html' },
  'that prefers pages': { Accept: 'application/json;q=0.5, text/html;q=0.9' },
  'in capitals': { Accept: 'TEXT/HTML; Q=0.3' },
}
for (const [who, headers] of Object.entries(people)) {
  test(`a browser ${who} gets the page`, async () => {
    assert.equal(typeOf(await get(await stubGate(), '/a', headers)), 'text/html; charset=utf-8')
  })
}

const programs = {
  'that says nothing': {},
  'that takes anything': { Accept: '*/*', 'User-Agent': 'curl/8' },
  'that takes any text': { Accept: 'text/*, */*' },
  'with the user agent of a browser': { Accept: '*/*', 'User-Agent': 'Mozilla/5.0' },
  'that wants JSON first': { Accept: 'application/json, text/html;q=0.9' },
  'that wants no page': { Accept: 'text/html;q=0, application/json' },
  'of a page, by fetch': { ...browser, 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Dest': 'empty' },
  'of a page, by the mode alone': { Accept: 'text/html', 'Sec-Fetch-Mode': 'cors' },
  'in a frame': { ...browser, 'Sec-Fetch-Dest': 'iframe' },
  'with an earlier kind of payment': { ...browser, 'X-PAYMENT': 'e30=' },
}
for (const [who, headers] of Object.entries(programs)) {
  test(`a program ${who} gets JSON`, async () => {
    const response = await get(await stubGate(), '/a', headers)
    assert.deepEqual([response.status, typeOf(response)], [402, 'application/json'])
  })
}

test('a request with a payment never gets the page', async () => {
  const world = await stubGate()
  const { header } = paymentFor(requiredIn(await get(world, '/a')), world.chain)
  const bad = responseOf(await world.gate.decide(ask('/a', 'e30=', { headers: browser })))
  assert.deepEqual([bad.status, typeOf(bad)], [402, 'application/json'])
  assert.equal((await world.gate.decide(ask('/a', header, { headers: browser }))).type, 'paid')
})

test('HEAD gets the page, POST does not', async () => {
  const world = await stubGate({ routes: { '/a': { accepts: price } } })
  assert.equal(typeOf(await get(world, '/a', browser, 'HEAD')), 'text/html; charset=utf-8')
  assert.equal(typeOf(await get(world, '/a', browser, 'POST')), 'application/json')
})

test('shows every offer, in dollars if it is priced in dollars', async () => {
  const asset = { network: 'testnet', payTo: price.payTo, price: { asset: '0', amount: '2500000' } }
  const world = await stubGate({ routes: { 'GET /a': { accepts: [{ ...price, price: '$1.5' }, asset] } } })
  const html = await (await get(world, '/a', browser)).text()
  for (const text of ['$1.50', '1.5 USDC on Algorand TestNet', '2.5 ALGO on Algorand TestNet']) {
    assert.ok(html.includes(text), text)
  }
})

test('A15 shows every price once', async () => {
  const world = await stubGate()
  const response = await get(world, '/a', browser)
  assert.equal(requiredIn(response).accepts.length, 2)
  const html = await response.text()
  assert.equal(html.match(/0\.01 USDC on Algorand TestNet/g)?.length, 1)
  assert.equal(html.match(/&quot;payTo&quot;|"payTo"/g)?.length, 2, 'in the requirements, and in the offers')
})

test('descriptions and addresses are escaped', async () => {
  const description = '</script><script>alert(1)</script><img src=x onerror=alert(2)>'
  const world = await stubGate({ routes: { 'GET /a': { accepts: price, description } } })
  const html = await (await get(world, '/a?q=</script><script>alert(3)</script>&"onload=x', browser)).text()
  assert.equal(html.match(/<script/g)?.length, 2)
  assert.ok(!/<img|<[^>]*onload/.test(html))
})

test('`false` turns the page off', async () => {
  const world = await stubGate({ paywall: false })
  assert.equal(typeOf(await get(world, '/a', browser)), 'application/json')
  assert.equal((await get(world, '/a?x402-page=params')).status, 402)
})

test('a custom page, as HTML or Response, is an uncacheable 402 with the header', async () => {
  let seen = ''
  const text = await stubGate({
    paywall: ({ request, required }) => {
      seen = `${request.url} ${required.accepts.map(({ amount }) => amount)}`
      return '<h1>mine</h1>'
    },
  })
  const first = await get(text, '/a', browser)
  assert.equal(seen, 'http://shop.example/a 10000')
  assert.deepEqual(
    [first.status, typeOf(first), await first.text()],
    [402, 'text/html; charset=utf-8', '<h1>mine</h1>'],
  )
  const headers = { 'Content-Type': 'text/html', 'X-Own': '1', 'Cache-Control': 'public' }
  const custom = await stubGate({ paywall: async () => new Response('mine', { status: 200, headers }) })
  const second = await get(custom, '/a', browser)
  assert.deepEqual([second.status, second.headers.get('X-Own')], [402, '1'])
  assert.equal(second.headers.get('Cache-Control'), 'no-store')
  assert.equal(requiredIn(second).accepts.length, 2, 'one price, with both ids of its network')
  assert.equal(typeOf(await get(custom, '/a')), 'application/json')
  assert.equal((await get(custom, '/a?x402-page=params')).status, 200)
})

test('a custom page that fails opens nothing', async () => {
  const thrown = await stubGate({
    paywall: () => {
      throw new Error('broken')
    },
  })
  assert.equal((await get(thrown, '/a', browser)).status, 500)
  const none = await stubGate({ paywall: (() => undefined) as never })
  assert.equal((await get(none, '/a', browser)).status, 500)
})

test('applies the brand options, and refuses invalid ones at the start', async () => {
  const world = await stubGate({ paywall: { name: 'Weather Inc', colour: '#0a7' } })
  const html = await (await get(world, '/a', browser)).text()
  assert.match(html, /Weather Inc/)
  assert.match(html, /--accent:#0a7/)
  const bad: PaywallOptions = { colour: 'red;}' }
  await assert.rejects(stubGate({ paywall: bad }), { name: 'PaywallError' })
})

const scriptOf = async (world: World): Promise<string> =>
  /src="(\?x402-page=[^"]+)"/.exec(await (await get(world, '/a', browser)).text())![1]!

test('files of the page are served at the paid address, cacheable and compressed', async () => {
  const world = await stubGate()
  const path = `/a${await scriptOf(world)}`
  const plain = await get(world, path)
  const packed = await get(world, path, { 'Accept-Encoding': 'br, gzip' })
  assert.deepEqual([plain.status, typeOf(plain)], [200, 'text/javascript; charset=utf-8'])
  assert.equal(plain.headers.get('Cache-Control'), 'private, max-age=31536000, immutable')
  assert.equal(plain.headers.get('CDN-Cache-Control'), 'no-store')
  assert.equal(plain.headers.get('X-Content-Type-Options'), 'nosniff')
  assert.equal(plain.headers.get('Vary'), 'Accept-Encoding')
  assert.equal(plain.headers.get('Content-Encoding'), null)
  assert.equal(packed.headers.get('Content-Encoding'), 'gzip')
  const unpacked = gunzipSync(Buffer.from(await packed.arrayBuffer()))
  assert.deepEqual(unpacked, Buffer.from(await plain.arrayBuffer()))
  for (const refused of ['gzip;q=0', 'gzip;q=0.0', 'x-gzipped', 'identity']) {
    const response = await get(world, path, { 'Accept-Encoding': refused })
    assert.equal(response.headers.get('Content-Encoding'), null, refused)
  }
})

test('other file names are 404 and open nothing', async () => {
  let prices = 0
  const counted = { ...price, price: () => `$0.0${++prices}` }
  const world = await stubGate({ routes: { 'GET /a': { accepts: price }, 'GET /b': { accepts: counted } } })
  for (const name of ['', 'x', '..%2fconsole%2findex.html', 'constructor', 'index.html', '%00', 'assets']) {
    const response = await get(world, `/b?x402-page=${name}`, browser)
    assert.deepEqual([response.status, typeOf(response)], [404, 'application/json'], name)
    assert.equal(response.headers.get('Cache-Control'), 'no-store')
  }
  await get(world, `/b${await scriptOf(world)}`)
  await get(world, '/b?x402-page=params')
  assert.equal(prices, 0)
})

test('a file request with a payment does not use the payment', async () => {
  const world = await stubGate()
  const { header } = paymentFor(requiredIn(await get(world, '/a')), world.chain)
  for (const path of [`/a${await scriptOf(world)}`, '/a?x402-page=params', '/a?x402-page=none', '/a?y=1&x402-page=']) {
    assert.equal((await world.gate.decide(ask(path, header))).type, 'response', path)
  }
  assert.equal(world.ledger.transactions.size, 0)
  assert.equal((await world.gate.decide(ask('/a', header))).type, 'paid')
})

test('free routes and other methods ignore the query', async () => {
  const world = await stubGate({ routes: { '/a': { accepts: price } } })
  assert.equal((await world.gate.decide(ask('/free?x402-page=params'))).type, 'free')
  assert.equal((await get(world, '/a?x402-page=params', {}, 'POST')).status, 402)
  assert.equal((await get(world, '/a?x402-page=params', {}, 'HEAD')).status, 200)
})

test('serves transaction parameters from the node, cached', async () => {
  const world = await stubGate()
  const response = await get(world, '/a?x402-page=params')
  assert.equal(response.headers.get('Cache-Control'), 'no-store')
  const { networks } = (await response.json()) as { networks: { [name: string]: unknown }[] }
  assert.equal(networks.length, 1)
  const { genesisHash, ...network } = networks[0]!
  assert.equal(Buffer.from(String(genesisHash), 'base64').length, 32)
  assert.deepEqual(network, {
    caip2: world.chain.caip2,
    genesisId: 'testnet-v1.0',
    lastRound: 1_000,
    minFee: 1_000,
    feePerByte: 0,
    assets: { '10458941': { unitName: 'USDC', decimals: 6 } },
  })
  world.ledger.round = 2_000n
  const again = (await (await get(world, '/a?x402-page=params')).json()) as { networks: { lastRound: number }[] }
  assert.equal(again.networks[0]!.lastRound, 1_000)
})

test('parameters are 503 with Retry-After without a node', async () => {
  const world = await stubGate({}, { ...newLedger(), isDown: true })
  const response = await get(world, '/a?x402-page=params')
  assert.deepEqual([response.status, response.headers.get('Retry-After')], [503, '5'])
})

test('the page and its files follow the CORS option', async () => {
  const world = await stubGate({ cors: ['https://shop.example'] })
  const page = await get(world, '/a', { ...browser, Origin: 'https://shop.example' })
  assert.equal(page.headers.get('Vary'), 'Accept, Origin')
  const file = await get(world, `/a${await scriptOf(world)}`, { Origin: 'https://other.example' })
  assert.equal(file.headers.get('Access-Control-Allow-Origin'), null)
  assert.equal(file.headers.get('Vary'), 'Accept-Encoding, Origin')
})

test('responds with 503 in JSON to people without a facilitator', async () => {
  const ledger = newLedger()
  const facilitators = stubFacilitator(ledger, { supported: async () => Promise.reject(new Error('down')) })
  const world = await stubGate({ facilitators }, ledger)
  const response = await get(world, '/a', browser)
  assert.deepEqual([response.status, typeOf(response)], [503, 'application/json'])
})

test('a price by usage is shown as a maximum, and no wallet is offered for it', () => {
  const { caip2, genesisHash } = Network.testnet
  const chain = { caip2, genesisHash: Bytes.fromBase64(genesisHash)! } as unknown as Chain
  const requirement = { scheme: 'upto', network: caip2, amount: '500000', asset: '5', payTo: 'A'.repeat(58) }
  const requirements = { ...requirement, maxTimeoutSeconds: 60, extra: { feePayer: 'B' } } as PaymentRequirements
  const offer = describeOffer(requirements, chain, { decimals: 6, name: 'USDC' }, true)
  const required = { x402Version: 2, resource: { url: 'https://shop.example/chat' }, accepts: [requirements] } as const
  const { html } = renderPage({}, required as unknown as PaymentRequired, [offer])
  for (const text of ['>up to $0.50<', 'up to 0.5 USDC on Algorand TestNet', 'The seller charges what is used']) {
    assert.ok(html.includes(text), text)
  }
  assert.doesNotMatch(html, /<button/)
})
