/** Tests that bodies that arrive slowly do not keep out bodies that arrive at once. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BodyBudget, type BodyReservation } from './BodyBudget.js'
import { defaultLimits } from './Limits.js'
import type { FetchHandler } from './Message.js'
import { get, type Peer, responses, serve, serveSockets } from './Peer.test.helper.js'

const bodyBytes = 64 * 1024
const wholeBodies = 64
const totalBodyBytes = wholeBodies * bodyBytes

/** A budget whose clock is moved by hand, and that records how much of it was in use. */
class RecordingBudget extends BodyBudget {
  most = 0
  readonly clock: { ms: number }

  constructor(total = totalBodyBytes) {
    const clock = { ms: 0 }
    super({ totalBodyBytes: total, slowBodyMs: 1000, now: () => clock.ms })
    this.clock = clock
  }

  override reserve(bytes: number, body: BodyReservation): void {
    super.reserve(bytes, body)
    this.most = Math.max(this.most, this.used)
  }
}

const lengthOf: FetchHandler = async (request) => new Response(`<${(await request.arrayBuffer()).byteLength}>`)

const head = (...headers: string[]): string => get('/', ...headers).replace('GET', 'POST')
const ofLength = (length: number): string => head(`Content-Length: ${length}`)
const chunked = head('Transfer-Encoding: chunked')
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
const tooSlow = 'too slowly'

async function until(isDone: () => boolean): Promise<void> {
  for (let waited = 0; !isDone(); waited += 2) {
    assert.ok(waited < 20_000, 'it does not happen')
    await sleep(2)
  }
}

/** Opens connections that send all but the end of a body, until the memory is used up and no more of them fit. */
async function attack(dial: () => Peer, budget: BodyBudget, begin: string): Promise<Peer[]> {
  const peers: Peer[] = []
  for (let at = 0; at < wholeBodies + 6; at++) {
    const peer = dial()
    peers.push(peer)
    peer.send(begin)
    await until(() => budget.used === (at + 1) * bodyBytes || peer.received() !== '')
  }
  assert.equal(budget.used, totalBodyBytes)
  return peers
}

/** Sends two requests, each in two pieces, one of them with a chunked body. */
async function upload(peer: Peer, at: number): Promise<void> {
  const text = 'x'.repeat(20_000)
  peer.send(ofLength(text.length))
  await until(() => !peer.socket.connecting && peer.socket.writableLength === 0)
  if (at % 2 === 0) await sleep(1)
  peer.send(`${text}${chunked}${chunk(text)}${chunk(text).slice(0, 10_000)}`)
  await sleep(1)
  peer.send(`${chunk(text).slice(10_000)}0\r\n\r\n`)
  await until(() => peer.received().includes('<40000>') || peer.socket.destroyed)
  assert.deepEqual(responses(peer.received()), [
    [200, '<20000>'],
    [200, '<40000>'],
  ])
  peer.socket.destroy()
}

const slowBodies: [string, string][] = [
  ['of a known length', ofLength(bodyBytes) + 'x'.repeat(bodyBytes - 1)],
  ['in chunks', chunked + chunk('x'.repeat(bodyBytes))],
]

for (const [what, begin] of slowBodies) {
  test(`slow bodies ${what} that use up the memory make room for all that arrive at once`, async (t) => {
    const budget = new RecordingBudget()
    const { dial } = await serveSockets(t, lengthOf, { bodies: budget, limits: { ...defaultLimits, bodyBytes } })
    const slow = await attack(dial, budget, begin)
    const early = dial()
    early.send(`${ofLength(20_000)}`)
    early.send('x'.repeat(19_000))
    await early.until(' 503 ')
    budget.clock.ms = 1001
    for (let round = 0; round < 10; round++) {
      await Promise.all(Array.from({ length: 10 }, (_, at) => upload(dial(), at)))
    }
    assert.ok(budget.most <= totalBodyBytes, `${budget.most} bytes were in use`)
    for (const peer of slow) peer.socket.destroy()
    await until(() => budget.used === 0)
  })
}

/** Serves one slow body that uses up the memory, and another one that needs it. */
async function displace(t: TestContext, begin: string, fetch: FetchHandler = lengthOf) {
  const budget = new RecordingBudget(bodyBytes)
  const { dial } = await serveSockets(t, fetch, { bodies: budget })
  const slow = dial()
  slow.send(begin)
  await until(() => budget.used === bodyBytes)
  budget.clock.ms = 1000
  const other = dial()
  other.send(ofLength(20_000) + 'x'.repeat(10_000))
  await until(() => budget.used < bodyBytes)
  return { budget, slow, other }
}

