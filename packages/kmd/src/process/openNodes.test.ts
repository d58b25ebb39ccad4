/** One node that lies about being far ahead gives nothing back, and dates nothing ahead, where another one has to agree. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { limit, network, openAgents, pay } from '../agents/AgentFixture.test.helper.js'
import { ReservationKeeper } from '../agents/ReservationKeeper.js'
import { openNodes } from './openNodes.js'

const timeout = 60_000

/** A node with empty blocks up to its round. */
async function startNode(t: TestContext, state: { round: number; genesisHash?: string }) {
  const server = createServer((request, response) => {
    const block = /^\/v2\/blocks\/(\d+)\/txids/.exec(request.url ?? '')
    const send = (status: number, json: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
    }
    if (block !== null && Number(block[1]) > state.round) return send(404, { message: 'no such block' })
    if (block !== null) return send(200, { blockTxids: [] })
    const { round, genesisHash = network } = state
    const ids = { 'genesis-id': 'testnet-v1.0', 'genesis-hash': genesisHash, 'consensus-version': 'v' }
    send(200, { ...ids, 'last-round': round, 'min-fee': 1000, fee: 0 })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  t.after(() => server.closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function open(t: TestContext, liar: { round: number }, honest: { round: number; genesisHash?: string }) {
  const fixture = openAgents(t)
  const nodes = openNodes(await startNode(t, liar), [await startNode(t, honest)])
  t.after(nodes.close)
  const { agents } = fixture
  agents.useNode(() => nodes.ledger)
  const keeper = new ReservationKeeper({ agents, node: () => nodes.ledger, onFailure: assert.ifError })
  const { id, token } = await fixture.create([limit('total', 100n)])
  const left = (): bigint => agents.budget(id)[0]!.left
  return { ...fixture, keeper, token, left }
}

test('a reservation is given back once all nodes are past its last round', { timeout }, async (t) => {
  const honest = { round: 10 }
  const { keeper, token, sign, left } = await open(t, { round: 40_000_000 }, honest)
  await sign(token, pay(60n, { fv: 5n, lv: 20n }))
  await keeper.run()
  assert.equal(left(), 40n, 'one node says that it is far ahead')
  honest.round = 30
  // A node that does not answer in time, as on an overloaded machine, is asked again.
  for (let run = 0; run < 10 && left() !== 100n; run++) await keeper.run()
  assert.equal(left(), 100n)
})

test('a payment cannot be dated ahead by the word of one node', { timeout }, async (t) => {
  const { token, sign } = await open(t, { round: 40_000_000 }, { round: 10 })
  await assert.rejects(sign(token, pay(1n, { fv: 39_000_000n, lv: 39_000_100n })), { code: 'agent_validity_too_long' })
  await sign(token, pay(1n, { fv: 10n, lv: 20n }))
})

test('nodes of different networks agree about nothing', { timeout }, async (t) => {
  const { token, sign } = await open(t, { round: 10 }, { round: 10, genesisHash: Buffer.alloc(32).toString('base64') })
  await assert.rejects(sign(token, pay(1n, { fv: 10n, lv: 20n })), { code: 'agent_round_unknown' })
})

test('a witness that is the node itself is refused', () => {
  const node = { url: 'http://127.0.0.1:1' }
  assert.throws(() => openNodes(node, [node]), { code: 'invalid_options' })
  assert.throws(() => openNodes(node, [{ url: 'nonsense' }]), { code: 'invalid_options' })
})
