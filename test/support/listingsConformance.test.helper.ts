/** Conformance tests for the catalogue of every settlement store. Several stores on the same data represent replicas. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Listing, ListingCaps, ListingQuery, ListingStore } from '@latchkey/x402/facilitator'

export type OpenListings = (t: TestContext) => Promise<readonly ListingStore[]> | readonly ListingStore[]

const caps: ListingCaps = { perPayTo: 3, perOrigin: 4, total: 5 }
const all: ListingQuery = { facets: [], terms: [], sinceMs: 0, limit: 100, offset: 0 }

export function listing(name: string, change: Partial<Listing> = {}): Listing {
  return {
    key: `GET https://shop.example/${name}`,
    resource: `https://shop.example/${name}`,
    method: 'GET',
    origin: 'https://shop.example',
    payTo: 'SELLER',
    content: {
      accepts: [],
      description: `the ${name} "quoted" \u{1f511} \\u0000`,
      tags: ['one', 'two'],
      extensions: { bazaar: { info: { input: { type: 'http', method: 'GET' } } } },
    },
    facets: ['type:http', 'method:GET', 'payTo:SELLER', 'network:a%3Ab'],
    words: `the ${name} of the shop`,
    firstSettledMs: 1_790_000_000_000,
    lastSettledMs: 1_790_000_000_000,
    confirmedMs: 1_790_000_000_000,
    settleCount: 1,
    ...change,
  }
}

const names = async (store: ListingStore, query: Partial<ListingQuery> = {}): Promise<string[]> =>
  (await store.find({ ...all, ...query })).listings.map(({ resource }) =>
    resource.slice('https://shop.example/'.length),
  )

export function testListings(name: string, open: OpenListings): void {
  const check = (title: string, work: (stores: readonly ListingStore[]) => Promise<void>) =>
    test(`${name}: ${title}`, async (t) => work(await open(t)))

  check('a listing is returned as it was entered, by every replica', async (stores) => {
    const one = listing('weather')
    assert.equal(await stores[0]!.put(one, caps), true)
    for (const store of stores) {
      assert.deepEqual(await store.get(one.key), one)
      assert.deepEqual(await store.find(all), { listings: [one], total: 1 })
    }
    assert.equal(await stores[0]!.get('GET https://shop.example/other'), undefined)
  })

  check('a replaced listing keeps its count and its first time', async (stores) => {
    await stores[0]!.put(listing('weather'), caps)
    const later = { lastSettledMs: 1_790_000_005_000, firstSettledMs: 1_790_000_005_000, settleCount: 2 }
    const changed = listing('weather', { ...later, payTo: 'OTHER', words: 'new' })
    assert.equal(await stores.at(-1)!.put(changed, caps), true)
    const found = await stores[0]!.get(changed.key)
    assert.deepEqual(found, { ...changed, firstSettledMs: 1_790_000_000_000, settleCount: 3 })
  })

  check('counts are added to a listing with the same payee only', async (stores) => {
    const one = listing('weather')
    await stores[0]!.put(one, caps)
    const counted = { key: one.key, count: 5, settledMs: one.lastSettledMs + 1_000 }
    await stores.at(-1)!.count([
      { ...counted, payTo: 'SELLER' },
      { ...counted, payTo: 'THIEF', count: 1_000 },
      { ...counted, key: 'GET https://shop.example/none', payTo: 'SELLER' },
    ])
    const found = await stores[0]!.get(one.key)
    assert.deepEqual([found?.settleCount, found?.lastSettledMs], [6, one.lastSettledMs + 1_000])
  })

  check('the limits of payee, server and all hold, and the least used listing makes room', async (stores) => {
    const at = (index: number): ListingStore => stores[index % stores.length]!
    for (const [index, path] of ['a', 'b', 'c'].entries()) {
      const change = { settleCount: 10 + index, lastSettledMs: 1_790_000_000_000 + index }
      assert.equal(await at(index).put(listing(path, change), caps), true)
    }
    assert.equal(await at(0).put(listing('new'), caps), false, 'all of the payee have more settlements')
    assert.deepEqual((await names(at(1))).sort(), ['a', 'b', 'c'])
    assert.equal(await at(1).put(listing('new', { settleCount: 10 }), caps), true)
    assert.deepEqual((await names(at(2))).sort(), ['b', 'c', 'new'])
    const other = { payTo: 'OTHER' }
    assert.equal(await at(0).put(listing('d', other), caps), true)
    assert.equal(await at(1).put(listing('e', other), caps), true, 'replaces d: the server has four')
    assert.deepEqual((await names(at(2))).sort(), ['b', 'c', 'e', 'new'])
    const elsewhere = { ...other, origin: 'https://elsewhere.example' }
    assert.equal(await at(2).put(listing('f', elsewhere), caps), true)
    assert.equal(await at(0).put(listing('g', { ...elsewhere, payTo: 'THIRD', origin: 'https://third' }), caps), true)
    assert.equal((await at(1).find(all)).total, 5)
  })

  check('a listing without a settlement for a day makes room, however many it had', async (stores) => {
    const store = stores[0]!
    const now = 1_790_000_000_000
    for (const [index, path] of ['a', 'b', 'c'].entries()) {
      const lastSettledMs = path === 'b' ? now - 25 * 60 * 60 * 1000 : now
      await store.put(listing(path, { settleCount: 5 + index, lastSettledMs }), caps)
    }
    assert.equal(await store.put(listing('new', { lastSettledMs: now }), caps), true)
    assert.deepEqual((await names(store)).sort(), ['a', 'c', 'new'])
  })

  check('a listing that finds no room removes no other', async (stores) => {
    const store = stores[0]!
    // The payee has room to make; the server has not.
    const few = { perPayTo: 1, perOrigin: 2, total: 5 }
    await store.put(listing('little', { settleCount: 1, origin: 'https://elsewhere.example' }), few)
    for (const path of ['x', 'y']) await store.put(listing(path, { payTo: `PAYEE ${path}`, settleCount: 50 }), few)
    assert.equal(await store.put(listing('new', { settleCount: 2 }), few), false)
    assert.deepEqual((await names(store)).sort(), ['little', 'x', 'y'])
  })

  check('concurrent entries never exceed a limit', async (stores) => {
    const entries = Array.from({ length: 24 }, (_, index) => listing(`r${index}`))
    await Promise.all(entries.map(async (one, index) => stores[index % stores.length]!.put(one, caps)))
    assert.equal((await stores[0]!.find(all)).total, caps.perPayTo)
  })

  check('filters need every facet, and search ranks by words and settlements', async (stores) => {
    const store = stores[0]!
    const wide = { perPayTo: 100, perOrigin: 100, total: 100 }
    await store.put(listing('weather', { words: 'weather in rome', settleCount: 1 }), wide)
    await store.put(listing('map', { words: 'a map of rome', settleCount: 9 }), wide)
    await store.put(listing('joke', { words: 'a joke', facets: ['type:http', 'payTo:SELLER%20X'] }), wide)
    assert.deepEqual(
      await names(store),
      ['map', 'joke', 'weather'].sort((a, b) => (a === 'map' ? -1 : b === 'map' ? 1 : a < b ? -1 : 1)),
    )
    assert.deepEqual(await names(store, { terms: ['weather', 'rome'] }), ['weather', 'map'])
    assert.deepEqual(await names(store, { terms: ['100%', '_'] }), [])
    assert.deepEqual(await names(store, { facets: ['payTo:SELLER', 'type:http'] }), ['map', 'weather'])
    assert.deepEqual(await names(store, { facets: ['payTo:SELL'] }), [])
    assert.deepEqual(await names(store, { facets: ['type:http', 'method:POST'] }), [])
  })

  check('pages do not overlap and tell the total, and old listings are left out', async (stores) => {
    const store = stores[0]!
    const wide = { perPayTo: 100, perOrigin: 100, total: 100 }
    for (let index = 0; index < 25; index++) await store.put(listing(`r${index}`, { settleCount: index + 1 }), wide)
    const pages = await Promise.all([0, 10, 20, 30].map((offset) => store.find({ ...all, limit: 10, offset })))
    assert.deepEqual(
      pages.map(({ listings, total }) => [listings.length, total]),
      [
        [10, 25],
        [10, 25],
        [5, 25],
        [0, 25],
      ],
    )
    assert.equal(new Set(pages.flatMap(({ listings }) => listings.map(({ key }) => key))).size, 25)
    const old = listing('r3')
    await store.count([{ key: listing('r4').key, payTo: 'SELLER', count: 1, settledMs: old.lastSettledMs + 10 }])
    assert.deepEqual(await names(store, { sinceMs: old.lastSettledMs + 1 }), ['r4'])
    await store.forgetBefore(old.lastSettledMs + 1)
    assert.deepEqual(await names(store), ['r4'])
    await store.delete(listing('r4').key)
    assert.deepEqual(await names(store), [])
  })
}
