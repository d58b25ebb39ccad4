/** Checks the listings that follow from descriptions by buyers, true or not. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Discovery, type PaymentRequired } from '@latchkey/x402-wire'
import { MemoryListings } from '../store/Listings.js'
import { Catalogue, type CatalogueOptions } from './Catalogue.js'
import { offerTo, payloadOf, required, seller, settled, shop, stranger } from './catalogue.test.helper.js'

type Setup = {
  readonly catalogue: Catalogue
  /** The requests that sellers got. */
  readonly asked: string[]
  /** The 402 of each address. */
  readonly offers: Map<string, PaymentRequired | Error>
  readonly errors: unknown[]
  readonly urls: () => Promise<string[]>
}

function setUp(t: TestContext, options: Partial<CatalogueOptions> = {}): Setup {
  const asked: string[] = []
  const errors: unknown[] = []
  const offers = new Map<string, PaymentRequired | Error>([[`GET ${shop}/weather`, required('/weather')]])
  const catalogue = new Catalogue({
    store: new MemoryListings(),
    onError: (error) => errors.push(error),
    fetchOffer: async ({ method, url }) => {
      asked.push(`${method} ${url.href}`)
      await new Promise((resolve) => setImmediate(resolve))
      const offer = offers.get(`${method} ${url.href}`)
      if (offer instanceof Error) throw offer
      return offer
    },
    ...options,
  })
  t.after(() => catalogue.stop())
  const urls = async (): Promise<string[]> => {
    await catalogue.idle()
    const page = await catalogue.find({ facets: [], terms: [], limit: 100, offset: 0 })
    return page!.listings.map(({ key }) => key)
  }
  return { catalogue, asked, offers, errors, urls }
}

const only = async ({ catalogue }: Setup) => {
  await catalogue.idle()
  const { listings } = (await catalogue.find({ facets: [], terms: [], limit: 100, offset: 0 }))!
  assert.equal(listings.length, 1)
  return listings[0]!
}

test('a charge of 0 is neither listed nor counted', async (t) => {
  const setup = setUp(t)
  const payload = payloadOf(required('/weather'))
  setup.catalogue.add(payload, settled({ amount: '0' }))
  assert.deepEqual([await setup.urls(), setup.asked], [[], []])
  setup.catalogue.add(payload, settled())
  assert.equal((await only(setup)).settleCount, 1)
  for (let time = 0; time < 3; time++) setup.catalogue.add(payload, settled({ amount: '0' }))
  await setup.catalogue.stop()
  assert.equal((await only(setup)).settleCount, 1)
})

test('a settled resource is listed as its seller describes it, once its 402 confirms the payment', async (t) => {
  const setup = setUp(t)
  setup.catalogue.add(payloadOf(required('/weather')), settled())
  const listing = await only(setup)
  assert.deepEqual(setup.asked, [`GET ${shop}/weather`])
  assert.equal(listing.resource, `${shop}/weather`)
  assert.equal(listing.payTo, seller.address)
  assert.equal(listing.settleCount, 1)
  assert.equal(listing.content.description, 'The weather')
  assert.deepEqual(Discovery.infoOf(listing.content.extensions), Discovery.infoOf(required('/weather').extensions))
})

test('payments are counted without asking the seller again, and each one once', async (t) => {
  const setup = setUp(t)
  const one = settled()
  for (const settlement of [one, one, settled(), settled()]) {
    setup.catalogue.add(payloadOf(required('/weather')), settlement)
  }
  await setup.catalogue.idle()
  for (const settlement of [one, settled()]) setup.catalogue.add(payloadOf(required('/weather')), settlement)
  assert.equal((await only(setup)).settleCount, 4)
  assert.equal(setup.asked.length, 1)
})

test('payments in an asset that the seller does not name are not counted', async (t) => {
  const store = new MemoryListings()
  for (const setup of [setUp(t, { store }), setUp(t, { store })]) {
    setup.catalogue.add(payloadOf(required('/weather')), settled(setup.asked.length === 0 ? {} : { asset: '7' }))
    await setup.catalogue.idle()
    for (let count = 0; count < 5; count++) {
      setup.catalogue.add(payloadOf(required('/weather')), settled({ asset: '7' }))
    }
    await setup.catalogue.idle()
  }
  const third = setUp(t, { store })
  third.catalogue.add(payloadOf(required('/weather')), settled({ asset: '7' }))
  assert.equal((await only(third)).settleCount, 2)
})

