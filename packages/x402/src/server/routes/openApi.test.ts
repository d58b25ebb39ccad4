import assert from 'node:assert/strict'
import test from 'node:test'
import type { GateOptions } from '../gate/GateOptions.js'
import { ask, price, responseOf, stubGate, usdc } from '../stubs.test.helper.js'

type Operation = {
  operationId: string
  parameters: object[]
  requestBody?: object
  responses: { [status: string]: object }
  'x-payment-info': { price?: object; protocols: object[] }
}
type Document = { info: object; servers: object[]; paths: { [path: string]: { [method: string]: Operation } } }

const item = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] }
const discovery = { title: 'Shop', guidance: 'Ask for items.', contactEmail: 'owner@shop.example' }
const routes: GateOptions['routes'] = {
  'GET /items/:id': {
    accepts: price,
    description: 'One item',
    mimeType: 'application/json',
    input: {
      path: item,
      query: { properties: { size: { type: 'string' } }, required: ['size'] },
      example: { query: { size: 'L' } },
    },
    output: { schema: item, example: { id: 7 } },
  },
  'POST /items': {
    accepts: { ...price, price: { asset: usdc, amount: '1500000' } },
    input: { body: item, example: { body: { id: 7 } } },
  },
  '/files/*': { accepts: { ...price, price: () => '$0.10' }, priceRange: { min: '$0.01', max: 2 } },
  'GET /algo': { accepts: { ...price, price: { asset: '0', amount: '5' } } },
}

async function fetchDocument(path: string, options: Partial<GateOptions> = {}): Promise<Document> {
  const { gate } = await stubGate({ routes, discovery, ...options })
  const response = responseOf(await gate.decide(ask(path)))
  assert.equal(response.status, 200)
  const isOwnOrigin = options.origin !== undefined
  assert.equal(response.headers.get('Cache-Control'), isOwnOrigin ? 'public, max-age=300' : 'no-store')
  return (await response.json()) as Document
}

test('the document lists every paid route with its price', async () => {
  const { info, servers, paths } = await fetchDocument('/openapi.json?v=1')
  assert.deepEqual(info, {
    title: 'Shop',
    version: '1.0.0',
    'x-guidance': 'Ask for items.',
    contact: { email: 'owner@shop.example' },
  })
  assert.deepEqual(servers, [{ url: 'http://shop.example' }])
  assert.deepEqual(Object.keys(paths), ['/items/{id}', '/items', '/files/{var1}', '/algo'])
  const prices = Object.values(paths).map((methods) => Object.values(methods)[0]!['x-payment-info'])
  const protocols = [{ x402: {} }]
  assert.deepEqual(prices, [
    { price: { mode: 'fixed', currency: 'USD', amount: '0.010000' }, protocols },
    { price: { mode: 'fixed', currency: 'USD', amount: '1.500000' }, protocols },
    { price: { mode: 'dynamic', currency: 'USD', min: '0.010000', max: '2.000000' }, protocols },
    { protocols },
  ])
  assert.deepEqual(Object.keys(paths['/files/{var1}']!), ['get', 'post', 'put', 'patch', 'delete'])
})

test('an operation has the input and the output of its route', async () => {
  const { paths } = await fetchDocument('/openapi.json')
  const get = paths['/items/{id}']!['get']!
  assert.deepEqual(get.parameters, [
    { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
    { name: 'size', in: 'query', required: true, schema: { type: 'string' }, example: 'L' },
  ])
  assert.deepEqual(get.responses, {
    '200': {
      description: 'The response to a paid request',
      content: { 'application/json': { schema: item, example: { id: 7 } } },
    },
    '402': { description: 'Payment required' },
  })
  const post = paths['/items']!['post']!
  assert.deepEqual(post.requestBody, {
    required: true,
    content: { 'application/json': { schema: item, example: { id: 7 } } },
  })
  const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
  assert.equal(new Set(ids).size, ids.length)
})

test('the short list names the same routes', async () => {
  const document = await fetchDocument('/.well-known/x402')
  assert.deepEqual(document, {
    version: 1,
    resources: [
      'http://shop.example/items/{id}',
      'POST /items',
      'http://shop.example/files/{var1}',
      ...['POST', 'PUT', 'PATCH', 'DELETE'].map((method) => `${method} /files/{var1}`),
      'http://shop.example/algo',
    ],
    openapi: 'http://shop.example/openapi.json',
  })
})

test('addresses are the public ones: with the origin and the base path', async () => {
  const { servers, paths } = await fetchDocument('/openapi.json', { origin: 'https://api.example', basePath: '/v1' })
  assert.deepEqual(servers, [{ url: 'https://api.example' }])
  assert.equal(Object.keys(paths)[0], '/v1/items/{id}')
})

test('a document with the host of a request is not kept by caches', async () => {
  const { gate } = await stubGate({ routes, discovery })
  for (const path of ['/openapi.json', '/.well-known/x402']) {
    const response = responseOf(await gate.decide(new Request(`http://evil.example${path}`)))
    assert.match(await response.text(), /evil\.example/)
    assert.equal(response.headers.get('Cache-Control'), 'no-store')
  }
  const own = await stubGate({ routes, discovery, origin: 'https://shop.example' })
  for (const path of ['/openapi.json', '/.well-known/x402']) {
    const response = responseOf(await own.gate.decide(new Request(`http://evil.example${path}`)))
    assert.doesNotMatch(await response.text(), /evil\.example/)
    assert.equal(response.headers.get('Cache-Control'), 'public, max-age=300')
  }
})

test('HEAD has no body, and other requests are not answered with a document', async () => {
  const { gate } = await stubGate({ routes, discovery })
  const head = responseOf(await gate.decide(ask('/openapi.json', undefined, { method: 'HEAD' })))
  assert.equal(await head.text(), '')
  for (const [path, method] of [['/openapi.json', 'POST'] as const, ['/openapi.json/', 'GET'] as const]) {
    assert.equal((await gate.decide(ask(path, undefined, { method }))).type, 'free')
  }
  const plain = await stubGate({ routes })
  assert.equal((await plain.gate.decide(ask('/openapi.json'))).type, 'free')
})