test('a body that is broken off is wiped, and its connection is closed after the response', async (t) => {
  const allocated: Buffer[] = []
  const allocate = Buffer.allocUnsafeSlow
  t.mock.method(Buffer, 'allocUnsafeSlow', (size: number) => {
    const buffer = allocate(size)
    allocated.push(buffer)
    return buffer
  })
  const { budget, slow, other } = await displace(t, ofLength(bodyBytes) + 'p'.repeat(bodyBytes - 1))
  assert.ok(allocated.some(({ length }) => length === bodyBytes))
  assert.ok(allocated.every((buffer) => !buffer.includes('p')))
  await slow.ended
  const [[status, body]] = responses(slow.received()) as [[number, string]]
  assert.equal(status, 408)
  assert.ok(body.includes(tooSlow), body)
  assert.match(slow.received(), /connection: close/i)
  other.send('x'.repeat(10_000))
  await other.until('<20000>')
  await until(() => budget.used === 0)
})

test('the rest of a body that was broken off is not read as a request', async (t) => {
  const paths: string[] = []
  const { budget, slow, other } = await displace(
    t,
    ofLength(bodyBytes) + 'x'.repeat(bodyBytes - 40),
    (request, info) => {
      paths.push(new URL(request.url).pathname)
      return lengthOf(request, info)
    },
  )
  slow.send(get('/smuggled').repeat(10))
  await slow.ended
  other.send('x'.repeat(10_000) + get('/next'))
  await other.until('<0>')
  assert.deepEqual(paths, ['/', '/', '/next'])
  assert.equal(responses(slow.received()).length, 1)
  await until(() => budget.used === 0)
})

test('requests before a body that is broken off get their responses', async (t) => {
  const before = `${ofLength(3)}abc`
  const { slow } = await displace(t, before + before + ofLength(bodyBytes) + 'x'.repeat(bodyBytes - 1))
  await slow.ended
  assert.deepEqual(
    responses(slow.received()).map(([status]) => status),
    [200, 200, 408],
  )
})

test('a body that still arrives after its response began makes room, too', async (t) => {
  const failures: unknown[] = []
  const { budget, slow, other } = await displace(
    t,
    ofLength(bodyBytes) + 'x'.repeat(bodyBytes - 1),
    (request, info) => {
      if (request.headers.get('content-length') === '20000') return lengthOf(request, info)
      const read = request.arrayBuffer().catch((error) => failures.push(error))
      const start = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
        controller.enqueue(new TextEncoder().encode('begins'))
        await read
        controller.close()
      }
      return new Response(new ReadableStream({ start }))
    },
  )
  await slow.ended
  assert.match(slow.received(), /begins/)
  assert.deepEqual(
    failures.map((error) => (error as { code: string }).code),
    ['body_timeout'],
  )
  other.send('x'.repeat(10_000))
  await other.until('<20000>')
  await until(() => budget.used === 0)
})

test('a body whose handler ignores the failure returns its memory at once', async (t) => {
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const { budget, slow, other } = await displace(
    t,
    ofLength(bodyBytes) + 'x'.repeat(bodyBytes - 1),
    (request, info) => {
      if (request.headers.get('content-length') === '20000') return lengthOf(request, info)
      return request.arrayBuffer().then(
        () => new Response('whole'),
        () => released.then(() => new Response('late')),
      )
    },
  )
  other.send('x'.repeat(10_000))
  await other.until('<20000>')
  await until(() => budget.used === 0)
  release()
  await slow.until('late')
  await slow.ended
})

test('the limits of a server say how slow a body may be', async (t) => {
  const limits = { bodyBytes: 90_000, totalBodyBytes: 100_000, slowBodyMs: 1, requestMs: 3_600_000 }
  const { dial } = await serve(t, undefined, { limits })
  // Which of two connections is read first is not known, so it may take several of them.
  for (let tries = 0; ; tries++) {
    assert.ok(tries < 1000, 'none is broken off')
    const peers = [dial(), dial()]
    for (const peer of peers) peer.send(ofLength(90_000) + 'x'.repeat(80_000))
    await until(() => peers.some((peer) => peer.received() !== ''))
    for (const peer of peers) peer.socket.destroy()
    if (peers.some((peer) => peer.received().includes('body_timeout'))) break
  }
})