test('a resource with a price by usage is listed, and one with an unknown scheme is not', async (t) => {
  for (const [scheme, keys] of [
    ['upto', [`GET ${shop}/weather`]],
    ['barter', []],
  ] as const) {
    const setup = setUp(t)
    const accepts = [offerTo(seller.address, { scheme })]
    setup.offers.set(`GET ${shop}/weather`, required('/weather', { accepts }))
    setup.catalogue.add(payloadOf(required('/weather')), settled())
    assert.deepEqual(await setup.urls(), keys, scheme)
  }
})

test('text that a buyer wrote never enters a listing', async (t) => {
  const setup = setUp(t)
  const lies = payloadOf(
    required('/weather?x=1#y', {
      resource: { url: `${shop}/weather?x=1#y`, description: 'FREE MONEY', serviceName: 'Evil' } as never,
      extensions: Discovery.declaration({ output: { example: { evil: true } } }, { method: 'GET' }),
    }),
  )
  setup.catalogue.add(lies, settled())
  const listing = await only(setup)
  assert.doesNotMatch(JSON.stringify(listing), /FREE|[Ee]vil/)
  setup.catalogue.add(lies, settled())
  assert.doesNotMatch(JSON.stringify(await only(setup)), /FREE|[Ee]vil/)
})

test('lies about payee, address, method, asset and network list nothing and change nothing', async (t) => {
  const setup = setUp(t)
  setup.catalogue.add(payloadOf(required('/weather')), settled())
  const before = await only(setup)
  const poison = (url: string) => payloadOf(required('/weather', { resource: { url } }))
  const declared = (method: string) =>
    payloadOf(required('/weather', { extensions: Discovery.declaration({}, { method }) }))
  setup.offers.set('GET https://evil.example/', required('/weather'))
  setup.catalogue.add(payloadOf(required('/weather')), settled({ payTo: stranger.address }))
  setup.catalogue.add(payloadOf(required('/weather')), settled({ payTo: stranger.address, asset: '7' }))
  setup.catalogue.add(poison('https://evil.example/'), settled())
  setup.catalogue.add(poison(`${shop}/other`), settled())
  setup.catalogue.add(poison('javascript:alert(1)'), settled())
  setup.catalogue.add(poison('https://user:password@shop.example/weather'), settled())
  setup.catalogue.add(poison(`${shop}/${'x'.repeat(3_000)}`), settled())
  setup.catalogue.add(poison('not a url'), settled())
  for (const method of ['POST', 'DELETE', 'PUT', 'CONNECT', '']) setup.catalogue.add(declared(method), settled())
  setup.catalogue.add(payloadOf(required('/weather', { extensions: { bazaar: { info: 7 } } })), settled())
  setup.catalogue.add(payloadOf(required('/weather', { extensions: [] as never })), settled())
  setup.catalogue.add({} as never, settled())
  assert.deepEqual(await only(setup), before)
  assert.deepEqual(setup.errors, [])
  assert.ok(!setup.asked.some((one) => /CONNECT|password/.test(one)))
})

test('a payment in another asset or on another network than the 402 names is not confirmed', async (t) => {
  for (const change of [{ asset: '7' }, { network: 'algorand:mFgazF-2uRS1tMiL9dsj01hJGySEmPN2' }]) {
    const setup = setUp(t)
    setup.catalogue.add(payloadOf(required('/weather')), settled(change))
    assert.deepEqual(await setup.urls(), [])
    assert.equal(setup.asked.length, 1)
  }
})

