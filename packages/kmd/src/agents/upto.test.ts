/** Authorizations for prices by usage: the maximum is reserved, and the charge is found on the ledger. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AlgodError, type LeasedTransaction } from '@latchkey/algod'
import { Bytes, Ed25519, Program, UptoProgram, type UptoTerms } from '@latchkey/algorand'
import type { Rules } from '@latchkey/kmd-api/rules'
import { approvalMember } from '../api/approvalOperations.js'
import type { NodeClient } from '../api/NodeClient.js'
import { parametersOf, unusedNode } from '../testing/TestApp.test.helper.js'
import {
  count,
  key,
  limit,
  network,
  openAgents,
  payee,
  stranger,
  transfer,
  uptoTerms,
  usdc,
} from './AgentFixture.test.helper.js'
import { ReservationKeeper } from './ReservationKeeper.js'

type Ledger = {
  lastRound: bigint
  genesisHash: Uint8Array
  blocks: Map<bigint, LeasedTransaction[]>
  missing: Set<bigint>
}

/** An agent with 100 units of USDC, a ledger, and a keeper that reads its blocks. */
async function open(t: TestContext, rules: Partial<Rules> = {}) {
  const fixture = openAgents(t)
  const genesisHash = Bytes.fromBase64(network)!
  const ledger: Ledger = { lastRound: 50n, genesisHash, blocks: new Map(), missing: new Set() }
  const failures: unknown[] = []
  const node: NodeClient = {
    ...unusedNode,
    parameters: async () => parametersOf(ledger.genesisHash, { lastRound: ledger.lastRound }),
    blockTransactionIds: async () => [],
    leasesInBlock: async (round) => {
      assert.ok(round > 0n && round <= ledger.lastRound, `block ${round} was asked for`)
      if (ledger.missing.has(round)) throw new AlgodError('not_found', 'no such block')
      return ledger.blocks.get(round) ?? []
    },
  }
  const newKeeper = (other: Partial<NodeClient> = {}): ReservationKeeper => {
    const asked = { ...node, ...other }
    return new ReservationKeeper({
      agents: fixture.agents,
      node: () => asked,
      onFailure: (error) => failures.push(error),
    })
  }
  fixture.agents.useNode(() => node)
  const { id, token } = await fixture.create([limit('total', 100n, usdc), count('total', 10)], rules)
  const left = (): bigint[] => fixture.agents.budget(id).map((use) => use.left)
  return { ...fixture, ledger, keeper: newKeeper(), newKeeper, id, token, left, failures, node }
}

/** The transaction of a block that charges an authorization. */
function charge(terms: UptoTerms, amount: bigint, members: Partial<LeasedTransaction> = {}): LeasedTransaction {
  const { payer: sender, payTo: receiver, assetId, lastValid } = terms
  const lease = Bytes.toBase64(terms.lease)
  return { sender, lease, lastValid, isAssetTransfer: true, receiver, assetId, amount, ...members }
}

function lastRecord({ database }: Pick<Awaited<ReturnType<typeof open>>, 'database'>): string {
  const sql = 'SELECT record FROM audit ORDER BY number DESC LIMIT 1'
  return (database.statement(sql).get() as { record: string }).record
}

test('the daemon signs its own program, and the maximum counts once', async (t) => {
  const fixture = await open(t)
  const { signUpto, token, left } = fixture
  const terms = uptoTerms(60n)
  const signature = await signUpto(token, terms)
  assert.ok(Ed25519.verify(signature, Program.bytesToSign(UptoProgram.build(terms)), key.publicKey))
  assert.deepEqual(left(), [40n, 9n])
  assert.match(
    lastRecord(fixture),
    /"amount":"60".*"scheme":"upto","text":"up to \$0\.00006".*"event":"authorization_signed","transaction":"upto-/,
  )
  assert.deepEqual(await signUpto(token, terms), signature)
  assert.deepEqual(left(), [40n, 9n], 'the same authorization again')
  await assert.rejects(signUpto(token, uptoTerms(41n)), { code: 'agent_limit_exceeded' })
  await signUpto(token, uptoTerms(40n))
  assert.deepEqual(left(), [0n, 8n])
})

