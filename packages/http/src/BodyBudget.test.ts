import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { BodyBudget, BodyReservation, type BodySender } from './BodyBudget.js'
import type { BodyError } from './BodyReader.js'
import { get, responses, serve, serveFetch } from './Peer.test.helper.js'
import '../../../test/seed.mjs'

const isFull = { code: 'body_no_room', status: 503 }

/** A budget whose clock stands still until it is moved. */
function manualBudget(totalBodyBytes: number) {
  const clock = { ms: 0 }
  const budget = new BodyBudget({ totalBodyBytes, slowBodyMs: 1000, now: () => clock.ms })
  const brokenOff: string[] = []
  const arrives = (name: string, bytes: number, sender: BodySender = {}): BodyReservation => {
    const body = new BodyReservation(budget, sender)
    body.reserve(bytes)
    body.begin(({ code }) => brokenOff.push(`${name} ${code}`))
    return body
  }
  return { clock, budget, brokenOff, arrives }
}

test('one named holder has a quarter of the memory of all bodies, and all of them have half', () => {
  const { budget } = manualBudget(800)
  const [a, b, c] = ['a', 'b', 'c'].map((holder) => new BodyReservation(budget, { holder }))
  const owner = new BodyReservation(budget, { isOwner: true })
  a!.reserve(200)
  assert.throws(() => a!.reserve(1), isFull)
  b!.reserve(200)
  assert.throws(() => c!.reserve(1), isFull)
  owner.reserve(400)
  assert.throws(() => owner.reserve(1), isFull)
  a!.release()
  c!.reserve(200)
  assert.equal(budget.used, 800)
  for (const body of [b!, c!, owner]) body.release()
  assert.equal(budget.used, 0)
})

test('a reservation is returned once, and a body without room is wiped', () => {
  const { budget } = manualBudget(100)
  const reservation = new BodyReservation(budget)
  const body = Buffer.alloc(60, 1)
  assert.equal(reservation.reserveFor(body), body)
  const other = Buffer.alloc(60, 1)
  assert.throws(() => new BodyReservation(budget).reserveFor(other), isFull)
  assert.deepEqual(other, Buffer.alloc(60))
  reservation.release()
  reservation.release()
  assert.equal(budget.used, 0)
})

test('a body that has been arriving for long makes room, and none that arrives at once does', () => {
  const { clock, budget, brokenOff, arrives } = manualBudget(100)
  arrives('first', 40)
  clock.ms = 10
  arrives('second', 40)
  clock.ms = 999
  assert.throws(() => arrives('early', 40), isFull)
  clock.ms = 1000
  arrives('third', 40)
  assert.deepEqual(brokenOff, ['first body_timeout'])
  assert.throws(() => arrives('fourth', 40), isFull)
  assert.equal(budget.used, 80)
})

test('as many bodies make room as are needed, and none that has arrived does', () => {
  const { clock, budget, brokenOff, arrives } = manualBudget(100)
  const whole = arrives('whole', 40)
  for (const name of ['1', '2', '3', '4']) arrives(name, 15)
  arrives('without memory', 0)
  whole.end()
  clock.ms = 2000
  arrives('late', 45)
  assert.deepEqual(
    brokenOff,
    ['1', '2', '3'].map((name) => `${name} body_timeout`),
  )
  assert.equal(budget.used, 100)
  whole.release()
  assert.equal(budget.used, 60)
})

test('a slow body that is the next to be broken off gets no more memory', () => {
  const { clock, brokenOff, arrives } = manualBudget(100)
  const oldest = arrives('oldest', 50)
  arrives('other', 50)
  clock.ms = 2000
  assert.throws(() => oldest.reserve(1), isFull)
  assert.deepEqual(brokenOff, [])
})

const from = (address: string): BodySender => ({ address: () => address })

test('the sender with the most memory makes room first, then the next', () => {
  const { clock, brokenOff, arrives } = manualBudget(100)
  arrives('oldest of few', 20, from('192.0.2.1'))
  for (const name of ['a', 'b', 'c']) arrives(name, 20, from('192.0.2.2'))
  arrives('other', 20, from('192.0.2.3'))
  clock.ms = 2000
  for (let at = 0; at < 4; at++) arrives(`late ${at}`, 20, from('192.0.2.4'))
  assert.deepEqual(
    brokenOff.map((text) => text.replace(' body_timeout', '')),
    ['a', 'b', 'oldest of few', 'c'],
  )
})

