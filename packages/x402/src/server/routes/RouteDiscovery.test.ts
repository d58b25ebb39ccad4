import assert from 'node:assert/strict'
import test from 'node:test'
import { Network } from '@latchkey/algorand'
import { PaymentHeaders, type PaymentPayload, type PaymentRequired } from '@latchkey/x402-wire'
import {
  declareDiscoveryExtension,
  extractDiscoveryInfo,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
} from '@x402/extensions/bazaar'
import { withSellersDescription } from '../exchange/PaidRequest.js'
import type { Route } from '../gate/GateOptions.js'
import {
  admitted,
  ask,
  newLedger,
  paymentFor,
  price,
  requiredIn,
  responseOf,
  seller,
  stubFacilitator,
  stubGate,
} from '../stubs.test.helper.js'
import { RouteDiscovery } from './RouteDiscovery.js'

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const described: Omit<Route, 'accepts'> = {
  description: 'The weather',
  mimeType: 'application/json',
  input: { query: city, example: { query: { city: 'Berlin' } } },
  output: { schema: { type: 'object', properties: { celsius: { type: 'number' } } }, example: { celsius: 7 } },
}

async function offer(key: string, route: Partial<Route>, target: string, method = 'GET'): Promise<PaymentRequired> {
  const { gate } = await stubGate({ routes: { [key]: { accepts: price, ...route } } })
  return requiredIn(responseOf(await gate.decide(ask(target, undefined, { method }))))
}

/** The listing that a published facilitator extracts from a payment that copies a 402. */
function listing(required: PaymentRequired) {
  const { resource, accepts, extensions } = required
  const payload = { x402Version: 2, resource, accepted: accepts[0]!, extensions, payload: {} }
  const extension = extensions!['bazaar'] as Parameters<typeof validateDiscoveryExtension>[0]
  assert.deepEqual(validateDiscoveryExtension(extension), { valid: true })
  assert.equal(validateDiscoveryExtensionSpec({ ...extension }).valid, true)
  return extractDiscoveryInfo(payload as never, accepts[0]! as never)
}

test('the published package lists a route with query parameters', async () => {
  const service = {
    serviceName: 'Weather Inc',
    tags: ['weather', 'europe'],
    iconUrl: 'https://weather.example/icon.png',
  }
  const required = await offer('GET /weather', { ...described, ...service }, '/weather?city=Rome')
  const listed = listing(required)
  assert.equal(listed?.resourceUrl, 'http://shop.example/weather')
  assert.deepEqual(listed?.discoveryInfo, {
    input: { type: 'http', method: 'GET', queryParams: { city: 'Berlin' } },
    output: { type: 'json', example: { celsius: 7 } },
  })
  assert.equal(listed?.serviceName, 'Weather Inc')
  assert.deepEqual(listed?.tags, ['weather', 'europe'])
  assert.equal(listed?.iconUrl, 'https://weather.example/icon.png')
})

test('the published package lists a route with a body', async () => {
  const input = { body: city, example: { body: { city: 'Berlin' } } }
  const required = await offer('POST /forecast', { input }, '/forecast', 'POST')
  assert.deepEqual(listing(required)?.discoveryInfo, {
    input: { type: 'http', method: 'POST', bodyType: 'json', body: { city: 'Berlin' } },
  })
})

test('the published package lists a route with parameters in its path once, for all their values', async () => {
  const path = { properties: { id: { type: 'string' } } }
  for (const key of ['GET /items/:id/parts/*', 'GET /items/[id]/parts/*']) {
    const required = await offer(key, { input: { path } }, '/items/a%20b/parts/x/y')
    const listed = listing(required)
    assert.equal(listed?.resourceUrl, 'http://shop.example/items/:id/parts/:var1')
    const input = listed?.discoveryInfo.input as { pathParams?: object } | undefined
    assert.deepEqual(input?.pathParams, { id: 'a b', var1: 'x/y' })
  }
})

test('the template of a mounted route starts with the prefix', () => {
  const discovery = new RouteDiscovery('/items/:id', { output: {} })
  const request = { method: 'GET', url: new URL('http://shop.example/api/v1/items/7') }
  const { routeTemplate } = discovery.extensions(request)['bazaar'] as { routeTemplate?: string }
  assert.equal(routeTemplate, '/api/v1/items/:id')
})

test('a declaration of the published package is completed with the request', async () => {
  const extensions = { ...declareDiscoveryExtension({ input: { city: 'Berlin' }, inputSchema: city }) }
  const required = await offer('GET /weather/:day', { extensions }, '/weather/today')
  const listed = listing(required)
  assert.equal(listed?.resourceUrl, 'http://shop.example/weather/:day')
  assert.deepEqual(listed?.discoveryInfo.input, {
    type: 'http',
    method: 'GET',
    queryParams: { city: 'Berlin' },
    pathParams: { day: 'today' },
  })
})

