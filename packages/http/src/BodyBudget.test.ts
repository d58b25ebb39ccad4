import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BodyBudget, BodyReservation } from './BodyBudget.js'
import { get, responses, serve, serveFetch } from './Peer.test.helper.js'

const isFull = { code: 'body_no_room', status: 503 }

test('one named holder has a quarter of the memory of all bodies, and all of them have half', () => {
  const budget = new BodyBudget(800)
  budget.reserve(200, 'a')
  assert.throws(() => budget.reserve(1, 'a'), isFull)
  budget.reserve(200, 'b')
  assert.throws(() => budget.reserve(1, 'c'), isFull)
  budget.reserve(400, undefined)
  assert.throws(() => budget.reserve(1, undefined), isFull)
  budget.release(200, 'a')
  budget.reserve(200, 'c')
  assert.equal(budget.used, 800)
  budget.release(200, 'b')
  budget.release(200, 'c')
  budget.release(400, undefined)
  assert.equal(budget.used, 0)
})

test('a reservation is returned once, and a body without room is wiped', () => {
  const budget = new BodyBudget(100)
  const reservation = new BodyReservation(budget, undefined)
  const body = Buffer.alloc(60, 1)
  assert.equal(reservation.reserveFor(body), body)
  const other = Buffer.alloc(60, 1)
  assert.throws(() => new BodyReservation(budget, undefined).reserveFor(other), isFull)
  assert.deepEqual(other, Buffer.alloc(60))
  reservation.release()
  reservation.release()
  assert.equal(budget.used, 0)
})

const upload = (length: number, ...headers: string[]): string =>
  get('/', `Content-Length: ${length}`, ...headers).replace('GET', 'POST')

test('bodies beyond the total are refused while others arrive, and served afterwards', async (t) => {
  const limits = { bodyBytes: 100_000, totalBodyBytes: 150_000 }
  const { dial } = await serve(
    t,
    async (request) => {
      const holder = request.header('holder')
      request.authenticated?.(holder)
      try {
        return { status: 200, headers: [], body: String((await request.body()).length) }
      } catch (error) {
        return { status: (error as { status: number }).status, headers: [], body: (error as { code: string }).code }
      }
    },
    { limits },
  )
  const first = dial()
  first.send(upload(100_000) + 'x'.repeat(90_000))
  await sleep(50)
  const second = dial()
  second.send(upload(100_000) + 'x'.repeat(90_000))
  await second.until('body_no_room')
  const held = dial()
  held.send(upload(50_000, 'Holder: a') + 'x'.repeat(50_000))
  await held.until('body_no_room')
  // A connection that closes returns its memory, and so does a request that ends.
  first.socket.destroy()
  for (let again = 0; again < 5; again++) {
    const later = dial()
    later.send(upload(100_000) + 'x'.repeat(100_000))
    await later.until('100000')
    assert.deepEqual(responses(later.received()), [[200, '100000']])
  }
})

test('a body that still arrives after its response began returns its memory', async (t) => {
  const limits = { bodyBytes: 100_000, totalBodyBytes: 150_000 }
  const whole: number[] = []
  const { dial } = await serveFetch(
    t,
    async (request) => {
      const body = request.arrayBuffer().then(
        ({ byteLength }) => byteLength,
        () => 0,
      )
      if (new URL(request.url).pathname === '/whole') return new Response(String(await body))
      void body.then((length) => whole.push(length))
      // The response ends after the body, and begins before.
      return new Response(
        new ReadableStream({
          start: async (controller) => {
            controller.enqueue(new TextEncoder().encode('begins'))
            await body
            controller.enqueue(new TextEncoder().encode('ends'))
            controller.close()
          },
        }),
      )
    },
    { limits },
  )
  for (let again = 1; again <= 3; again++) {
    const peer = dial()
    peer.send(upload(100_000) + 'x'.repeat(10_000))
    await peer.until('begins')
    peer.send('x'.repeat(90_000))
    await peer.until('ends')
    assert.equal(whole.length, again)
    peer.socket.destroy()
  }
  const brokenOff = dial()
  brokenOff.send(upload(100_000) + 'x'.repeat(10_000))
  await brokenOff.until('begins')
  brokenOff.send('x'.repeat(80_000))
  brokenOff.socket.end()
  await brokenOff.ended
  const later = dial()
  later.send((upload(100_000) + 'x'.repeat(100_000)).replace('POST /', 'POST /whole'))
  await later.until('100000')
})
