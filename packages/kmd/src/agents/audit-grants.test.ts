/** The audit log has everything that an agent was granted, and names the key that signed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address } from '@latchkey/algorand'
import type { Rules } from '@latchkey/kmd-api/rules'
import { count, keyOf, limit, network, openAgents, pay, payee, rulesOf, walletId } from './AgentFixture.test.helper.js'

const otherNetwork = Buffer.alloc(32, 7).toString('base64')

function addresses(length: number, first: number): string[] {
  return Array.from({ length }, (_, index) => {
    const bytes = Buffer.alloc(32)
    bytes.writeUInt32BE(first + index)
    return Address.encode(bytes)
  })
}

const ask = { above: [{ network, assetId: 0n, amount: 5n }], overLimit: true, unknownPayee: true, otherTypes: false }

test('a record of an agent has its applications, opt-ins, maximum fee, validity and approval rules', async (t) => {
  const { create, agents, audit } = openAgents(t)
  const items = (...ids: bigint[]) => ids.map((id) => ({ network, id }))
  const grant = { applications: items(7n, 8n), optIns: items(9n), ask, maxFeeMicroAlgos: 3_000n, maxValidRounds: 50 }
  const { id } = await create([limit('day', 100n)], grant)
  await agents.setRules(id, {
    rules: rulesOf([limit('day', 100n), count('hour', 3)], { ask: { ...ask, above: [], otherTypes: true } }),
  })
  const { records } = await audit.search({ count: 10, afterNumber: 0, events: ['agent_created', 'agent_changed'] })
  const [created, changed] = records.map(({ detail }) => detail!)
  assert.deepEqual(
    [created!['applications'], created!['opt_ins'], created!['max_fee'], created!['max_valid_rounds']],
    [['7', '8'], ['9'], '3000', '50'],
  )
  assert.deepEqual(created!['ask'], ['above 0.000005 ALGO', 'over-limit', 'unknown-payee'])
  assert.deepEqual(changed!['ask'], ['over-limit', 'unknown-payee', 'other-types'])
  assert.deepEqual([changed!['max_fee'], changed!['max_valid_rounds']], ['10000', '1000'])
  assert.equal('applications' in changed!, false)
})

test('with several networks, each rule names its own', async (t) => {
  const { create, audit } = openAgents(t)
  const grant: Partial<Rules> = {
    networks: [network, otherNetwork],
    applications: [{ network: otherNetwork, id: 7n }],
    dollars: [{ network: otherNetwork, id: 5n }],
    ask: { ...ask, above: [{ network: otherNetwork, assetId: 5n, amount: 1_000_000n }] },
  }
  await create([limit('day', 100n), { ...limit('day', 2_000_000n, 5n), network: otherNetwork }], grant)
  const [record] = (await audit.search({ count: 1, events: ['agent_created'] })).records
  assert.deepEqual(record!.detail!['limits'], [`0.0001 ALGO/day on ${network}`, `$2/day on ${otherNetwork}`])
  assert.deepEqual(record!.detail!['applications'], [`7 on ${otherNetwork}`])
  assert.deepEqual(record!.detail!['dollars'], [`5 on ${otherNetwork}`])
  assert.deepEqual(record!.detail!['ask'], [`above $1 on ${otherNetwork}`, 'over-limit', 'unknown-payee'])
})

test('no list of a grant is truncated, even of the largest one', async (t) => {
  const { create, agents, audit } = openAgents(t)
  const items = Array.from({ length: 100 }, (_, index) => ({ network, id: 2n ** 62n + BigInt(index) }))
  const payees = { allow: addresses(1_000, 1), deny: addresses(1_000, 100_000) }
  const limits = payees.allow.slice(0, 100).map((payee, index) => limit('day', BigInt(index), 2n ** 62n, payee))
  const above = items.map(({ id }) => ({ network, assetId: id, amount: 2n ** 62n }))
  const { id } = await create([...limits], { payees, applications: items, optIns: items, ask: { ...ask, above } })
  await agents.revoke(id)
  const { records } = await audit.search({ count: 10, afterNumber: 0 })
  for (const { detail } of records) {
    assert.deepEqual([detail!['pay_to'], detail!['denied']], [payees.allow, payees.deny])
    assert.deepEqual(
      ['limits', 'applications', 'opt_ins', 'ask'].map((name) => detail![name]!.length),
      [100, 100, 100, 102],
    )
  }
  assert.equal(records.length, 2)
  assert.equal((await audit.verify()).problem, undefined)
})

test('a truncated list states how many entries it omits, and the record still belongs to its agent', async (t) => {
  const { audit } = openAgents(t)
  const owner = { type: 'owner' } as const
  const cases = [
    { names: 1, length: 3_000, text: 'x' },
    { names: 40, length: 1_000, text: 'y'.repeat(30) },
    { names: 60, length: 1_000, text: '€'.repeat(1_000) },
    { names: 200, length: 1, text: 'z' },
  ]
  for (const { names, length, text } of cases) {
    const lists = Array.from({ length: names }, (_, index) => [`list_${index}`, Array(length).fill(text)] as const)
    const detail = { agent_id: 'agent-1', ...Object.fromEntries(lists) }
    await audit.record({ event: 'agent_changed', actor: owner, detail })
  }
  const { records } = await audit.search({ count: 10, afterNumber: 0, agent: 'agent-1' })
  assert.equal(records.length, cases.length)
  const [first, second, third, last] = records.map(({ detail }) => detail!)
  assert.deepEqual([first!['list_0']!.length, first!['list_0']!.at(-1)], [1_024, '… and 1977 more'])
  assert.match(String(second!['list_7']!.at(-1)), /^… and \d+ more$/)
  assert.match(String(third!['cut']), /longer than a record may be/)
  assert.equal(last!['…'], 'and 138 more members')
  assert.equal((await audit.verify()).problem, undefined)
})

test('a signature names the key that signed, and the sender if it is another account', async (t) => {
  const { agents, audit } = openAgents(t)
  const [sender, signer] = [keyOf(1), keyOf(2)]
  const keys = [sender, signer].map((one) => ({ ...one, privateKey: Buffer.from(one.privateKey) }))
  const grant = { name: 'rekeyed', walletId, keys, rules: rulesOf([limit('total', 100n)]), expiresAtMs: undefined }
  const session = agents.authenticate((await agents.create(grant)).token)!
  await agents.sign(session, pay(1n), signer.publicKey, {})
  await agents.sign(session, pay(1n), sender.publicKey, {})
  await assert.rejects(agents.sign(session, pay(1_000n), signer.publicKey, {}), { code: 'agent_limit_exceeded' })
  agents.release(session)
  const { records } = await audit.search({ count: 3, events: ['transaction_signed', 'signature_refused'] })
  assert.deepEqual(
    records.map(({ address, detail }) => [address, detail!['sender']]),
    [
      [signer.address, sender.address],
      [sender.address, undefined],
      [signer.address, sender.address],
    ],
  )
  const bySender = await audit.search({ count: 10, address: sender.address })
  assert.equal(bySender.records.length, 3, 'also found by the sender')
})

test('the rule of a signature states how many more limits it counts against', async (t) => {
  const { create, sign, audit } = openAgents(t)
  const periods = ['hour', 'day', 'week', '30days', 'total'] as const
  const limits = [...periods.map((per) => limit(per, 101n)), limit('day', 106n, 0n, payee.address)]
  const { token } = await create(limits)
  await sign(token, pay(1n))
  const [record] = (await audit.search({ count: 1, events: ['transaction_signed'] })).records
  assert.match(String(record!.detail!['rule']), /^(0\.000\d+ ALGO\/\w+, ){4}and 2 more limits$/)
})

test('a search returns a bounded part at once, and continues from there', async (t) => {
  const { audit } = openAgents(t)
  const detail = { agent_id: 'agent-1', pay_to: Array(1_000).fill('x'.repeat(200)) }
  for (let index = 0; index < 60; index++) {
    await audit.record({ event: 'agent_changed', actor: { type: 'owner' }, detail })
  }
  let beforeNumber: number | undefined
  const found: number[] = []
  let pages = 0
  do {
    const page = await audit.search({ count: 1_000, beforeNumber })
    found.push(...page.records.map(({ number }) => number))
    beforeNumber = page.continueFrom
    pages++
  } while (beforeNumber !== undefined)
  assert.deepEqual(
    found,
    Array.from({ length: 60 }, (_, index) => 60 - index),
  )
  assert.ok(pages > 1, 'in several parts')
})
