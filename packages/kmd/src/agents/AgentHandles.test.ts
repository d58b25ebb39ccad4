import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AgentHandles, maxHandles } from './AgentHandles.js'
import { AgentPresence } from './AgentPresence.js'

const session = (agentId: string, key: number) => ({
  agentId,
  sealingKey: Buffer.alloc(32, key),
  verifier: Buffer.alloc(32, key),
})

test('a handle is bound to the token, not only to the agent', () => {
  const handles = new AgentHandles({ lifetimeMs: 1_000 })
  const token = handles.open(session('a', 1))
  handles.require(session('a', 1), token)
  // Like after a token rotation: the agent's id is the same.
  assert.throws(() => handles.require(session('a', 2), token), { code: 'handle_unknown' })
  assert.throws(() => handles.release(session('a', 2), token), { code: 'handle_unknown' })
  assert.throws(() => handles.require(session('b', 1), token), { code: 'handle_unknown' })
  handles.require(session('a', 1), token)
  handles.releaseAgent('a')
  assert.throws(() => handles.require(session('a', 1), token), { code: 'handle_unknown' })
})

test('expired handles are dropped first, then the oldest, and only those of one agent', () => {
  let now = 0
  const handles = new AgentHandles({ lifetimeMs: 1_000, maxLifetimeMs: 1_500, now: () => now })
  const [mine, other] = [session('a', 1), session('b', 2)]
  const kept = handles.open(other)
  const [first, second] = [handles.open(mine), handles.open(mine)]
  for (let count = 2; count <= maxHandles; count++) handles.open(mine)
  assert.equal(handles.size, maxHandles + 1)
  assert.throws(() => handles.require(mine, first), { code: 'handle_unknown' })
  handles.require(mine, second)
  now = 900
  handles.renew(mine, second)
  now = 1_400
  assert.equal(handles.expiresSeconds(mine, second), 0, 'what the longest lifetime leaves')
  assert.throws(() => handles.require(other, kept), { code: 'handle_expired' })
  handles.open(mine)
  assert.equal(handles.size, 2)
  now = 1_501
  assert.throws(() => handles.require(mine, second), { code: 'handle_expired' })
  handles.configure({ lifetimeMs: 5 })
  const short = handles.open(mine)
  now += 6
  assert.throws(() => handles.require(mine, short), { code: 'handle_expired' })
})

test('the user of a connection is looked up once, and reported once an hour for each agent', async () => {
  let now = 1_000_000
  let lookUps = 0
  const told: string[] = []
  const presence = new AgentPresence({
    ...{ ownUser: 500, now: () => now, onSameUser: (agentId: string) => told.push(agentId) },
    userOf: async ({ remotePort }) => {
      lookUps++
      if (remotePort === 9) throw new Error('no table')
      return remotePort
    },
  })
  const ends = (remotePort: number) => ({
    ...{ localAddress: '127.0.0.1', localPort: 1, remoteAddress: '127.0.0.1', remotePort, descriptor: undefined },
  })
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  const [own, root, foreign, unknown] = [ends(500), ends(0), ends(1_000), ends(9)]
  for (const each of [own, own, own]) presence.used('a', each)
  presence.used('b', foreign)
  presence.used('c', unknown)
  presence.used('d', root)
  await settled()
  assert.equal(lookUps, 4)
  assert.deepEqual(told.sort(), ['a', 'd'])
  assert.deepEqual(presence.sameUserAgents().sort(), ['a', 'd'])
  assert.deepEqual(presence.of('b'), { ...presence.of('b'), lastUsedAtMs: now, isSameUser: false })
  presence.used('a', own)
  assert.equal(told.length, 2)
  now += 3_600_000
  presence.used('a', own)
  presence.used('a', own)
  assert.equal(told.length, 3)
  // Another agent on the same connection.
  presence.used('e', own)
  assert.equal(told.at(-1), 'e')
  assert.equal(presence.of('unknown'), undefined)
})