test('ten thousand lies reach a seller a few times and change no listing', async (t) => {
  const setup = setUp(t)
  setup.catalogue.add(payloadOf(required('/weather')), settled())
  const before = await only(setup)
  for (let index = 0; index < 10_000; index++) {
    const url = `${shop}/${index}`
    setup.catalogue.add(payloadOf(required('', { resource: { url } })), settled({ payTo: stranger.address }))
  }
  assert.deepEqual(await only(setup), before)
  assert.ok(setup.asked.length <= 21, `${setup.asked.length} requests`)
  for (let index = 0; index < 10_000; index++) {
    const url = `https://s${index}.example/`
    setup.catalogue.add(payloadOf(required('', { resource: { url } })), settled({ payTo: stranger.address }))
  }
  assert.deepEqual(await only(setup), before)
  assert.ok(setup.asked.length <= 101, `${setup.asked.length} requests`)
  // The seller's own payments still count.
  setup.catalogue.add(payloadOf(required('/weather')), settled())
  assert.equal((await only(setup)).settleCount, 2)
})

test('ten thousand true resources stay within the limits and leave used ones alone', async (t) => {
  const setup = setUp(t, {
    maxListingsPerPayTo: 2,
    fetchOffer: async ({ url }) => required(url.pathname),
  })
  for (const path of ['/a', '/b']) {
    for (let count = 0; count < 3; count++) setup.catalogue.add(payloadOf(required(path)), settled())
  }
  await setup.catalogue.idle()
  for (let index = 0; index < 10_000; index++) setup.catalogue.add(payloadOf(required(`/${index}`)), settled())
  assert.deepEqual((await setup.urls()).sort(), [`GET ${shop}/a`, `GET ${shop}/b`])
})

test('a listing is renewed from the seller after a while, and removed if the seller describes it no longer', async (t) => {
  const setup = setUp(t, { refreshMs: 1_000 })
  let nowMs = Date.now()
  t.mock.method(Date, 'now', () => nowMs)
  setup.catalogue.add(payloadOf(required('/weather')), settled())
  await only(setup)
  const changed = required('/weather', { resource: { url: `${shop}/weather`, description: 'New text' } })
  setup.offers.set(`GET ${shop}/weather`, changed)
  setup.catalogue.add(payloadOf(required('/weather')), settled())
  assert.equal((await only(setup)).content.description, 'The weather')
  nowMs += 1_000
  setup.catalogue.add(payloadOf(required('/weather')), settled())
  const renewed = await only(setup)
  assert.deepEqual([renewed.content.description, renewed.settleCount], ['New text', 3])
  nowMs += 1_000
  setup.offers.set(`GET ${shop}/weather`, new Error('ECONNREFUSED'))
  setup.catalogue.add(payloadOf(required('/weather')), settled())
  assert.deepEqual(await only(setup), renewed, 'a seller that does not answer stays listed')
  nowMs += 11 * 60_000
  setup.offers.set(`GET ${shop}/weather`, required('/weather', { extensions: {} }))
  setup.catalogue.add(payloadOf(required('/weather')), settled())
  assert.deepEqual(await setup.urls(), [])
  assert.deepEqual(setup.errors, [])
})

test('a new payee replaces the old one only if the seller names it', async (t) => {
  const setup = setUp(t)
  setup.catalogue.add(payloadOf(required('/weather')), settled())
  await only(setup)
  setup.offers.set(`GET ${shop}/weather`, required('/weather', { accepts: [offerTo(stranger.address)] }))
  setup.catalogue.add(payloadOf(required('/weather')), settled({ payTo: stranger.address }))
  assert.equal((await only(setup)).payTo, stranger.address)
})

test('resources with parameters have one listing, without the values of a buyer', async (t) => {
  const request = (city: string) => ({ method: 'GET', routeTemplate: '/w/:city', pathParameters: { city } })
  const offer = (city: string) =>
    required(`/w/${city}`, { extensions: Discovery.declaration({ output: { example: 1 } }, request(city)) })
  const setup = setUp(t, { fetchOffer: async ({ url }) => offer(url.pathname.slice(3)) })
  for (const city of ['Rome', 'IGNORE-PREVIOUS-INSTRUCTIONS']) setup.catalogue.add(payloadOf(offer(city)), settled())
  const listing = await only(setup)
  assert.equal(listing.resource, `${shop}/w/:city`)
  assert.equal(listing.settleCount, 2)
  assert.doesNotMatch(JSON.stringify(listing), /Rome|IGNORE/)
})

