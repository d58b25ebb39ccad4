/** Tests which connection a full server closes for a new one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BodyError } from './BodyReader.js'
import type { RawHandler } from './Message.js'
import { get, type Peer, post, serve } from './Peer.test.helper.js'

/** `token` marks a valid token. /slow is answered on demand, and the body of /large does not fit into a socket. */
function service() {
  let answer = (): void => {}
  let slow = 0
  const released = new Promise<void>((resolve) => {
    answer = resolve
  })
  const large = Buffer.alloc(32 * 1024 * 1024)
  const handle: RawHandler = async (request) => {
    if (request.header('token') === 'valid') request.authenticated?.()
    else if (request.target === '/private') return { status: 401, headers: [], body: '' }
    if (request.method === 'POST') await request.body()
    if (request.target === '/slow') {
      slow++
      await released
    }
    return { status: 200, headers: [], body: request.target === '/large' ? large : 'done' }
  }
  return { handle, answer: () => answer(), slowCount: () => slow }
}

/** Waits for the connections that must be closed, and checks that the others are open. */
async function assertClosed(peers: readonly Peer[], expected: readonly boolean[]): Promise<void> {
  await Promise.all(peers.filter((_, at) => expected[at]).map(({ ended }) => ended))
  const isClosed = ({ ended }: Peer): Promise<boolean> =>
    Promise.race([ended.then(() => true), sleep(50).then(() => false)])
  assert.deepEqual(await Promise.all(peers.map(isClosed)), expected)
}

async function connected(peer: Peer): Promise<Peer> {
  if (peer.socket.connecting) await new Promise((resolve) => peer.socket.once('connect', resolve))
  return peer
}

async function served(peer: Peer, ...headers: string[]): Promise<Peer> {
  peer.send(get('/', ...headers))
  await peer.until('done')
  return peer
}

const limits = { connections: 4, headerBytes: 16_384 }

test('the connection that has been idle longest makes room', async (t) => {
  const { dial } = await serve(t, service().handle, { limits })
  const silent = await connected(dial())
  const first = await served(dial())
  const second = await served(dial())
  const third = await served(dial())
  await served(dial())
  await assertClosed([silent, first, second, third], [true, false, false, false])
  // After another use, the first connection is no longer the oldest.
  first.send(get('/again'))
  while (first.received().split('done').length < 3) await sleep(5)
  await served(dial())
  await assertClosed([first, second, third], [false, true, false])
})

const unfinished: [string, string][] = [
  ['sent nothing', ''],
  ['sent half a head', 'GET / HT'],
  ['sent half a body', post('/', 'half').slice(0, -2)],
  ['sent half a chunk', get('/', 'Transfer-Encoding: chunked').replace('GET', 'POST')],
  ['was refused', get('/private')],
  ['asked without a token', get('/')],
  ['does not read its response', get('/large')],
  ['sends ahead', get('/').repeat(20_000)],
]

for (const [what, bytes] of unfinished) {
  test(`a peer without a token that ${what} is closed before one with a token`, async (t) => {
    const { dial } = await serve(t, service().handle, { limits })
    const known = await Promise.all([1, 2, 3].map(() => served(dial(), 'token: valid')))
    const other = await connected(dial())
    if (what === 'does not read its response') other.socket.pause()
    other.send(bytes)
    await sleep(50)
    for (let round = 0; round < 5; round++) await connected(dial())
    await served(dial(), 'token: valid')
    other.socket.resume()
    await assertClosed([other, ...known], [true, false, false, false])
    for (const peer of known) peer.send(get('/once more', 'token: valid'))
  })
}

test('a running request is never closed for another connection', async (t) => {
  const { handle, answer, slowCount } = service()
  const { dial } = await serve(t, handle, { limits })
  const waiting = [1, 2, 3, 4].map(() => dial())
  for (const peer of waiting) peer.send(get('/slow'))
  while (slowCount() < 4) await sleep(5)
  await dial().ended
  answer()
  for (const peer of waiting) await peer.until('done')
})

test('idle connections with a token make room for new ones, but only an eighth of them', async (t) => {
  const { dial } = await serve(t, service().handle, { limits: { ...limits, connections: 16 } })
  const known: Peer[] = []
  for (let i = 0; i < 16; i++) known.push(await served(dial(), 'token: valid'))
  for (let i = 0; i < 30; i++) await connected(dial())
  await assertClosed(known, [true, true, ...Array(14).fill(false)])
  await served(dial(), 'token: valid')
})

test('a response with 401 revokes the standing of the connection', async (t) => {
  let isValid = true
  const handle: RawHandler = (request) => {
    if (!isValid) return { status: 401, headers: [], body: 'refused' }
    request.authenticated?.()
    return { status: 200, headers: [], body: 'done' }
  }
  const { dial } = await serve(t, handle, { limits })
  const revoked = await Promise.all([1, 2, 3, 4].map(() => served(dial())))
  isValid = false
  for (const peer of revoked) {
    peer.send(get('/'))
    await peer.until('refused')
  }
  isValid = true
  for (let i = 0; i < 4; i++) await served(dial())
  await assertClosed(revoked, [true, true, true, true])
})

test('a handler can set a lower limit for a body', async (t) => {
  const handle: RawHandler = async (request) => {
    const body = await Promise.resolve()
      .then(() => request.body(10))
      .catch((error: BodyError) => error.code)
    return { status: 200, headers: [], body: `<${body}>` }
  }
  const { dial } = await serve(t, handle)
  const peer = dial()
  peer.send(post('/', '0123456789'))
  await peer.until('<0123456789>')
  const long = dial()
  long.send(post('/', '0123456789a'))
  await long.until('<body_too_large>')
  const announced = dial()
  announced.send(get('/', 'Content-Length: 11').replace('GET', 'POST'))
  await announced.until('<body_too_large>')
})

test('requests sent far ahead wait for their turn, and others are served meanwhile', async (t) => {
  let served = 0
  const handle: RawHandler = (request) => {
    served++
    return { status: 200, headers: [], body: request.target }
  }
  const { dial } = await serve(t, handle)
  // Both ends are in this process. Together they stay below a limit of 256 open files.
  const ahead = Array.from({ length: 80 }, () => dial())
  const count = 500
  for (const peer of ahead) peer.send(get('/a').repeat(count))
  while (served === 0) await sleep(1)
  const other = dial()
  other.send(get('/other'))
  await other.until('/other')
  assert.ok(served < (ahead.length * count) / 2, `${served} requests were served first`)
  for (const { socket } of ahead) socket.destroy()
})

test('all requests sent ahead are served, in pieces of any size', async (t) => {
  const { dial } = await serve(t, ({ target }) => ({ status: 200, headers: [], body: target }))
  const peer = dial()
  const count = 3000
  const bytes = Array.from({ length: count }, (_, at) => get(`/${at};`)).join('')
  for (let at = 0; at < bytes.length; at += 7919) peer.send(bytes.slice(at, at + 7919))
  await peer.until(`/${count - 1};`)
  const order = [...peer.received().matchAll(/\/([0-9]+);/g)].map(([, at]) => Number(at))
  assert.deepEqual(
    order,
    Array.from({ length: count }, (_, at) => at),
  )
})