test('every rule applies as to a payment of the maximum', async (t) => {
  const deny = { payees: { allow: 'all' as const, deny: [stranger.address] } }
  const { signUpto, token, create } = await open(t, { ...deny, maxValidRounds: 200 })
  const refused: [string, UptoTerms][] = [
    ['agent_payee_denied', uptoTerms(1n, { payTo: stranger.address, facilitator: payee.address })],
    ['agent_asset_without_limit', uptoTerms(1n, { assetId: usdc + 1n })],
    ['agent_network_forbidden', uptoTerms(1n, { genesisHash: new Uint8Array(32).fill(7) })],
    ['agent_transaction_forbidden', uptoTerms(1n, { payer: payee.address, payTo: key.address })],
    ['agent_transaction_forbidden', uptoTerms(1n, { facilitator: key.address })],
    ['agent_transaction_forbidden', uptoTerms(1n, { payTo: key.address })],
    ['agent_transaction_forbidden', uptoTerms(0n)],
    ['agent_transaction_forbidden', uptoTerms(1n, { assetId: 0n })],
    ['agent_transaction_forbidden', uptoTerms(2n ** 63n)],
    ['agent_validity_too_long', uptoTerms(1n, { lastValid: 251n })],
    ['agent_validity_too_long', uptoTerms(1n, { lastValid: 49n })],
  ]
  for (const [code, terms] of refused) await assert.rejects(signUpto(token, terms), { code })
  await signUpto(token, uptoTerms(1n, { lastValid: 250n }))
  const few = await create([limit('day', 100n, usdc), limit('payment', 5n, usdc)], { name: 'few' })
  await assert.rejects(signUpto(few.token, uptoTerms(6n)), { code: 'agent_limit_exceeded' })
  const named = await create([limit('day', 100n, usdc)], {
    name: 'named',
    payees: { allow: [stranger.address], deny: [] },
  })
  await assert.rejects(signUpto(named.token, uptoTerms(6n)), { code: 'agent_payee_unknown' })
})

test('the charge counts as soon as a block has it, and the rest is given back', async (t) => {
  const fixture = await open(t)
  const { signUpto, token, left, ledger, keeper, failures } = fixture
  const [first, second] = [uptoTerms(60n), uptoTerms(30n)]
  await signUpto(token, first)
  await signUpto(token, second)
  await keeper.run()
  assert.deepEqual(left(), [10n, 8n])
  ledger.lastRound = 60n
  ledger.blocks.set(55n, [charge(first, 7n)])
  await keeper.run()
  assert.deepEqual(left(), [63n, 8n])
  assert.match(
    lastRecord(fixture),
    /"amount":"7".*"maximum":"60".*"returned":"53","round":"55".*"event":"authorization_settled","transaction":"upto-[A-Z2-7]{52}"/,
  )
  ledger.blocks.set(58n, [charge(second, 30n)])
  await keeper.run()
  assert.deepEqual(left(), [63n, 8n], 'a block that was read is not read again')
  await fixture.newKeeper().run()
  assert.deepEqual(left(), [63n, 8n], 'all of it was used')
  await signUpto(token, first)
  assert.deepEqual(left(), [63n, 8n], 'signed again, it cannot be charged again')
  ledger.lastRound = 1_000n
  await keeper.run()
  assert.deepEqual(left(), [63n, 8n])
  assert.deepEqual(failures, [])
})

test('sums after a restart are those of the charges', async (t) => {
  const fixture = await open(t)
  const { signUpto, token, ledger, keeper, directory, id } = fixture
  const terms = uptoTerms(60n)
  await signUpto(token, terms)
  await signUpto(token, uptoTerms(20n))
  ledger.blocks.set(50n, [charge(terms, 0n)])
  await keeper.run()
  assert.deepEqual(fixture.left(), [80n, 8n], 'a charge of 0 is a payment, too')
  await fixture.close()
  const { agents } = openAgents(t, directory)
  assert.deepEqual(
    agents.budget(id).map((use) => use.left),
    [80n, 8n],
  )
})

test('an authorization without a charge is given back once no block can have one', async (t) => {
  const fixture = await open(t)
  const { signUpto, token, left, ledger, keeper } = fixture
  await signUpto(token, uptoTerms(60n))
  for (const round of [99n, 100n, 109n]) {
    ledger.lastRound = round
    await keeper.run()
    assert.deepEqual(left(), [40n, 9n], `at round ${round}`)
  }
  ledger.lastRound = 110n
  await keeper.run()
  assert.deepEqual(left(), [100n, 10n])
  assert.match(lastRecord(fixture), /"event":"reservation_returned".*"transaction":"upto-[A-Z2-7]{52}"/)
})

test('a transaction that is not the charge decides nothing before the end', async (t) => {
  const { signUpto, sign, token, left, ledger, keeper } = await open(t)
  const terms = uptoTerms(60n)
  await signUpto(token, terms)
  // The agent's own transaction with the lease, which ends before the authorization does.
  await sign(token, transfer(1n, { lx: terms.lease, fv: 50n, lv: 60n, fee: 0n }))
  const others = [
    charge(terms, 1n, { lastValid: 60n }),
    charge(terms, 1n, { sender: stranger.address }),
    charge(terms, 1n, { receiver: stranger.address }),
    charge(terms, 1n, { assetId: usdc + 1n }),
    charge(terms, 61n),
    charge(terms, 0n, { isAssetTransfer: false, receiver: undefined, assetId: 0n }),
    charge(uptoTerms(60n), 1n),
  ]
  ledger.blocks.set(60n, others)
  ledger.blocks.set(90n, [charge(terms, 45n)])
  ledger.lastRound = 69n
  await keeper.run()
  assert.deepEqual(left(), [39n, 8n])
  ledger.lastRound = 90n
  await keeper.run()
  assert.deepEqual(left(), [55n, 9n], 'the charge after them counts')
})

