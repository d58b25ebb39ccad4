/** Tests named token holders: how many connections each has, and what makes room for the owner. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RawHandler } from './Message.js'
import { get, type Peer, post, serve } from './Peer.test.helper.js'

/** `token: owner` is the owner's token, any other value that of a holder. /slow is answered at the end of the test. */
function service() {
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const counts = { slow: 0, refused: 0 }
  const large = Buffer.alloc(32 * 1024 * 1024)
  const handle: RawHandler = async (request) => {
    const token = request.header('token')
    if (request.target === '/unverified') {
      request.unverified?.()
      counts.slow++
      await released
    }
    if (token !== undefined && request.authenticated?.(token === 'owner' ? undefined : token) === false) {
      counts.refused++
      return { status: 503, headers: [], body: 'refused' }
    }
    if (request.method === 'POST') await request.body()
    if (request.target === '/slow') {
      counts.slow++
      await released
    }
    return { status: 200, headers: [], body: request.target === '/large' ? large : 'done' }
  }
  return { handle, release: () => release(), counts }
}

const limits = { connections: 16, headerBytes: 16_384 }
/** More peers than connections: only a few of them can reconnect between two requests of the owner. */
const [crowded, attackers] = [{ ...limits, connections: 64 }, 66]

async function served(peer: Peer, token: string): Promise<Peer> {
  peer.send(get('/', `token: ${token}`))
  await peer.until('done')
  return peer
}

async function until(isDone: () => boolean): Promise<void> {
  for (let waited = 0; !isDone(); waited += 5) {
    assert.ok(waited < 20_000, 'it does not happen')
    await sleep(5)
  }
}

async function countOpen(peers: readonly Peer[], expected: number): Promise<void> {
  let open = 0
  const closed = new Set<Peer>()
  for (const peer of peers) void peer.ended.then(() => closed.add(peer))
  await until(() => {
    open = peers.length - closed.size
    return open <= expected
  })
  await sleep(50)
  assert.equal(peers.length - closed.size, expected)
}

const hostile: [string, (token: string) => string][] = [
  ['send half a body', (token) => post('/', 'half', `token: ${token}`).slice(0, -2)],
  ['send half a request after a whole one', (token) => `${get('/', `token: ${token}`)}GET / HT`],
  ['stay idle', (token) => get('/', `token: ${token}`)],
  ['do not read a large response', (token) => get('/large', `token: ${token}`)],
  ['send far ahead', (token) => get('/', `token: ${token}`).repeat(2_000)],
  ['wait for an answer', (token) => get('/slow', `token: ${token}`)],
]

for (const [what, bytes] of hostile) {
  test(`the owner is answered while connections of one holder ${what}`, async (t) => {
    const { handle, release } = service()
    const { dial } = await serve(t, handle, { limits: crowded })
    t.after(release)
    let isOver = false
    t.after(() => {
      isOver = true
    })
    const attack = (at: number): void => {
      if (isOver) return
      const peer = dial()
      peer.socket.pause()
      peer.send(bytes('agent'))
      peer.socket.on('close', () => setTimeout(() => attack(at), 5 + ((at * 7) % 50)))
    }
    for (let at = 0; at < attackers; at++) attack(at)
    await sleep(50)
    for (let i = 0; i < 20; i++) (await served(dial(), 'owner')).socket.destroy()
  })
}

test('a holder has a quarter of the connections, and a new one closes the least recently used idle one', async (t) => {
  const { dial } = await serve(t, service().handle, { limits })
  const other = await served(dial(), 'other')
  const peers: Peer[] = []
  for (let i = 0; i < 6; i++) peers.push(await served(dial(), 'agent'))
  await countOpen(peers, 4)
  await Promise.all([peers[0]!.ended, peers[1]!.ended])
  await countOpen([other], 1)
})

test('a holder whose connections are all in use is refused, and others are not', async (t) => {
  const { handle, release, counts } = service()
  const { dial } = await serve(t, handle, { limits })
  const waiting = Array.from({ length: 4 }, () => dial())
  for (const peer of waiting) peer.send(get('/slow', 'token: agent'))
  await until(() => counts.slow === 4)
  const refused = dial()
  refused.send(get('/', 'token: agent'))
  await refused.until('refused')
  await served(dial(), 'other')
  release()
  for (const peer of waiting) await peer.until('done')
  refused.send(get('/', 'token: agent'))
  await refused.until('done')
})

test('holders share half of the connections, and one with few displaces one with many', async (t) => {
  const { handle, release, counts } = service()
  const { dial } = await serve(t, handle, { limits })
  t.after(release)
  const waiting = Array.from({ length: 8 }, () => dial())
  for (const [at, peer] of waiting.entries()) peer.send(get('/slow', `token: ${at < 4 ? 'one' : 'two'}`))
  await until(() => counts.slow === 8)
  await served(dial(), 'three')
  await countOpen(waiting, 7)
})

test('a running request of a holder makes room for newcomers if nothing else can', async (t) => {
  const { handle, release, counts } = service()
  const { dial } = await serve(t, handle, { limits })
  t.after(release)
  const peers = Array.from({ length: 16 }, () => dial())
  for (const [at, peer] of peers.entries()) peer.send(get('/slow', `token: ${at < 4 ? 'agent' : 'owner'}`))
  await until(() => counts.slow === 16)
  await served(dial(), 'owner')
  await countOpen(peers.slice(0, 4), 3)
  await countOpen(peers.slice(4), 12)
})

test('requests whose sender is being identified make room for others', async (t) => {
  const { handle, release, counts } = service()
  const { dial } = await serve(t, handle, { limits })
  t.after(release)
  for (let i = 0; i < 16; i++) dial().send(get('/unverified'))
  await until(() => counts.slow === 16)
  for (let i = 0; i < 16; i++) await served(dial(), 'owner')
})

test('a connection counts for the holder of its last token', async (t) => {
  const { dial } = await serve(t, service().handle, { limits })
  const peers = await Promise.all(Array.from({ length: 4 }, () => served(dial(), 'agent')))
  for (const peer of peers) {
    peer.send(get('/', 'token: owner'))
    await until(() => peer.received().split('done').length === 3)
  }
  const others = await Promise.all(Array.from({ length: 4 }, () => served(dial(), 'agent')))
  await countOpen([...peers, ...others], 8)
})
