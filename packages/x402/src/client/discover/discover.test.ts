/** Catalogues of several forms, and hostile ones. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { describeOffer } from './describeOffer.js'
import { type DiscoverOptions, DiscoveryError, discover } from './discover.js'

const testnet = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'
const older = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI='
const facilitators = 'https://facilitator.example/'
const offer = {
  scheme: 'exact',
  network: testnet,
  amount: '10000',
  asset: '10458941',
  payTo: 'A'.repeat(58),
  maxTimeoutSeconds: 60,
}
const info = { input: { type: 'http', method: 'GET', queryParams: { city: 'Rome' } } }
const item = {
  resource: 'https://shop.example/weather',
  type: 'http',
  x402Version: 2,
  accepts: [offer],
  lastUpdated: '2026-11-17T00:00:00.000Z',
  description: 'The weather',
  serviceName: 'Weather Inc',
  tags: ['weather'],
  extensions: { bazaar: { info, schema: {} } },
}

type Answer = { readonly status?: number; readonly body?: unknown }

/** Answers requests by their path, and records them. */
function catalogue(answers: { readonly [path: string]: (query: URLSearchParams) => Answer }) {
  const asked: string[] = []
  const fetch = async (input: string | URL | Request): Promise<Response> => {
    const url = new URL(String(input))
    asked.push(`${url.pathname}${url.search}`)
    const { status = 200, body = {} } = answers[url.pathname]?.(url.searchParams) ?? { status: 404 }
    return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status })
  }
  const find = (options: Partial<DiscoverOptions> = {}) =>
    discover({ facilitators, fetch: fetch as typeof globalThis.fetch, ...options })
  return { asked, find }
}

test('reads the form of the specification', async () => {
  const { find, asked } = catalogue({
    '/discovery/search': () => ({ body: { x402Version: 2, resources: [item] } }),
    '/discovery/resources': () => ({ body: { x402Version: 2, items: [item], pagination: {} } }),
  })
  const [found] = await find({ query: ' weather ', limit: 5 })
  assert.deepEqual(found, {
    url: 'https://shop.example/weather',
    type: 'http',
    method: 'GET',
    toolName: undefined,
    offers: [offer],
    description: 'The weather',
    serviceName: 'Weather Inc',
    tags: ['weather'],
    mimeType: '',
    info,
    settleCount: undefined,
    facilitator: 'https://facilitator.example',
  })
  assert.equal((await find()).length, 1)
  assert.deepEqual(asked, ['/discovery/search?query=weather&limit=5', '/discovery/resources?limit=20'])
})

test('reads the form of the hosted Algorand facilitator, with its id of the network', async () => {
  const hosted = { resourceUrl: item.resource, method: 'GET', accepts: [{ ...offer, network: older }], settleCount: 7 }
  const { find, asked } = catalogue({
    '/discovery/resources': (query) => ({
      body: {
        items: [undefined, null, older].includes(query.get('network') ?? undefined)
          ? [{ ...hosted, description: 'Weather', discoveryInfo: info }]
          : [],
      },
    }),
  })
  for (const query of ['weather', '']) {
    const [found] = await find({ query, network: testnet })
    assert.deepEqual([found?.url, found?.settleCount, found?.info], [item.resource, 7, info])
  }
  assert.ok(asked.some((one) => one.includes('search=weather')))
  assert.deepEqual(await find({ query: 'cooking' }), [], 'what a catalogue does not filter is filtered here')
})

test('reads tools under both names of their name', async () => {
  const tool = (members: object) => ({
    ...item,
    type: 'mcp',
    extensions: { bazaar: { info: { input: { type: 'mcp', ...members } } } },
  })
  const items = [tool({ toolName: 'rain' }), tool({ tool: 'sun' })]
  const { find } = catalogue({ '/discovery/resources': () => ({ body: { items } }) })
  assert.deepEqual(
    (await find()).map(({ type, toolName, method }) => [type, toolName, method]),
    [
      ['mcp', 'rain', undefined],
      ['mcp', 'sun', undefined],
    ],
  )
})

test('leaves out what does not match the filters, and repetitions', async () => {
  const other = { ...item, resource: 'https://shop.example/other', accepts: [{ ...offer, network: 'eip155:8453' }] }
  const { find } = catalogue({ '/discovery/resources': () => ({ body: { items: [item, other, item] } }) })
  assert.deepEqual((await find({ network: older })).length, 1)
  assert.deepEqual(
    (await find({ network: 'eip155:8453' })).map(({ url }) => url),
    [other.resource],
  )
  assert.deepEqual(await find({ payTo: 'B'.repeat(58) }), [])
  assert.equal((await find()).length, 2)
  const both = await find({ facilitators: [facilitators, 'https://second.example'] })
  assert.equal(both.length, 2)
})

