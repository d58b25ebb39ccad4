/**
 * Checks that a paid request is one trace, with the OpenTelemetry SDK: buyer, gate, facilitator and node, each over
 * HTTP.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, test } from 'node:test'
import { type RequestRecord, recordRequests, Server } from '@latchkey/http'
import { Buyer, type Chain, type PaymentRequirements, payingFetch } from '@latchkey/x402/client'
import { createFacilitatorHandler, Facilitator, MemorySettlements, Signer } from '@latchkey/x402/facilitator'
import { paymentGate, paymentOf } from '@latchkey/x402/node'
import { Gate, type PaymentEvent } from '@latchkey/x402/server'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import type { Account } from 'algosdk'
import { until } from '../process/commands.test.helper.js'
import { keyOf, listen, network, openTrade, price } from './trade.test.helper.js'

const exporter = new InMemorySpanExporter()

before(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
})

after(() => {
  trace.disable()
  propagation.disable()
  context.disable()
})

test('a paid request is one trace, with the request and payment ids in every span and line, and no secret', async (t) => {
  const { chain, buyer: payer, seller, sponsor } = await openTrade(t)
  const facilitator = new Facilitator({ chains: [chain], feePayer: Signer.fromSecretKey(keyOf(sponsor)) })
  t.after(() => facilitator.stop())
  const facilitatorLines: RequestRecord[] = []
  const server = new Server({
    fetch: createFacilitatorHandler({ facilitator }),
    onRequest: (record) => void facilitatorLines.push(record),
  })
  const { port } = await server.listen('127.0.0.1', 0)
  t.after(() => server.stop())
  const events: PaymentEvent[] = []
  const gate = await Gate.open({
    routes: { 'GET /weather': { accepts: { network, price, payTo: String(seller.addr) } } },
    chains: chain,
    facilitators: `http://127.0.0.1:${port}`,
    onSettled: (event) => void events.push(event),
  })
  t.after(() => gate.close())
  const gateLines: RequestRecord[] = []
  const gated = paymentGate(gate, (_, response) => {
    trace.getTracer('shop').startSpan('of the handler').end()
    response.end('sunny')
  })
  const url = await listen(
    t,
    recordRequests((request, response) => void gated(request, response), {
      routeOf: (path) => path,
      paymentOf: (request) => paymentOf(request)?.transactionId,
      onRequest: (record) => void gateLines.push(record),
    }),
  )
  const buyer = new Buyer({ signer: Signer.fromSecretKey(keyOf(payer)), chains: chain })
  exporter.reset()

  const response = await payingFetch(buyer)(`${url}/weather`)
  assert.equal(await response.text(), 'sunny')
  await until('the line and the event of the gate', () => gateLines.length === 2 && events.length === 1)
  const spans = exporter.getFinishedSpans()
  const [payment] = buyer.payments.all()
  const root = spans.find(({ name }) => name === 'buyer.fetch')!
  assert.equal(root.parentSpanContext, undefined)
  // A request that waits for the next block does so for all settlements, and belongs to none of them.
  const others = spans.filter((span) => span.spanContext().traceId !== root.spanContext().traceId)
  const waits = /^GET \/v2\/(status|blocks)/
  assert.deepEqual(
    others.filter(({ name }) => !waits.test(name)).map(({ name }) => name),
    [],
  )
  assert.deepEqual(
    spans.filter(({ name }) => name.includes('wait-for-block')).filter((span) => !others.includes(span)),
    [],
  )
  assert.equal(outline(spans, root).join('\n'), expected.trim())
  for (const name of ['facilitator.simulate', 'facilitator.submit']) {
    const calls = below(spans, spans.find((span) => span.name === name)!)
    assert.deepEqual([...new Set(calls.map((call) => nodeCall.test(call.name)))], [true], name)
  }

  const paidRequest = spans.find(({ name, attributes }) => name === 'gate.request' && 'latchkey.payment' in attributes)!
  const inside = [paidRequest, ...below(spans, paidRequest)].filter(({ name }) => name !== 'of the handler')
  for (const { name, attributes } of inside) {
    assert.equal(attributes['latchkey.payment'], payment!.transactionId, name)
    assert.equal(attributes['latchkey.request_id'], gateLines[1]!.id, name)
    assert.equal(attributes['latchkey.network'], chain.caip2, name)
  }
  for (const span of spans.filter((one) => !others.includes(one) && one.name !== 'of the handler')) {
    assert.equal(
      span.attributes['latchkey.request_id'],
      gateLines[1]!.id,
      `${span.name} has the id of the buyer's request`,
    )
  }
  for (const name of ['buyer.fetch', 'buyer.sign', 'buyer.pay']) {
    assert.equal(spans.find((span) => span.name === name)!.attributes['latchkey.payment'], payment!.transactionId, name)
  }
  const lines = facilitatorLines.filter(({ route }) => route === '/verify' || route === '/settle')
  const about = { id: gateLines[1]!.id, payment: payment!.transactionId }
  assert.deepEqual(
    [gateLines[1]!, ...lines].map((line) => ({ id: line.id, payment: line.payment })),
    [about, about, about],
  )
  assert.equal(events[0]!.requestId, about.id)
  const told = JSON.stringify(spans.map(({ name, attributes, events: all }) => [name, attributes, all]))
  assert.ok(!told.includes(keyOf(payer)) && !told.includes(keyOf(sponsor)))
  assert.ok(!/[A-Za-z0-9+/]{60,}/.test(told), `no payload: ${told}`)
})

test('a refused payment has its id in the log, and the reason in its span', async (t) => {
  const { chain, buyer: payer, seller, sponsor } = await openTrade(t)
  const feePayer = Signer.fromSecretKey(keyOf(sponsor))
  const errors: unknown[] = []
  const facilitator = new Facilitator({ chains: [chain], feePayer, onError: (...args) => void errors.push(args) })
  t.after(() => facilitator.stop())
  const { payload, payment, requirement } = await payFor(chain, payer, seller, sponsor)
  const noted: string[] = []
  const caller = { requestId: 'r-1', onPayment: (id: string) => void noted.push(id) }
  exporter.reset()
  const wrong = { ...requirement, payTo: String(payer.addr) }
  const { isValid, invalidReason } = await facilitator.verify(payload, wrong, caller)
  assert.equal(isValid, false)
  assert.deepEqual(noted, [payment.transactionId])
  const [span] = exporter.getFinishedSpans()
  assert.equal(span?.attributes['latchkey.outcome'], invalidReason)
  assert.deepEqual(errors, [])
})

test("an error that is not the caller's fault is reported with the request and payment ids", async (t) => {
  const { chain, buyer: payer, seller, sponsor } = await openTrade(t)
  const reported: unknown[] = []
  const store = new MemorySettlements()
  store.get = () => {
    throw new Error('the database is away')
  }
  const feePayer = Signer.fromSecretKey(keyOf(sponsor))
  const onError = (...args: unknown[]): void => void reported.push(args)
  const facilitator = new Facilitator({ chains: [chain], feePayer, store, onError })
  t.after(() => facilitator.stop())
  const { payload, payment, requirement } = await payFor(chain, payer, seller, sponsor)
  const { isValid } = await facilitator.verify(payload, requirement, { requestId: 'r-1' })
  assert.equal(isValid, false)
  const subject = { requestId: 'r-1', transactionId: payment.transactionId }
  assert.deepEqual(reported, [[new Error('the database is away'), subject]])
})

test('without an SDK, a paid request loads no part of OpenTelemetry', () => {
  const entries = ['client', 'server', 'node', 'hono', 'express', 'fastify', 'facilitator', 'sqlite', 'schemes']
  const program = `
    import { createRequire } from 'node:module'
    for (const entry of ${JSON.stringify(entries)}) await import('@latchkey/x402/' + entry)
    const { Chain, Buyer, payingFetch } = await import('@latchkey/x402/client')
    const { Signer } = await import('@latchkey/x402/facilitator')
    const { Devnet } = await import('@latchkey/devnet')
    const devnet = await Devnet.start({ port: 0 })
    const chain = await Chain.open({ network: 'local', nodes: devnet.url })
    await payingFetch(new Buyer({ signer: Signer.fromMnemonic(devnet.accounts[0].mnemonic), chains: chain }))(devnet.url + '/health')
    await devnet.stop()
    const loaded = Object.keys(createRequire(import.meta.url).cache).filter((path) => path.includes('opentelemetry'))
    console.log(JSON.stringify(loaded))
    process.exit()`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    cwd: import.meta.dirname,
  })
  assert.equal(stdout, '[]\n', stderr)
})

/** Returns a payment that was signed and not sent. */
async function payFor(chain: Chain, payer: Account, seller: Account, sponsor: Account) {
  const buyer = new Buyer({ signer: Signer.fromSecretKey(keyOf(payer)), chains: chain })
  const [asset, payTo, feePayer] = ['10458941', String(seller.addr), String(sponsor.addr)]
  const price = { scheme: 'exact', network: chain.caip2, asset, amount: '10000', maxTimeoutSeconds: 60 }
  const requirement = { ...price, payTo, extra: { feePayer } } as PaymentRequirements
  const resource = { url: 'http://localhost/', description: '', mimeType: '' }
  const { payload, payment } = await buyer.pay({ x402Version: 2, resource, accepts: [requirement] })
  return { payload, payment, requirement }
}

function below(spans: readonly ReadableSpan[], parent: ReadableSpan): ReadableSpan[] {
  const own = spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent.spanContext().spanId)
  return own.flatMap((span) => [span, ...below(spans, span)])
}

/** Returns the nested names of spans. Node calls are left out, because their number depends on when the block comes. */
function outline(spans: readonly ReadableSpan[], parent: ReadableSpan): string[] {
  const own = spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent.spanContext().spanId)
  const named = own.filter(({ name }) => !nodeCall.test(name)).sort((a, b) => (a.name < b.name ? -1 : 1))
  return [parent.name, ...named.flatMap((span) => outline(spans, span).map((line) => `  ${line}`))]
}

const nodeCall = /^(GET|POST) \//

const expected = `
buyer.fetch
  buyer.pay
    gate.request
      gate.handler
        of the handler
      gate.settle
        facilitator.settle
          facilitator.confirm
          facilitator.record
          facilitator.submit
      gate.verify
        facilitator.verify
          facilitator.simulate
  buyer.sign
  gate.request
`
