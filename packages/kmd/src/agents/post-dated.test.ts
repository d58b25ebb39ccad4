/** Post-dated payments are refused, even while the daemon's node does not respond. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AlgodError } from '@latchkey/algod'
import { Bytes, Network } from '@latchkey/algorand'
import type { NodeClient } from '../api/NodeClient.js'
import { parametersOf, unusedNode } from '../testing/TestApp.test.helper.js'
import { limit, network, openAgents, pay } from './AgentFixture.test.helper.js'
import { ReservationKeeper } from './ReservationKeeper.js'

const round = 40_000_000n
const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** A node that responds or not, and counts its queries. */
function openNode(genesisHash = network) {
  const state = { isUp: true, asked: 0, round, genesisHash }
  const node: NodeClient = {
    ...unusedNode,
    parameters: async () => {
      state.asked++
      if (!state.isUp) throw new AlgodError('unreachable', 'no node responds')
      return parametersOf(Bytes.fromBase64(state.genesisHash)!, { lastRound: state.round })
    },
    blockTransactionIds: async () => [],
  }
  return { state, node }
}

function open(t: TestContext, directory?: string) {
  const fixture = openAgents(t, directory)
  const { state, node } = openNode()
  fixture.agents.useNode(() => node)
  const signAt = (token: string, firstValid: bigint) =>
    fixture.sign(token, pay(1n, { fv: firstValid, lv: firstValid + 1_000n }))
  return { ...fixture, nodeState: state, node, signAt }
}

const far = round + 40_000_000n

test('the first request after a start asks the node, and a payment far ahead is refused', async (t) => {
  const { create, signAt, nodeState } = open(t)
  const { token } = await create([limit('total', 100n)])
  await assert.rejects(signAt(token, far), { code: 'agent_validity_too_long' })
  await signAt(token, round)
  await signAt(token, round + 1_000n)
  await assert.rejects(signAt(token, round + 1_002n), { code: 'agent_validity_too_long' })
  assert.equal(nodeState.asked, 1)
})

test('nothing is signed while the node has never responded, and it is not asked for every request', async (t) => {
  const { create, signAt, nodeState, agents, clock } = open(t)
  const { id, token } = await create([limit('total', 100n)])
  nodeState.isUp = false
  for (const first of [far, round, 1n]) {
    await assert.rejects(signAt(token, first), { code: 'agent_round_unknown', status: 503 })
  }
  assert.equal(nodeState.asked, 1)
  const decision = agents.test(id, pay(1n))
  assert.equal(decision.type === 'refused' && decision.refusal.code, 'agent_round_unknown')
  nodeState.isUp = true
  clock.nowMs += 2_000
  await signAt(token, round)
})

test('the last round survives a restart while the node does not respond', async (t) => {
  const before = open(t)
  const { token } = await before.create([limit('total', 100n)])
  await before.signAt(token, round)
  await before.close()
  const { signAt, nodeState, clock } = open(t, before.directory)
  nodeState.isUp = false
  clock.nowMs += hourMs
  await signAt(token, round + 1_200n)
  await assert.rejects(signAt(token, far), { code: 'agent_validity_too_long' })
  await assert.rejects(signAt(token, round + 2_900n), { code: 'agent_validity_too_long' })
})

test('while the node is away for days, payments can neither be dated far ahead nor be refused for the time', async (t) => {
  const { create, signAt, nodeState, clock } = open(t)
  const { token } = await create([limit('total', 100n)])
  await signAt(token, round)
  nodeState.isUp = false
  clock.nowMs += 30 * dayMs
  // A round takes 2.8 seconds or slightly more.
  const current = round + BigInt(Math.floor((30 * dayMs) / 2_850))
  await signAt(token, current)
  const tenHours = BigInt(Math.floor((10 * hourMs) / 2_800))
  const latest = round + BigInt(Math.floor((30 * dayMs) / 2_800)) + tenHours
  await assert.rejects(signAt(token, latest), { code: 'agent_validity_too_long' })
})

test('a lower round reported by the node replaces the last one', async (t) => {
  const { create, signAt, nodeState, agents, node } = open(t)
  const { token } = await create([limit('total', 100n)])
  nodeState.round = far
  await signAt(token, far)
  nodeState.round = round
  await new ReservationKeeper({ agents, node: () => node, onFailure: assert.ifError }).run()
  await assert.rejects(signAt(token, far + 1n), { code: 'agent_validity_too_long' })
})

test('without a node, or with one of another network, the rounds of a payment are unknown', async (t) => {
  const { create, signAt, agents } = open(t)
  const { token } = await create([limit('total', 100n)])
  const { node: other, state } = openNode(Network.mainnet.genesisHash)
  agents.useNode(() => other)
  await signAt(token, far)
  state.isUp = false
  await signAt(token, far)
  agents.useNode(() => undefined)
  await signAt(token, far)
})

test('a node replaced by one of another network that does not respond refuses payments', async (t) => {
  const { create, signAt, agents } = open(t)
  const { token } = await create([limit('total', 100n)])
  const { node: other } = openNode(Network.mainnet.genesisHash)
  agents.useNode(() => other)
  await signAt(token, far)
  const { node: third, state } = openNode()
  state.isUp = false
  agents.useNode(() => third)
  await assert.rejects(signAt(token, far), { code: 'agent_round_unknown' })
})

test('on a local network, whose rounds are as fast as payments, no node is asked', async (t) => {
  const { create, agents, sign } = open(t)
  const local = Buffer.alloc(32, 7).toString('base64')
  const { node, state } = openNode(local)
  agents.useNode(() => node)
  const rules = { networks: [local] }
  const { token } = await create([{ ...limit('total', 100n), network: local }], rules)
  await sign(token, pay(1n, { gh: Bytes.fromBase64(local)!, fv: far, lv: far }))
  assert.equal(state.asked, 0)
})
