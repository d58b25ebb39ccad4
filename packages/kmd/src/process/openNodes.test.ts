/**
 * If nodes must agree, one node that claims to be far ahead cannot return reservations or allow post-dated payments.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Transaction } from '@latchkey/algorand'
import { limit, network, openAgents, pay, uptoTerms, usdc } from '../agents/AgentFixture.test.helper.js'
import { ReservationKeeper } from '../agents/ReservationKeeper.js'
import { openNodes } from './openNodes.js'

const timeout = 60_000

type State = {
  round: number
  genesisHash?: string
  isDown?: boolean
  ids?: readonly string[]
  txns?: readonly object[]
}

/** A node with the same transactions in each block up to its round. */
async function startNode(t: TestContext, state: State) {
  const server = createServer((request, response) => {
    const block = /^\/v2\/blocks\/(\d+)(\/txids|\?format=json)/.exec(request.url ?? '')
    const send = (status: number, json: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
    }
    // Rejects only block queries: the round is known by then.
    if (block !== null && state.isDown) return send(500, { message: 'later' })
    if (block !== null && Number(block[1]) > state.round) return send(404, { message: 'no such block' })
    if (block?.[2] === '/txids') return send(200, { blockTxids: state.ids ?? [] })
    if (block !== null) return send(200, { block: { txns: state.txns?.map((txn) => ({ txn })) ?? [] } })
    const { round, genesisHash = network } = state
    const ids = { 'genesis-id': 'testnet-v1.0', 'genesis-hash': genesisHash, 'consensus-version': 'v' }
    send(200, { ...ids, 'last-round': round, 'min-fee': 1000, fee: 0 })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  t.after(() => server.closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function open(t: TestContext, liar: State, honest: State) {
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

test('a reservation is returned once all nodes are past its last round', { timeout }, async (t) => {
  const honest = { round: 10 }
  const { keeper, token, sign, left } = await open(t, { round: 40_000_000 }, honest)
  await sign(token, pay(60n, { fv: 5n, lv: 20n }))
  await keeper.run()
  assert.equal(left(), 40n, 'one node says that it is far ahead')
  honest.round = 30
  // A node that does not respond in time, for example on an overloaded machine, is asked again.
  for (let run = 0; run < 10 && left() !== 100n; run++) await keeper.run()
  assert.equal(left(), 100n)
})

test('a node that does not respond for a while is asked again, and the reservation is then returned', {
  timeout,
}, async (t) => {
  const honest: State = { round: 30 }
  const { keeper, token, sign, left } = await open(t, { round: 30 }, honest)
  await sign(token, pay(60n, { fv: 5n, lv: 20n }))
  honest.isDown = true
  await keeper.run()
  assert.equal(left(), 40n)
  honest.isDown = false
  await keeper.run()
  assert.equal(left(), 100n)
})

test('a payment that one node has in a block is not returned', { timeout }, async (t) => {
  const honest: State = { round: 30 }
  const { keeper, token, sign, left } = await open(t, { round: 30 }, honest)
  const payment = pay(60n, { fv: 5n, lv: 20n })
  await sign(token, payment)
  honest.ids = [Transaction.id(payment.bytes)]
  await keeper.run()
  assert.equal(left(), 40n)
})

test('a payment cannot be post-dated because of one node', { timeout }, async (t) => {
  const { token, sign } = await open(t, { round: 40_000_000 }, { round: 10 })
  await assert.rejects(sign(token, pay(1n, { fv: 39_000_000n, lv: 39_000_100n })), { code: 'agent_validity_too_long' })
  await sign(token, pay(1n, { fv: 10n, lv: 20n }))
})

test('nodes of different networks agree on nothing', { timeout }, async (t) => {
  const { token, sign } = await open(t, { round: 10 }, { round: 10, genesisHash: Buffer.alloc(32).toString('base64') })
  await assert.rejects(sign(token, pay(1n, { fv: 10n, lv: 20n })), { code: 'agent_round_unknown' })
})

test('a witness that is the node itself is rejected', () => {
  const node = { url: 'http://127.0.0.1:1' }
  assert.throws(() => openNodes(node, [node]), { code: 'invalid_options' })
  assert.throws(() => openNodes(node, [{ url: 'nonsense' }]), { code: 'invalid_options' })
})

test('a charge that only one of the nodes reports gives nothing back', { timeout }, async (t) => {
  const liar: State = { round: 20 }
  const honest: State = { round: 20 }
  const { keeper, create, signUpto, agents } = await open(t, liar, honest)
  const { id, token } = await create([limit('total', 100n, usdc)], { name: 'metered' })
  const left = (): bigint => agents.budget(id)[0]!.left
  const terms = uptoTerms(60n, { lastValid: 50n })
  await signUpto(token, terms)
  const { payer: snd, payTo: arcv } = terms
  const own = { type: 'axfer', snd, arcv, xaid: Number(usdc), lv: 50, lx: Buffer.from(terms.lease).toString('base64') }
  liar.txns = [{ ...own, aamt: 1 }]
  await keeper.run()
  assert.equal(left(), 40n, 'one node reports a charge')
  honest.txns = [{ ...own, aamt: 45 }]
  await keeper.run()
  assert.equal(left(), 40n, 'the nodes report different charges')
  liar.txns = honest.txns
  for (let run = 0; run < 10 && left() === 40n; run++) await keeper.run()
  assert.equal(left(), 55n)
})
