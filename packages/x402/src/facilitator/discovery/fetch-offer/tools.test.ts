/** MCP servers, honest and hostile, and requests that may change something. */
import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { Discovery, PaymentHeaders, paymentRequired } from '@latchkey/x402-wire'
import { required } from '../catalogue.test.helper.js'
import { fetchOffer } from './node.js'

type Message = { readonly id?: number; readonly method: string; readonly params?: { readonly [name: string]: unknown } }
type Reply = { status?: number; headers?: { [name: string]: string }; body?: string } | undefined
type Answers = (message: Message, request: { method: string; path: string; headers: IncomingHttpHeaders }) => Reply

async function serve(t: TestContext, answers: Answers): Promise<{ url: string; log: string[] }> {
  const log: string[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const message = (body === '' ? { method: '' } : JSON.parse(body)) as Message
    const { method = '', url: path = '', headers } = request
    log.push(`${method} ${path} ${message.method}`.trim())
    const reply = answers(message, { method, path, headers })
    if (reply === undefined) return void response.writeHead(404).end()
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers }).end(reply.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, log }
}

const base = { allowPrivate: true, timeoutMs: 2_000, signal: new AbortController().signal }
const ask = (url: string, name = 'forecast') =>
  fetchOffer({ ...base, url: new URL(url), method: 'MCP', tool: { name, arguments: { city: 'Rome' } } })

const result = ({ id }: Message, value: object): Reply => ({
  body: JSON.stringify({ jsonrpc: '2.0', id, result: value }),
})
const offer = required('/mcp')
const tools = [
  { name: 'free' },
  { name: 'forecast', _meta: { [Discovery.paidToolKey]: true } },
  { name: 'broken', _meta: { [Discovery.paidToolKey]: true } },
]
const honest: Answers = (message) => {
  const { method, params } = message
  if (method === 'initialize') return result(message, { protocolVersion: '2025-06-18', capabilities: {} })
  if (method === 'notifications/initialized') return { status: 202 }
  if (method === 'tools/list') return result(message, { tools })
  if (method !== 'tools/call') return undefined
  assert.deepEqual(params!['arguments'], { city: 'Rome' })
  const isPaid = params!['name'] === 'forecast'
  return result(message, isPaid ? { isError: true, structuredContent: offer, content: [] } : { content: [] })
}

test('a paid tool is asked for its price after the list of tools names it as paid', async (t) => {
  const { url, log } = await serve(t, honest)
  assert.deepEqual(await ask(`${url}/mcp`), offer)
  assert.deepEqual(log, [
    'POST /mcp initialize',
    'POST /mcp notifications/initialized',
    'POST /mcp tools/list',
    'POST /mcp tools/call',
  ])
})

test('a tool that is free, missing or answers without a price has no offer, and free ones are not called', async (t) => {
  const { url, log } = await serve(t, honest)
  for (const name of ['free', 'missing']) assert.equal(await ask(`${url}/mcp`, name), undefined)
  assert.ok(!log.some((line) => line.endsWith('tools/call')))
  assert.equal(await ask(`${url}/mcp`, 'broken'), undefined)
})

test('a session is used and closed, and streams and pages are read', async (t) => {
  const event = (reply: Reply): Reply => ({
    headers: { 'content-type': 'text/event-stream' },
    body: `event: message\r\ndata: {"jsonrpc":"2.0","method":"notifications/x"}\r\n\r\ndata: ${reply?.body}\n\n`,
  })
  const { url, log } = await serve(t, (message, { method, headers }) => {
    const answer = event(honest(message, {} as never))!
    if (message.method === 'initialize') return { ...answer, headers: { ...answer.headers, 'mcp-session-id': 's-1' } }
    assert.equal(headers['mcp-session-id'], 's-1')
    assert.equal(headers['mcp-protocol-version'], '2025-06-18')
    if (method === 'DELETE') return { status: 204 }
    if (message.method === 'notifications/initialized') return { status: 202 }
    if (message.method === 'tools/list' && message.params!['cursor'] === undefined) {
      return event(result(message, { tools: [], nextCursor: 'two' }))
    }
    return answer
  })
  assert.deepEqual(await ask(`${url}/mcp`), offer)
  assert.equal(log.at(-1), 'DELETE /mcp')
})

test('hostile servers yield no offer within the limits', async (t) => {
  const endless: Answers = (message) =>
    message.method === 'tools/list' ? result(message, { tools: [], nextCursor: 'more' }) : honest(message, {} as never)
  const { url, log } = await serve(t, endless)
  assert.equal(await ask(url), undefined)
  assert.equal(log.filter((line) => line.endsWith('tools/list')).length, 5)
  const large = await serve(t, (message) => ({ body: `${honest(message, {} as never)?.body}${' '.repeat(600_000)}` }))
  await assert.rejects(ask(large.url), /larger than/)
  for (const body of ['', '[]', '{', 'null', '{"id":1,"result":7}', '{"id":9,"result":{"protocolVersion":"1"}}']) {
    const { url: junk } = await serve(t, () => ({ body }))
    assert.equal(await ask(junk), undefined, body)
  }
  const redirect = await serve(t, () => ({ status: 307, headers: { Location: url } }))
  assert.equal(await ask(redirect.url), undefined)
  assert.equal(redirect.log.length, 1)
})

test('PUT, PATCH and DELETE are sent only where the document of the seller lists them as paid', async (t) => {
  const operation = { 'x-payment-info': { protocols: [{ x402: {} }] } }
  const document = {
    paths: { '/notes/{id}': { put: operation, patch: operation, delete: operation }, '/free': { put: {} } },
  }
  const { url, log } = await serve(t, (_, { path }) => {
    if (path === '/openapi.json') return { body: JSON.stringify(document) }
    return { status: 402, headers: { [paymentRequired]: PaymentHeaders.encode(required(path)) } }
  })
  const send = (method: string, path: string) => fetchOffer({ ...base, url: new URL(path, url), method })
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    assert.deepEqual(await send(method, '/notes/5'), required('/notes/5'))
    assert.equal(await send(method, '/free'), undefined)
    assert.equal(await send(method, '/notes'), undefined)
  }
  assert.deepEqual(
    log.filter((line) => !line.startsWith('GET /openapi.json')),
    ['PUT /notes/5', 'PATCH /notes/5', 'DELETE /notes/5'],
  )
})