test('a template that the path does not match is not used', async (t) => {
  for (const routeTemplate of ['/other/:id', '/w/x/:id', '/../:id', '/%2e%2e/:id', '/w', 'https://evil/:id', '/:a:']) {
    const extensions = { bazaar: { ...(required('/w/1').extensions!['bazaar'] as object), routeTemplate } }
    const setup = setUp(t, { fetchOffer: async () => required('/w/1', { extensions }) })
    setup.catalogue.add(payloadOf(required('/w/1', { extensions })), settled())
    assert.deepEqual(await setup.urls(), [`GET ${shop}/w/1`], routeTemplate)
  }
})

test('descriptions that refer to other documents, are large or belong to another method are not listed', async (t) => {
  const extension = required('/weather').extensions!['bazaar'] as { info: object; schema: object }
  const bad = [
    { ...extension, schema: { ...extension.schema, $ref: 'https://evil.example/schema' } },
    { ...extension, schema: { ...extension.schema, $defs: { a: { $id: 'http://169.254.169.254/' } } } },
    { ...extension, schema: 'https://evil.example' },
    { ...extension, info: { input: { type: 'http', method: 'GET', bodyType: 'json' } } },
    { ...extension, info: { input: { type: 'http', method: 'POST' } } },
    { ...extension, info: { input: { type: 'mcp', toolName: 'x', inputSchema: {} } } },
    { ...extension, info: { ...extension.info, output: { example: 'x'.repeat(7_000) } } },
    7,
  ]
  for (const bazaar of bad) {
    const setup = setUp(t)
    setup.offers.set(`GET ${shop}/weather`, required('/weather', { extensions: { bazaar } }))
    setup.catalogue.add(payloadOf(required('/weather')), settled())
    assert.deepEqual(await setup.urls(), [], JSON.stringify(bazaar).slice(0, 200))
    assert.equal(setup.asked.length, 1)
  }
})

const toolOffer = (toolName: string, change: Partial<PaymentRequired> = {}) =>
  required('/mcp', {
    resource: { url: `${shop}/mcp#${toolName}`, description: 'The weather' },
    extensions: Discovery.toolDeclaration({ toolName, inputSchema: { type: 'object' }, example: { city: 'Rome' } }),
    ...change,
  })

test('each tool of an MCP server has its own listing, confirmed by a call with its example', async (t) => {
  const calls: unknown[] = []
  const setup = setUp(t, {
    fetchOffer: async ({ tool, method }) => {
      calls.push({ ...tool, method })
      return toolOffer(tool!.name)
    },
  })
  for (const name of ['forecast', 'report', 'forecast']) setup.catalogue.add(payloadOf(toolOffer(name)), settled())
  assert.deepEqual((await setup.urls()).sort(), [`MCP ${shop}/mcp forecast`, `MCP ${shop}/mcp report`])
  assert.deepEqual(
    calls,
    ['forecast', 'report'].map((name) => ({ name, arguments: { city: 'Rome' }, method: 'MCP' })),
  )
  const find = (facets: string[], terms: string[] = []) => setup.catalogue.find({ facets, terms, limit: 10, offset: 0 })
  assert.equal((await find(['type:mcp']))!.total, 2)
  assert.equal((await find(['type:http']))!.total, 0)
  assert.equal((await find([], ['report']))!.listings[0]!.resource, `${shop}/mcp`)
})