test('without the blocks, with another network or a failing node, the maximum stays reserved', async (t) => {
  const { signUpto, token, left, ledger, newKeeper, node, failures } = await open(t)
  await signUpto(token, uptoTerms(60n))
  ledger.lastRound = 1_000n
  const genesisHash = ledger.genesisHash
  const replaced = async (round: bigint): Promise<LeasedTransaction[]> => {
    if (round === 70n) ledger.genesisHash = new Uint8Array(32)
    return []
  }
  const failing = (code: 'no_quorum' | 'too_large' | 'unreachable') => async () => {
    throw new AlgodError(code, 'no')
  }
  for (const leasesInBlock of [replaced, failing('no_quorum'), failing('too_large'), failing('unreachable')]) {
    const keeper = newKeeper({ leasesInBlock })
    await keeper.run()
    ledger.genesisHash = genesisHash
    await keeper.run()
    assert.deepEqual(left(), [40n, 9n])
  }
  ledger.missing.add(75n)
  await newKeeper().run()
  await newKeeper({ leasesInBlock: failing('no_quorum') }).run()
  assert.deepEqual(left(), [40n, 9n])
  ledger.missing.clear()
  assert.equal(await node.leasesInBlock(75n).then((list) => list.length), 0)
  await newKeeper().run()
  assert.deepEqual(left(), [100n, 10n], 'a node that has all blocks decides')
  assert.deepEqual(failures, [])
})

test('blocks of a ledger that started again are read again', async (t) => {
  const elsewhere = Buffer.alloc(32, 9)
  const fixture = await open(t)
  const { ledger, create, signUpto, keeper, agents } = fixture
  ledger.genesisHash = elsewhere
  const own = { ...limit('total', 100n, usdc), network: elsewhere.toString('base64') }
  const local = await create([own], { name: 'local', networks: [own.network] })
  const left = (): bigint => agents.budget(local.id)[0]!.left
  const terms = uptoTerms(60n, { genesisHash: elsewhere, lastValid: 1_030n })
  await signUpto(local.token, terms)
  await keeper.run()
  assert.equal(left(), 40n)
  ledger.lastRound = 40n
  ledger.blocks.set(35n, [charge(terms, 5n)])
  await keeper.run()
  assert.equal(left(), 95n)
})

test('many authorizations of many agents are decided over several runs', async (t) => {
  const { create, signUpto, agents, ledger, keeper } = await open(t)
  const genesisHash = Buffer.alloc(32, 9)
  ledger.genesisHash = genesisHash
  const own = { ...limit('total', 1_000n, usdc), network: genesisHash.toString('base64') }
  const ids: string[] = []
  for (let number = 0; number < 4; number++) {
    const { id, token } = await create([own], { name: `agent ${number}`, networks: [own.network] })
    ids.push(id)
    const lastValid = 1_050n + BigInt(1_100 * number)
    for (let n = 0; n < 3; n++) await signUpto(token, uptoTerms(100n, { genesisHash, lastValid }))
  }
  ledger.lastRound = 9_000n
  await keeper.run()
  assert.equal(agents.budget(ids[3]!)[0]!.left, 700n, 'one run reads a limited number of blocks')
  for (let run = 0; run < 3; run++) await keeper.run()
  for (const id of ids) assert.equal(agents.budget(id)[0]!.left, 1_000n, id)
})

test('the owner approves "up to" the maximum, by the rule that was shown', async (t) => {
  const ask = {
    above: [{ network, assetId: usdc, amount: 10n }],
    overLimit: false,
    unknownPayee: false,
    otherTypes: false,
  }
  const { signUpto, token, approvals, agents, left, audit } = await open(t, { ask })
  const terms = uptoTerms(20n)
  const claim = { url: 'https://shop.example/chat' }
  const actor = { type: 'owner' } as const
  await assert.rejects(signUpto(token, terms, claim), { code: 'agent_approval_required' })
  const [asked] = approvals.list({ onlyOpen: true })
  const shown = approvalMember(asked!, agents)
  assert.match(
    shown.summary,
    /^shopper wants to pay up to \$0\.00002 to .* for https:\/\/shop\.example\/chat \(not checked\)$/,
  )
  assert.equal(shown.transaction_id, UptoProgram.idOf(terms.lease))
  assert.deepEqual(shown.rules, ['ask above $0.00001'])
  assert.match(shown.description.join('\n'), /charges what is used, once, until round 100, and never more/)
  await approvals.approve(asked!.id, actor)
  await assert.rejects(signUpto(token, uptoTerms(20n), claim), { code: 'agent_approval_required' }, 'another one')
  await signUpto(token, terms, claim)
  assert.deepEqual(left(), [80n, 9n])
  const [other] = approvals.list({ onlyOpen: true })
  await approvals.deny(other!.id, actor)
  await assert.rejects(signUpto(token, uptoTerms(30n), claim), { code: 'agent_approval_denied' }, 'the same purpose')
  const { records } = await audit.search({ events: ['approval_approved'], count: 10 })
  assert.equal(records[0]?.transaction, UptoProgram.idOf(terms.lease))
})