test('addresses of one IPv6 network are one sender', () => {
  const pairs: [string, string, boolean][] = [
    ['2001:db8::1', '2001:db8:0:0:ffff::2', true],
    ['2001:db8:0:1::1', '2001:db8:0:2::1', false],
    ['2001:db8::a:b:c:d:e', '2001:db8:0:a::1', true],
    ['::1', '::2', true],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
    ['192.0.2.1', '192.0.2.2', false],
    ['', '::1', false],
  ]
  const { budget } = manualBudget(1)
  for (const [one, other, isSame] of pairs) {
    const [first, second] = [one, other].map((address) => new BodyReservation(budget, from(address)).sender)
    assert.equal(first === second, isSame, `${one} and ${other}`)
  }
})

test('a body makes room for others of the same or a better standing only', () => {
  const { clock, brokenOff, arrives } = manualBudget(100)
  arrives('owner', 60, { isOwner: true })
  arrives('holder', 25, { holder: 'a' })
  clock.ms = 2000
  arrives('stranger', 10)
  clock.ms = 4000
  assert.throws(() => arrives('large stranger', 50), isFull)
  assert.deepEqual(brokenOff, ['stranger body_timeout'], 'one of its own')
  arrives('second', 20, { holder: 'b' })
  assert.deepEqual(brokenOff.slice(1), ['holder body_timeout'])
  arrives('second owner', 30, { isOwner: true })
  assert.deepEqual(brokenOff.slice(2), ['owner body_timeout'])
})

test('slow bodies of holders make room for holders, and never those of others', () => {
  const { clock, brokenOff, arrives } = manualBudget(800)
  arrives('owner', 400, { isOwner: true })
  arrives('a', 200, { holder: 'a' })
  arrives('b', 100, { holder: 'b' })
  arrives('b', 100, { holder: 'b' })
  clock.ms = 2000
  arrives('b again', 100, { holder: 'b' })
  assert.deepEqual(brokenOff, ['b body_timeout'], 'one of its own')
  arrives('c', 100, { holder: 'c' })
  assert.deepEqual(brokenOff, ['b body_timeout', 'a body_timeout'])
})

const senders: BodySender[] = [
  ...[{ isOwner: true }, {}, from('192.0.2.1'), from('2001:db8::1')],
  ...['a', 'b', 'c'].map((holder) => ({ holder })),
]
const step = fc.record({
  action: fc.constantFrom('begin', 'grow', 'end', 'release', 'wait'),
  which: fc.nat(30),
  bytes: fc.nat(300),
})

test('whatever arrives, the memory is bounded, and is returned in the end', () => {
  const run = (steps: { action: string; which: number; bytes: number }[]): void => {
    const clock = { ms: 0 }
    const budget = new BodyBudget({ totalBodyBytes: 800, slowBodyMs: 100, now: () => clock.ms })
    const bodies: BodyReservation[] = []
    const bytesOf = (matches: (body: BodyReservation) => boolean): number =>
      bodies.filter(matches).reduce((sum, { bytes }) => sum + bytes, 0)
    for (const { action, which, bytes } of steps) {
      const body = bodies[which % Math.max(bodies.length, 1)]
      if (action === 'begin') {
        const begun = new BodyReservation(budget, senders[which % senders.length])
        bodies.push(begun)
        const since = clock.ms
        begun.begin(() => {
          assert.ok(clock.ms - since >= 100, 'it is not slow')
          assert.equal(begun.bytes, 0)
        })
      } else if (action === 'wait') clock.ms += bytes
      else if (action === 'end') body?.end()
      else if (action === 'release') body?.release()
      else {
        try {
          body?.reserve(bytes)
        } catch (error) {
          assert.equal((error as BodyError).code, 'body_no_room')
        }
      }
      assert.equal(
        budget.used,
        bytesOf(() => true),
      )
      assert.ok(budget.used <= 800)
      assert.ok(bytesOf(({ holder }) => holder !== undefined) <= 400)
      for (const name of ['a', 'b', 'c']) assert.ok(bytesOf(({ holder }) => holder === name) <= 200)
    }
    for (const body of bodies) body.release()
    assert.equal(budget.used, 0)
  }
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), run), { numRuns: 300 })
})

const upload = (length: number, ...headers: string[]): string =>
  get('/', `Content-Length: ${length}`, ...headers).replace('GET', 'POST')

test('bodies beyond the total are refused while others arrive, and served afterwards', async (t) => {
  const limits = { bodyBytes: 100_000, totalBodyBytes: 150_000, slowBodyMs: 60_000 }
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