test('lies about tools list nothing', async (t) => {
  const declared = toolOffer('forecast').extensions!['bazaar'] as { info: { input: object }; schema: object }
  const withInput = (change: object) => ({
    bazaar: { ...declared, info: { input: { ...declared.info.input, ...change } } },
  })
  const outside = { inputSchema: { properties: { a: { $ref: 'https://evil.example/' } } } }
  const offers = [
    toolOffer('report'),
    toolOffer('forecast', { accepts: [offerTo(stranger.address)] }),
    toolOffer('forecast', { resource: { url: 'https://evil.example/mcp' } }),
    toolOffer('forecast', { extensions: withInput(outside) }),
    toolOffer('forecast', { extensions: withInput({ inputSchema: 7 }) }),
    toolOffer('forecast', { extensions: withInput({ transport: 'carrier pigeon' }) }),
    toolOffer('forecast', { extensions: withInput({ other: 1 }) }),
    toolOffer('forecast', { extensions: required('/mcp').extensions! }),
  ]
  for (const [index, offer] of offers.entries()) {
    const setup = setUp(t, { fetchOffer: async () => offer })
    setup.catalogue.add(payloadOf(toolOffer('forecast')), settled())
    assert.deepEqual(await setup.urls(), [], `${index}`)
  }
  const setup = setUp(t)
  for (const toolName of ['', 'a b', 'x'.repeat(129), '\u202e', 7]) {
    setup.catalogue.add(payloadOf(toolOffer('a', { extensions: withInput({ toolName }) })), settled())
  }
  setup.catalogue.add(payloadOf(toolOffer('a', { resource: { url: 'mcp://tool/a' } })), settled())
  assert.deepEqual(await setup.urls(), [])
  assert.deepEqual(setup.asked, [])
})

test('a description that does not follow its own schema is not listed', async (t) => {
  const { info, schema } = required('/weather').extensions!['bazaar'] as { info: object; schema: object }
  const setup = setUp(t)
  const bazaar = { info: { ...info, output: { type: 7 } }, schema }
  setup.offers.set(`GET ${shop}/weather`, required('/weather', { extensions: { bazaar } }))
  setup.catalogue.add(payloadOf(required('/weather')), settled())
  assert.deepEqual(await setup.urls(), [])
  assert.equal(setup.asked.length, 1)
})

test('text of sellers is cut and loses hidden characters, and cannot imitate a filter', async (t) => {
  const setup = setUp(t)
  const resource = {
    url: `${shop}/weather`,
    description: `\u202egnp.exe\u200b\u{e0041}${'long '.repeat(200)}`,
    mimeType: 'text/html; payTo:X ',
    serviceName: 'bad \u202e',
    tags: ['ok', '\u200b', 7],
  }
  const accepts = [offerTo(seller.address), offerTo('A payTo:VICTIM ', { scheme: 'x type:mcp \ud800' })]
  setup.offers.set(`GET ${shop}/weather`, required('/weather', { resource: resource as never, accepts }))
  setup.catalogue.add(payloadOf(required('/weather')), settled())
  const { content, facets } = await only(setup)
  assert.ok(content.description!.length <= 500)
  assert.match(content.description!, /^gnp\.exe/)
  assert.doesNotMatch(content.description!, /[\u202e\u200b\u{e0041}]/u)
  assert.deepEqual([content.mimeType, content.serviceName, content.tags], [undefined, undefined, ['ok']])
  assert.ok(facets.every((facet) => !facet.includes(' ')))
  assert.deepEqual(
    facets.filter((facet) => facet.startsWith('payTo:')),
    [`payTo:${seller.address}`],
  )
})

test('nothing is asked after the catalogue is stopped, and a failing store is reported', async (t) => {
  const stopped = setUp(t)
  stopped.catalogue.add(payloadOf(required('/weather')), settled())
  await stopped.catalogue.stop()
  const asked = stopped.asked.length
  stopped.catalogue.add(payloadOf(required('/other')), settled())
  assert.equal(stopped.asked.length, asked)
  const broken = new Error('the disk is full')
  const store = new MemoryListings()
  t.mock.method(store, 'put', () => {
    throw broken
  })
  const failing = setUp(t, { store })
  failing.catalogue.add(payloadOf(required('/weather')), settled())
  await failing.catalogue.idle()
  assert.deepEqual(failing.errors, [broken])
})

test('too many queries at a time or in a second are refused', async (t) => {
  const { catalogue } = setUp(t)
  t.mock.method(performance, 'now', () => 5_000_000)
  const query = { facets: [], terms: [], limit: 1, offset: 0 }
  const together = await Promise.all(Array.from({ length: 6 }, () => catalogue.find(query)))
  assert.equal(together.filter((page) => page !== undefined).length, 4)
  let answered = 0
  for (let count = 0; count < 60; count++) if ((await catalogue.find(query)) !== undefined) answered++
  assert.equal(answered, 16)
})
