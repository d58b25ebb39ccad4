import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, test } from 'node:test'
import { type Context, context, propagation, type TracerProvider, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { Algod } from './Algod.js'
import * as Tracing from './Tracing.js'

function register(): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter()
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
  return exporter
}

afterEach(() => {
  trace.disable()
  context.disable()
  propagation.disable()
})

test('tracing is off until an SDK is registered, and then does nothing', async () => {
  assert.equal(Tracing.isOn(), false)
  assert.equal(await Tracing.span('one', {}, async () => 7), 7)
  Tracing.annotate({ a: 1 })
  Tracing.inject(() => assert.fail('there is nothing to pass on'))
  register()
  assert.equal(Tracing.isOn(), true)
})

test('without an SDK, neither the package nor its requests load the API', () => {
  const program = `
    import { createRequire } from 'node:module'
    import { createServer } from 'node:http'
    const { Algod } = await import(${JSON.stringify(new URL('./index.js', import.meta.url).href)})
    const server = createServer((request, response) => response.end('{"last-round": 5}'))
    server.listen(0, '127.0.0.1', async () => {
      const algod = new Algod({ nodes: [{ url: 'http://127.0.0.1:' + server.address().port }] })
      const round = await algod.lastRound()
      const loaded = Object.keys(createRequire(import.meta.url).cache).filter((path) => path.includes('opentelemetry'))
      console.log(JSON.stringify({ round: Number(round), loaded }))
      process.exit()
    })`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  assert.equal(stdout, '{"round":5,"loaded":[]}\n', stderr)
})

test('spans are nested, and late attributes apply to all spans of a request', async () => {
  const exporter = register()
  await Tracing.span('request', { isRequest: true, kind: 'server', attributes: { id: 'r1', not: undefined } }, () =>
    Tracing.span('first', {}, async () => {
      await new Promise(setImmediate)
      Tracing.annotate({ payment: 'P' })
      await Tracing.span('second', { attributes: { own: 'x'.repeat(1000) } }, async () => {})
    }),
  )
  const [second, first, request] = exporter.getFinishedSpans()
  assert.deepEqual([second?.name, first?.name, request?.name], ['second', 'first', 'request'])
  assert.equal(second?.parentSpanContext?.spanId, first?.spanContext().spanId)
  assert.equal(first?.parentSpanContext?.spanId, request?.spanContext().spanId)
  assert.deepEqual(request?.attributes, { id: 'r1', payment: 'P' })
  assert.deepEqual(first?.attributes, { id: 'r1', payment: 'P' })
  assert.deepEqual(second?.attributes, { id: 'r1', payment: 'P', own: 'x'.repeat(256) })
})

test('a failure is recorded on its span by code, without its text, and rethrown', async () => {
  const exporter = register()
  const error = Object.assign(new Error('the secret text'), { code: 'timeout' })
  await assert.rejects(
    Tracing.span('one', {}, async () => Promise.reject(error)),
    error,
  )
  const [span] = exporter.getFinishedSpans()
  assert.deepEqual(span?.attributes, { 'error.type': 'timeout' })
  assert.deepEqual(span?.status, { code: 2, message: 'timeout' })
  assert.ok(!JSON.stringify([span?.attributes, span?.events, span?.status]).includes('secret'))
})

test('work run outside starts its own trace', async () => {
  const exporter = register()
  await Tracing.span('request', {}, () => Tracing.outside(() => Tracing.span('for all', {}, async () => {})))
  const [forAll, request] = exporter.getFinishedSpans()
  assert.equal(forAll?.parentSpanContext, undefined)
  assert.notEqual(forAll?.spanContext().traceId, request?.spanContext().traceId)
})

test('a span ends once', async () => {
  const exporter = register()
  const span = Tracing.start('one', {})
  span.end({ first: true })
  span.end({ second: true })
  span.fail(new Error())
  assert.deepEqual(
    exporter.getFinishedSpans().map(({ attributes }) => attributes),
    [{ first: true }],
  )
})

test('a request to a node is a span, and the trace is passed to the node', async (t) => {
  const exporter = register()
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  let received: string | string[] | undefined
  const node = createServer((request, response) => {
    received = request.headers['traceparent']
    response.writeHead(404).end('{"message":"not found"}')
  }).listen(0, '127.0.0.1')
  t.after(() => node.close())
  await once(node, 'listening')
  const { port } = node.address() as AddressInfo
  const algod = new Algod({ nodes: [{ url: `http://127.0.0.1:${port}`, token: 'secret-token' }] })
  t.after(() => algod.close())
  await algod.transaction('A'.repeat(52))
  const [span] = exporter.getFinishedSpans()
  assert.equal(span?.name, 'GET /v2/transactions/pending/{id}')
  assert.deepEqual(span?.attributes, {
    'http.request.method': 'GET',
    'url.template': '/v2/transactions/pending/{id}',
    'server.address': '127.0.0.1',
    'server.port': port,
    'http.response.status_code': 404,
  })
  const { traceId, spanId } = span!.spanContext()
  assert.equal(received, `00-${traceId}-${spanId}-01`)
})

test('a request with two traces belongs to the last one', () => {
  register()
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  const first = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`
  const last = `00-${'3'.repeat(32)}-${'4'.repeat(16)}-01`
  const parent = Tracing.parentOf((name) => (name === 'traceparent' ? `${first}, ${last}` : null))
  assert.equal(trace.getSpanContext(parent.context as Context)?.traceId, '3'.repeat(32))
})

test('an SDK that throws does not fail the work', async () => {
  const throwing = (): never => {
    throw new Error('the SDK is broken')
  }
  const provider = {
    getTracer: () => ({ startSpan: throwing, startActiveSpan: throwing }),
  } as unknown as TracerProvider
  trace.setGlobalTracerProvider(provider)
  propagation.setGlobalPropagator({ inject: throwing, extract: throwing, fields: () => [] })
  assert.equal(await Tracing.span('one', {}, async () => 7), 7)
  Tracing.inject(() => {})
  Tracing.parentOf(() => 'x')
})

test('without a context manager every span starts a trace, and none is lost', async () => {
  const exporter = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
  await Tracing.span('outer', {}, () => Tracing.span('inner', {}, async () => {}))
  const spans = exporter.getFinishedSpans()
  assert.deepEqual(
    spans.map(({ name, parentSpanContext }) => [name, parentSpanContext]),
    [
      ['inner', undefined],
      ['outer', undefined],
    ],
  )
})

test('baggage is neither passed on nor accepted from others', async () => {
  register()
  const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()]
  propagation.setGlobalPropagator(new CompositePropagator({ propagators }))
  const own = propagation.createBaggage({ user: { value: 'ann' } })
  const sent = await context.with(propagation.setBaggage(context.active(), own), () =>
    Tracing.span('request', {}, async () => {
      const headers: string[] = []
      Tracing.inject((name) => void headers.push(name))
      return headers
    }),
  )
  assert.deepEqual(sent, ['traceparent'])
  const traceparent = '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01'
  const parent = Tracing.parentOf((name) => ({ traceparent, baggage: 'user=eve' })[name])
  assert.equal(trace.getSpanContext(parent.context as Context)?.spanId, '0123456789abcdef')
  assert.equal(propagation.getBaggage(parent.context as Context), undefined)
})
