import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Gate } from '../gate/Gate.js'
import { ask, paymentFor, price, requiredIn, stubGate } from '../stubs.test.helper.js'
import { paymentGate, paymentOf } from './web.js'

const goods = async (): Promise<Response> => new Response('goods')

async function paid(world: Awaited<ReturnType<typeof stubGate>>, path = '/a', init?: RequestInit): Promise<Request> {
  const unpaid = await paymentGate(world.gate, goods)(ask(path, undefined, init))
  return ask(path, paymentFor(requiredIn(unpaid), world.chain).header, init)
}

const isSettled = ({ ledger }: Awaited<ReturnType<typeof stubGate>>): boolean => ledger.transactions.size > 0

test('asks for a payment, settles after the handler, and passes further arguments on', async () => {
  const world = await stubGate()
  const seen: unknown[] = []
  const handler = paymentGate(world.gate, async (request: Request, context: { id: number }) => {
    seen.push(context.id, isSettled(world), paymentOf(request)?.state)
    return new Response('goods', { headers: [['Set-Cookie', 'a=1'] as const, ['Set-Cookie', 'b=2'] as const] as never })
  })
  const unpaid = await handler(ask('/a'), { id: 1 })
  assert.equal(unpaid.status, 402)
  assert.deepEqual(seen, [])
  const response = await handler(await paid(world), { id: 2 })
  assert.deepEqual([response.status, await response.text()], [200, 'goods'])
  assert.deepEqual(seen, [2, false, 'verified'])
  assert.ok(isSettled(world))
  assert.ok(response.headers.has('PAYMENT-RESPONSE'))
  assert.equal(response.headers.get('Cache-Control'), 'private')
  assert.deepEqual(response.headers.getSetCookie(), ['a=1', 'b=2'])
})

function readResponse(): Response {
  const response = new Response('goods')
  response.body!.getReader()
  return response
}

test('charges nothing for a handler that throws, fails, or returns no response', async () => {
  const failures: [string, () => unknown][] = [
    ['throws', () => Promise.reject(new Error('NEXT_REDIRECT'))],
    ['responds with 500', () => new Response('no', { status: 500, headers: { 'PAYMENT-RESPONSE': 'e30=' } })],
    ['responds with 404', () => new Response('no', { status: 404 })],
    ['has a body that was read', () => readResponse()],
    ['returns nothing', () => undefined],
    ['returns an error', () => Response.error()],
    ['has a body that fails', () => new Response(new ReadableStream({ pull: () => Promise.reject(new Error('cut')) }))],
  ]
  for (const [name, fail] of failures) {
    const world = await stubGate()
    const handler = paymentGate(world.gate, async () => fail() as Response)
    const response = await handler(await paid(world)).catch((error: unknown) => error)
    assert.ok(!isSettled(world), name)
    if (response instanceof Response) {
      assert.ok(response.status >= 400, name)
      assert.equal(response.headers.get('PAYMENT-RESPONSE'), null, name)
      assert.match(response.headers.get('Cache-Control') ?? '', /private|no-store/, name)
    } else {
      assert.match(String(response), /NEXT_REDIRECT|did not return a Response|locked/, name)
    }
  }
})

test('the same payment can be sent again after a failure', async () => {
  const world = await stubGate()
  const request = await paid(world)
  let runs = 0
  const handler = paymentGate(world.gate, async () => {
    runs += 1
    if (runs === 1) throw new Error('broken')
    return new Response('goods')
  })
  // The same object, as from a program that tries again.
  await assert.rejects(handler(request), /broken/)
  assert.equal(world.ledger.transactions.size, 0)
  assert.equal((await handler(request)).status, 200)
  assert.equal(world.ledger.transactions.size, 1)
  assert.equal(runs, 2)
})

test('refuses a path without a price, unless free paths are allowed', async () => {
  const world = await stubGate({ routes: { 'GET /a': { accepts: price }, 'POST /b': { accepts: price } } })
  const errors: unknown[] = []
  let runs = 0
  const run = async (): Promise<Response> => {
    runs += 1
    return new Response('goods')
  }
  const handler = paymentGate(world.gate, run, { onError: (error) => errors.push(error) })
  // A path that looks like a pattern is no route either.
  for (const path of ['/free', '/:x', '/*', '/a/b', '/']) {
    const response = await handler(ask(path))
    assert.equal(response.status, 404, path)
    assert.equal(runs, 0, path)
  }
  // Anyone can cause this error, so it is reported once a minute.
  assert.equal(errors.length, 1)
  assert.match(String(errors[0]), /no route of the gate matches GET \/free/)
  assert.equal((await handler(ask('/b'))).status, 405)
  const open = paymentGate(world.gate, run, { otherPaths: 'free' })
  assert.equal((await open(ask('/free'))).status, 200)
  assert.equal((await open(ask('/a'))).status, 402)
  assert.equal(runs, 1)
})

test('opens the gate once, with the first request, and again after a failure', async () => {
  const world = await stubGate()
  const errors: unknown[] = []
  const settings: unknown[] = []
  let attempts = 0
  const open = async (_: Request, setting: string): Promise<Gate> => {
    attempts += 1
    settings.push(setting)
    if (attempts === 1) throw new Error('no node')
    return world.gate
  }
  const handler = paymentGate(open, goods, { onError: (error) => errors.push(error) })
  assert.equal((await handler(ask('/a'), 'first')).status, 503)
  assert.deepEqual(errors.map(String), ['Error: no node'])
  const both = await Promise.all([handler(ask('/a'), 'second'), handler(ask('/a'), 'third')])
  assert.deepEqual(
    both.map(({ status }) => status),
    [402, 402],
  )
  assert.deepEqual(settings, ['first', 'second'])
})

test('a gate around a gate takes one payment', async () => {
  const world = await stubGate()
  const handler = paymentGate(world.gate, paymentGate(world.gate, goods))
  const response = await handler(await paid(world))
  assert.deepEqual([response.status, await response.text()], [200, 'goods'])
  assert.equal(world.ledger.transactions.size, 1)
})

test('rejects what is not a gate', async () => {
  assert.throws(() => paymentGate(Promise.resolve() as never, goods), { code: 'invalid_option' })
  const errors: unknown[] = []
  const handler = paymentGate(async () => ({}) as Gate, goods, { onError: (error) => errors.push(error) })
  assert.equal((await handler(ask('/a'))).status, 503)
  assert.equal((errors[0] as { code: string }).code, 'invalid_option')
})

test('streams a response that is settled first, and hides from its handler that the client has left', async () => {
  const accepts = { ...price, paymentFlow: 'upfront' as const }
  const world = await stubGate({ routes: { 'GET /a': { accepts } } })
  const controller = new AbortController()
  const template = await paid(world)
  const request = new Request(template, { signal: controller.signal })
  let seen: AbortSignal | undefined
  const handler = paymentGate(world.gate, async ({ signal }) => {
    seen = signal
    assert.ok(isSettled(world))
    const pieces = ['one,', 'two']
    const body = new ReadableStream({
      pull: (stream) => {
        const piece = pieces.shift()
        if (piece === undefined) stream.close()
        else stream.enqueue(new TextEncoder().encode(piece))
      },
    })
    return new Response(body)
  })
  const response = await handler(request)
  controller.abort()
  assert.equal(seen!.aborted, false)
  assert.equal(await response.text(), 'one,two')
})