test('text of strangers is cut and loses hidden characters, and unreadable entries are left out', async () => {
  let deep: unknown = 1
  for (let level = 0; level < 1_000; level++) deep = [deep]
  const items = [
    7,
    null,
    {},
    { ...item, resource: 'javascript:alert(1)' },
    { ...item, resource: 'https://user:pass@shop.example/' },
    { ...item, resource: 'x'.repeat(5_000) },
    { ...item, accepts: [] },
    { ...item, accepts: 'all' },
    { ...item, accepts: [{ ...offer, amount: '1e9' }] },
    { ...item, accepts: [{ ...offer, payTo: 'A\u202eB' }] },
    { ...item, accepts: [{ ...offer, extra: { deep } }] },
    {
      ...item,
      resource: 'https://sh\u043ep.example/\u202e',
      description: `\u001b[2Jhello\u202e${'x'.repeat(10_000)}`,
      serviceName: 'x\u0000',
      tags: 'all',
      settleCount: -1,
      extensions: { bazaar: { info: { deep } } },
    },
  ]
  const { find } = catalogue({ '/discovery/resources': () => ({ body: { items } }) })
  const found = await find()
  assert.equal(found.length, 1)
  const [{ url, description, serviceName, tags, settleCount, info: described }] = found as [(typeof found)[number]]
  assert.match(url, /^https:\/\/xn--[a-z0-9-]+\.example\/%E2%80%AE$/)
  assert.match(description, /^\[2Jhello x+$/)
  assert.ok(description.length <= 500)
  assert.deepEqual([serviceName, tags, settleCount, described], ['', [], undefined, undefined])
})

test('a catalogue that fails has an error with a code, unless another one answers', async () => {
  const failing: [Answer, string][] = [
    [{ status: 500 }, 'facilitator_unavailable'],
    [{ status: 404 }, 'facilitator_protocol_error'],
    [{ body: 'junk' }, 'facilitator_protocol_error'],
    [{ body: { items: 7 } }, 'facilitator_protocol_error'],
    [{ body: `{"items":["${'x'.repeat(3_000_000)}"]}` }, 'facilitator_protocol_error'],
  ]
  for (const [answer, code] of failing) {
    const { find } = catalogue({ '/discovery/resources': () => answer })
    await assert.rejects(find(), (error) => error instanceof DiscoveryError && error.code === code)
  }
  await assert.rejects(discover({ facilitators: 'ftp://x' }), { code: 'invalid_option' })
  await assert.rejects(discover({ facilitators, query: 'x'.repeat(201) }), { code: 'invalid_option' })
  let calls = 0
  const fetch = (async () => {
    if (calls++ === 0) throw new TypeError('fetch failed')
    return new Response(JSON.stringify({ items: [item] }))
  }) as typeof globalThis.fetch
  assert.equal((await discover({ facilitators: [facilitators, 'https://second.example'], fetch })).length, 1)
})

test('a catalogue that does not answer in time, or redirects, is unavailable', async (t: TestContext) => {
  const server = createServer(({ url }, response) => {
    if (url?.startsWith('/redirect')) response.writeHead(302, { Location: '/discovery/resources' }).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const one of [url, `${url}/redirect`]) {
    await assert.rejects(discover({ facilitators: one, timeoutMs: 200 }), { code: 'facilitator_unavailable' })
  }
})

test('prices are shown in words', () => {
  assert.equal(describeOffer(offer as never), '$0.01 on TestNet')
  assert.equal(describeOffer({ ...offer, network: older } as never), '$0.01 on TestNet')
  assert.equal(describeOffer({ ...offer, asset: '0', amount: '1500000' } as never), '1.5 ALGO on TestNet')
  // The id of USDC on another network is not a dollar here.
  assert.match(describeOffer({ ...offer, asset: '31566704' } as never), /^10,000 base units of asset 31566704/)
  const local = { ...offer, network: `algorand:${'x'.repeat(32)}`, asset: '5' }
  assert.equal(describeOffer(local as never, { dollarAssetIds: [5n] }), '$0.01 on the local network')
  const base = { ...offer, network: 'eip155:8453', asset: '0xabc' }
  assert.equal(describeOffer(base as never), '10,000 base units of asset 0xabc on eip155:8453')
})
