/** The two endpoints over the facilitator's handler. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createFacilitatorHandler } from '../handler.js'
import { setUp } from '../setup.test.helper.js'
import { type Listing, MemoryListings } from '../store/Listings.js'
import { MemorySettlements } from '../store/Settlements.js'
import { payloadOf, required, seller, settled, shop } from './catalogue.test.helper.js'
import { claimOf } from './ListingClaim.js'
import { listingFrom } from './listingFrom.js'

const network = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'
const older = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI='
const wide = { perPayTo: 1_000, perOrigin: 1_000, total: 1_000 }

function listingOf(path: string, settleCount: number): Listing {
  const offer = required(path)
  const { payTo, asset } = settled()
  const payment = { payTo, asset, network, settledMs: Date.now() }
  const made = listingFrom(offer, claimOf(payloadOf(offer))!, payment)
  assert.equal(made.type, 'listed')
  return { ...(made as { listing: Listing }).listing, settleCount }
}

async function open(t: TestContext, paths: readonly string[], options: object = {}) {
  const listings = new MemoryListings()
  for (const [index, path] of paths.entries()) listings.put(listingOf(path, paths.length - index), wide)
  const store = Object.assign(new MemorySettlements(), { listings })
  const { facilitator } = await setUp(t, { store, discovery: {}, ...options })
  const handler = createFacilitatorHandler({ facilitator })
  return async (target: string, init?: RequestInit) => {
    const connection = { remoteAddress: '203.0.113.9' }
    const response = await handler(new Request(`http://facilitator.example${target}`, init), connection)
    return { status: response.status, body: (await response.json()) as { [name: string]: never } }
  }
}

test('lists resources in all forms', async (t) => {
  const get = await open(t, ['/weather'])
  const { status, body } = await get('/discovery/resources')
  assert.equal(status, 200)
  const pagination = { limit: 50, offset: 0, total: 1 }
  const metadata = { method: 'GET', description: 'The weather' }
  const { items: _, ...others } = body
  // Older clients read members other than `items` and `pagination`.
  const resources = [{ url: `${shop}/weather`, type: 'http', metadata }]
  assert.deepEqual(others, { x402Version: 2, pagination, resources, ...pagination })
  const [item] = body['items'] as unknown as [{ [name: string]: unknown }]
  const { extensions } = required('/weather')
  assert.deepEqual(
    { ...item, lastUpdated: 0, firstSeen: 0, lastSeen: 0, id: 0 },
    {
      resource: `${shop}/weather`,
      type: 'http',
      x402Version: 2,
      accepts: required('/weather').accepts,
      lastUpdated: 0,
      description: 'The weather',
      mimeType: 'application/json',
      extensions,
      id: 0,
      resourceUrl: `${shop}/weather`,
      method: 'GET',
      merchantId: seller.address,
      discoveryInfo: (extensions!['bazaar'] as { info: object }).info,
      verifyCount: 1,
      settleCount: 1,
      firstSeen: 0,
      lastSeen: 0,
    },
  )
  for (const name of ['lastUpdated', 'firstSeen', 'lastSeen']) assert.match(String(item[name]), /^\d{4}-.*Z$/)
  assert.match(String(item['id']), /^[\w-]{22}$/)
})

test('filters, and pages with limits', async (t) => {
  const paths = Array.from({ length: 120 }, (_, index) => `/r${index}`)
  const get = await open(t, paths)
  const count = async (query: string): Promise<number> =>
    ((await get(`/discovery/resources?${query}`)).body['items'] as unknown as object[]).length
  assert.equal(await count('limit=1000'), 100)
  assert.equal(await count('limit=10&offset=115'), 5)
  assert.equal(await count('offset=100000'), 0)
  for (const query of [
    `network=${encodeURIComponent(network)}`,
    `network=${encodeURIComponent(older)}`,
    `payTo=${seller.address}`,
    `merchantId=${seller.address}`,
    'type=http&scheme=exact&method=get&extensions=bazaar&unknown=1&includeTestnets=true',
  ]) {
    assert.equal(await count(query), 50, query)
  }
  for (const query of [
    'type=mcp',
    'payTo=X',
    'network=algorand-mainnet',
    'method=POST',
    'extensions=x',
    'scheme=upto',
  ]) {
    assert.equal(await count(query), 0, query)
  }
  const wrong = [
    'limit=0',
    'limit=-1',
    'limit=x',
    'limit=1e3',
    'offset=x',
    'offset=999999999',
    `payTo=${'x'.repeat(300)}`,
  ]
  for (const query of wrong) assert.equal((await get(`/discovery/resources?${query}`)).status, 400, query)
})

test('searches with a cursor', async (t) => {
  const get = await open(t, ['/rome/weather', '/rome/map', '/joke'])
  const urls = async (query: string) => {
    const { body } = await get(`/discovery/search?${query}`)
    const { resources, pagination, partialResults } = body as unknown as {
      resources: { resource: string }[]
      pagination: { limit: number; cursor: string | null }
      partialResults: boolean
    }
    return { paths: resources.map(({ resource }) => new URL(resource).pathname), ...pagination, partialResults }
  }
  assert.deepEqual((await urls('query=MAP%20Rome')).paths, ['/rome/map', '/rome/weather'])
  const first = await urls('query=rome&limit=1')
  assert.deepEqual([first.paths, first.partialResults, first.limit], [['/rome/weather'], true, 1])
  const second = await urls(`query=rome&limit=1&cursor=${first.cursor}`)
  assert.deepEqual([second.paths, second.cursor, second.partialResults], [['/rome/map'], null, false])
  assert.deepEqual((await urls('query=%25_*')).paths, [])
  assert.deepEqual((await urls('search=joke')).paths, ['/joke'])
  for (const query of [
    '',
    'query=',
    'query=%20',
    `query=${'x'.repeat(201)}`,
    'query=x&cursor=-1',
    'query=x&cursor=y',
  ]) {
    assert.equal((await get(`/discovery/search?${query}`)).status, 400, query)
  }
  const resources = await get('/discovery/resources?search=joke')
  assert.equal((resources.body['items'] as unknown as object[]).length, 1)
})

test('a facilitator without a catalogue does not have the endpoints, and does not announce the extension', async (t) => {
  const get = await open(t, [], { discovery: undefined })
  assert.equal((await get('/discovery/resources')).status, 404)
  assert.deepEqual((await get('/supported')).body['extensions'], [])
  const other = await open(t, [])
  assert.deepEqual((await other('/supported')).body['extensions'], ['bazaar'])
  assert.equal((await other('/discovery/resources', { method: 'POST' })).status, 405)
})

test('requests count for the limit of their address', async (t) => {
  const get = await open(t, [], { policy: { callerRequestsPerMinute: 2, apiKeys: ['secret'] } })
  const statuses = []
  for (const key of ['a', 'b', 'c']) {
    statuses.push((await get('/discovery/resources', { headers: { 'X-API-Key': key } })).status)
  }
  assert.deepEqual(statuses, [200, 200, 429])
})