test('schemas of libraries are written as JSON Schema', async () => {
  const targets: string[] = []
  const write = (side: string) => (options: { target: string }) => {
    targets.push(`${side} ${options.target}`)
    return { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', title: side }
  }
  const schema = { '~standard': { jsonSchema: { input: write('input'), output: write('output') } } }
  const required = await offer('GET /a', { input: { query: schema }, output: { schema } }, '/a')
  assert.deepEqual(targets, ['input draft-2020-12', 'output draft-2020-12'])
  assert.match(JSON.stringify(required.extensions!['bazaar']), /"queryParams":\{"type":"object","title":"input"\}/)
})

test('a route without a description declares nothing', async () => {
  const required = await offer('GET /a', {}, '/a')
  assert.deepEqual(Object.keys(required.extensions ?? {}), ['payment-secret'])
})

test('refuses descriptions that catalogues would drop', async () => {
  const refusals: [Partial<Route>, RegExp][] = [
    [{ serviceName: 'Wetter für alle' }, /GET \/a: serviceName does not have 1 to 32 printable ASCII characters/],
    [{ tags: ['a', 'b', 'c', 'd', 'e', 'f'] }, /tags has more than 5/],
    [{ tags: [''] }, /a tag does not have/],
    [{ iconUrl: 'https://127.0.0.1/icon.png' }, /iconUrl is not/],
    [{ iconUrl: 'https://user@shop.example/icon.png' }, /iconUrl is not/],
    [{ iconUrl: 'http://0x7f000001/' }, /iconUrl is not/],
    [{ iconUrl: 'https://localhost./icon.png' }, /iconUrl is not/],
    [{ input: { body: city } }, /input\.body has no example/],
    [{ input: { body: city, example: { body: {} } } }, /requests of this method have no body/],
    [{ input: { bodyType: 'xml' as 'text' } }, /input\.bodyType cannot be "xml"/],
    [{ input: { query: { $ref: 'https://other.example/schema' } } }, /refers to another document: https:\/\/other/],
    [{ input: { query: { '~standard': {} } as never } }, /cannot write JSON Schema/],
    [{ input: { query: 'string' as never } }, /input\.query is not a schema/],
    [{ extensions: { 'payment-secret': {} } }, /extensions\.payment-secret is reserved/],
    [{ extensions: { other: 1 } }, /extensions\.other is not an object/],
    [{ output: {}, extensions: declareDiscoveryExtension({}) }, /described twice/],
    [{ description: 'x'.repeat(8_000) }, /PAYMENT-REQUIRED has \d+ bytes, more than 8192/],
  ]
  for (const [route, message] of refusals) {
    await assert.rejects(stubGate({ routes: { 'GET /a': { accepts: price, ...route } } }), {
      code: 'invalid_gate_option',
      message,
    })
  }
})

test("a facilitator gets the seller's description, whatever the buyer writes", async () => {
  const payloads: PaymentPayload[] = []
  const ledger = newLedger()
  const facilitators = stubFacilitator(ledger, {
    verify: async (payload) => {
      payloads.push(payload)
      return { isValid: true, payer: seller }
    },
  })
  const route = { accepts: price, ...described, serviceName: 'Weather Inc' }
  const { gate, chain } = await stubGate({ routes: { 'GET /weather': route }, facilitators }, ledger)
  const required = requiredIn(responseOf(await gate.decide(ask('/weather'))))
  const { payload } = paymentFor(required, chain)
  const lie = { info: { input: { type: 'http', method: 'GET' }, output: { type: 'json', example: 'free money' } } }
  const lying = PaymentHeaders.encode({
    ...payload,
    resource: { ...required.resource, description: 'a lie', serviceName: 'Other' } as PaymentRequired['resource'],
    extensions: { bazaar: lie },
  })
  admitted(await gate.decide(ask('/weather', lying)))
  assert.deepEqual(payloads[0]?.extensions?.['bazaar'], required.extensions!['bazaar'])
  assert.deepEqual(payloads[0]?.resource, required.resource)
})

test('a payment for a route without a description carries none to the facilitator', () => {
  const payload = { x402Version: 2, payload: {}, accepted: {}, extensions: { bazaar: { info: {} }, other: 1 } }
  const required = { x402Version: 2, resource: { url: 'http://shop.example/a' }, accepts: [] }
  const sent = withSellersDescription(payload as never, required as never)
  assert.deepEqual(sent.extensions, { other: 1 })
})

test('offers the canonical id alone if the seller says so, and accepts payments with either', async () => {
  const { gate, chain } = await stubGate({ networkIds: 'canonical' })
  const required = requiredIn(responseOf(await gate.decide(ask('/a'))))
  assert.deepEqual(
    required.accepts.map(({ network }) => network),
    [Network.testnet.caip2],
  )
  const older = { ...required.accepts[0]!, network: `algorand:${Network.testnet.genesisHash}` } as const
  admitted(await gate.decide(ask('/a', paymentFor(required, chain, { accepted: older }).header)))
  await assert.rejects(stubGate({ networkIds: 'none' as 'both' }), /networkIds cannot be "none"/)
})
