import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConnectionEnds } from '@latchkey/http'
import { AgentPresence } from './AgentPresence.js'

const ends = (remotePort: number): ConnectionEnds => ({
  ...{ localAddress: '127.0.0.1', localPort: 7833, remoteAddress: '127.0.0.1', remotePort },
  descriptor: undefined,
})

function presence(user: number) {
  const state = { nowMs: 1_000_000, lookUps: 0, told: [] as string[] }
  const agents = new AgentPresence({
    userOf: async () => {
      state.lookUps++
      return user
    },
    ownUser: 1000,
    onSameUser: (agentId) => state.told.push(agentId),
    now: () => state.nowMs,
  })
  return { agents, state }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('for an agent with a thousand connections, one lookup is made per second', async () => {
  const { agents, state } = presence(1001)
  for (let port = 0; port < 1000; port++) agents.used('a', ends(port))
  agents.used('b', ends(1))
  await settled()
  assert.equal(state.lookUps, 2, 'one for each agent')
  const skipped = ends(7)
  agents.used('a', skipped)
  state.nowMs += 1_000
  agents.used('a', skipped)
  await settled()
  assert.equal(state.lookUps, 3, 'a connection that was passed over has its turn with a later request')
  state.nowMs += 10_000
  agents.used('a', skipped)
  await settled()
  assert.equal(state.lookUps, 3, 'each connection once')
})

test("an agent seen as the daemon's user is not looked up again before the next report", async () => {
  const { agents, state } = presence(1000)
  agents.used('a', ends(1))
  await settled()
  assert.deepEqual([state.told, agents.of('a')?.isSameUser], [['a'], true])
  state.nowMs += 60_000
  agents.used('a', ends(2))
  await settled()
  assert.deepEqual([state.lookUps, state.told], [1, ['a']])
  state.nowMs += 3_600_000
  agents.used('a', ends(3))
  await settled()
  assert.deepEqual([state.lookUps, state.told], [2, ['a', 'a']])
})

test('a clock that is set back does not stop lookups', async () => {
  const { agents, state } = presence(1001)
  agents.used('a', ends(1))
  state.nowMs -= 500_000
  agents.used('a', ends(2))
  await settled()
  assert.equal(state.lookUps, 2)
})

test('a response waits for the lookup of its connection, and only for that', async () => {
  let answer = (_user: number): void => {}
  const userOf = (): Promise<number> =>
    new Promise((resolve) => {
      answer = resolve
    })
  const agents = new AgentPresence({ userOf, ownUser: 1000, now: () => 1_000_000 })
  const connection = ends(1)
  const lookUp = agents.used('a', connection)
  assert.ok(lookUp)
  assert.equal(agents.used('a', connection), undefined, 'a later request of the connection')
  assert.equal(agents.used('a', ends(2)), undefined, 'another connection in the same second')
  let isDone = false
  void lookUp.then(() => {
    isDone = true
  })
  await settled()
  assert.equal(isDone, false)
  answer(1000)
  await lookUp
  assert.equal(agents.of('a')?.isSameUser, true)
})

test('a lookup without a result delays a response for a limited time', async () => {
  const agents = new AgentPresence({ userOf: () => new Promise(() => {}), ownUser: 1000 })
  await agents.used('a', ends(1))
  assert.equal(agents.of('a')?.isSameUser, false)
})
