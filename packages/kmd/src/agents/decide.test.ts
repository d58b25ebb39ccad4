import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Bytes } from '@latchkey/algorand'
import { formatLimit, type Limit, type Rules } from '@latchkey/kmd-api/rules'
import {
  count,
  type Fields,
  key,
  limit,
  network,
  pay,
  payee,
  rulesOf,
  stranger,
  transaction,
  transfer,
  usdc,
} from './AgentFixture.test.helper.js'
import { type Decision, decide, readFacts, type Sums } from './Decision.js'

const nothingSpent: Sums = { used: () => 0n, freeAt: () => undefined }
const algos = limit('total', 1_000_000n)
const dollars = limit('day', 5_000_000n, usdc)
const application = { network, id: 77n }

function decided(bytes: Uint8Array, rules: Rules, sums: Sums = nothingSpent): Decision {
  return decide({ facts: readFacts(bytes), agent: { addresses: [key.address], rules }, sums, nowMs: 1_000 })
}

/** `allowed`, or the code, or `ask` and the code. */
function outcome(signed: { bytes: Uint8Array }, rules: Rules, sums?: Sums): string {
  const decision = decided(signed.bytes, rules, sums)
  if (decision.type === 'allowed') return 'allowed'
  return decision.type === 'ask' ? `ask ${decision.refusal.code}` : decision.refusal.code
}

const spent = (amount: bigint): Sums => ({ used: () => amount, freeAt: () => 5_000 })

test('payments and transfers within limits are allowed, with note, lease and group', () => {
  const rules = rulesOf([algos, dollars])
  const extras = { lx: new Uint8Array(32).fill(1), grp: new Uint8Array(32).fill(2), gen: 'testnet-v1.0' }
  assert.equal(outcome(pay(1n, extras), rules), 'allowed')
  assert.equal(outcome(transfer(1n, extras), rules), 'allowed')
})

test('every field that moves more than the payment is refused, regardless of the rules', () => {
  const someone = stranger.publicKey
  const rules = rulesOf([algos, dollars], {
    applications: [application],
    optIns: [{ network, id: usdc }],
    ask: { above: [], overLimit: true, unknownPayee: true, otherTypes: true },
  })
  const forbidden: { [name: string]: Fields & { type: string } } = {
    rekey: { type: 'pay', rcv: payee.publicKey, rekey: someone },
    close: { type: 'pay', rcv: payee.publicKey, close: someone },
    aclose: { type: 'axfer', xaid: usdc, arcv: payee.publicKey, aclose: someone },
    asnd: { type: 'axfer', xaid: usdc, arcv: payee.publicKey, asnd: someone },
    'no asset': { type: 'axfer', arcv: payee.publicKey, aamt: 1n },
    'transfer fields in a payment': { type: 'pay', rcv: payee.publicKey, aamt: 1n },
    'payment fields in a transfer': { type: 'axfer', xaid: usdc, arcv: payee.publicKey, amt: 1n },
    keyreg: { type: 'keyreg', votekey: someone },
    'offline keyreg': { type: 'keyreg' },
    acfg: { type: 'acfg', caid: 5n },
    afrz: { type: 'afrz', faid: 5n, fadd: someone, afrz: true },
    stpf: { type: 'stpf', sptype: 1n },
    hb: { type: 'hb' },
    'unknown type': { type: 'new' },
    'creation of an application': { type: 'appl', apap: Uint8Array.of(1), apsu: Uint8Array.of(1) },
    'creation without a program': { type: 'appl' },
    'update of an application': { type: 'appl', apid: 77n, apan: 4n, apap: Uint8Array.of(1) },
    'extra pages': { type: 'appl', apid: 77n, apep: 1 },
    'state of an application': { type: 'appl', apid: 77n, apgs: { nui: 1n } },
  }
  for (const [name, fields] of Object.entries(forbidden)) {
    assert.equal(outcome(transaction(fields), rules), 'agent_transaction_forbidden', name)
  }
  for (const apan of [1n, 2n, 3n, 4n, 5n, 6n]) {
    assert.equal(outcome(transaction({ type: 'appl', apid: 77n, apan }), rules), 'agent_transaction_forbidden')
  }
})

test("a sender that is not the agent's is refused, because its key may belong to another account", () => {
  assert.equal(outcome(pay(1n, { snd: stranger.publicKey }), rulesOf([algos])), 'agent_transaction_forbidden')
})

test('an unlisted network and a missing network are refused', () => {
  const other = new Uint8Array(32).fill(3)
  assert.equal(outcome(pay(1n, { gh: other }), rulesOf([algos])), 'agent_network_forbidden')
  assert.equal(outcome(pay(1n, { gh: undefined }), rulesOf([algos])), 'agent_network_forbidden')
  const both = rulesOf([algos], { networks: [network, Bytes.toBase64(other)] })
  assert.equal(outcome(pay(1n, { gh: other }), both), 'agent_asset_without_limit', 'limits are of one network')
})

test('fee and validity are allowed up to their bound', () => {
  const rules = rulesOf([algos], { maxFeeMicroAlgos: 2_000n, maxValidRounds: 100 })
  assert.equal(outcome(pay(1n, { fee: 2_000n, fv: 5n, lv: 105n }), rules), 'allowed')
  assert.equal(outcome(pay(1n, { fee: 2_001n, fv: 5n, lv: 105n }), rules), 'agent_fee_too_high')
  assert.equal(outcome(pay(1n, { fv: 5n, lv: 106n }), rules), 'agent_validity_too_long')
  assert.equal(outcome(pay(1n, { fv: 5n, lv: 4n }), rules), 'agent_validity_too_long')
  assert.equal(outcome(pay(1n, { fv: 2n ** 64n - 2n, lv: 2n ** 64n - 1n }), rules), 'agent_transaction_forbidden')
})

test('a payment that is valid only in the far future is refused if the round is known', () => {
  const rules = rulesOf([algos], { maxValidRounds: 100 })
  const outcomeAt = (firstValid: bigint): string => {
    const facts = readFacts(pay(1n, { fv: firstValid, lv: firstValid }).bytes)
    const agent = { addresses: [key.address], rules }
    return decide({ facts, agent, sums: nothingSpent, nowMs: 1_000, lastRound: 5_000n }).type
  }
  assert.equal(outcomeAt(5_100n), 'allowed')
  assert.equal(outcomeAt(5_101n), 'refused')
})

test('a denied payee is refused outright, an unknown one asks if the owner configured it', () => {
  const payees = { allow: [payee.address], deny: [] }
  assert.equal(outcome(pay(1n), rulesOf([algos], { payees })), 'allowed')
  const toStranger = pay(1n, { rcv: stranger.publicKey })
  assert.equal(outcome(toStranger, rulesOf([algos], { payees })), 'agent_payee_unknown')
  const ask = { ...rulesOf([]).ask, unknownPayee: true }
  assert.equal(outcome(toStranger, rulesOf([algos], { payees, ask })), 'ask agent_payee_unknown')
  const denied = { allow: [payee.address], deny: [payee.address] }
  assert.equal(outcome(pay(1n), rulesOf([algos], { payees: denied, ask })), 'agent_payee_denied')
})

test('applications and opt-ins are allowed only if they are named, and only for the fee', () => {
  const call = transaction({
    type: 'appl',
    apid: 77n,
    fee: 1_000n,
    apaa: [Uint8Array.of(1)],
    apfa: [3n],
    apbx: [{ i: 1n }],
  })
  const optIn = transfer(0n, { arcv: key.publicKey })
  assert.equal(outcome(call, rulesOf([algos])), 'agent_transaction_forbidden')
  assert.equal(outcome(optIn, rulesOf([algos, dollars])), 'agent_transaction_forbidden')
  const named = { applications: [application], optIns: [{ network, id: usdc }] }
  assert.equal(outcome(call, rulesOf([algos], named)), 'allowed')
  assert.equal(outcome(optIn, rulesOf([algos], named)), 'allowed')
  assert.equal(outcome(call, rulesOf([dollars], named)), 'agent_asset_without_limit', 'the fee is in Algos')
  const ask = { ...rulesOf([]).ask, otherTypes: true }
  assert.equal(outcome(call, rulesOf([algos], { ...named, ask })), 'ask agent_approval_required')
  assert.equal(outcome(optIn, rulesOf([algos], { ...named, ask })), 'ask agent_approval_required')
})

test('an asset without a limit cannot be spent, not even a zero amount', () => {
  assert.equal(outcome(transfer(1n), rulesOf([algos])), 'agent_asset_without_limit')
  assert.equal(outcome(transfer(0n), rulesOf([algos])), 'agent_asset_without_limit')
  assert.equal(outcome(pay(0n), rulesOf([dollars])), 'agent_asset_without_limit')
  assert.equal(outcome(transfer(1n, { fee: 1_000n }), rulesOf([dollars])), 'agent_asset_without_limit')
  const toStranger = limit('day', 100n, usdc, stranger.address)
  assert.equal(outcome(transfer(1n), rulesOf([toStranger])), 'agent_asset_without_limit', 'a limit for another payee')
})

test('each limit is allowed up to its last unit', () => {
  const cases: [Limit, (amount: bigint) => { bytes: Uint8Array }][] = [
    [limit('payment', 100n), pay],
    [limit('day', 100n), pay],
    [limit('week', 100n, usdc), transfer],
    [limit('hour', 100n, 0n, payee.address), pay],
    [limit('total', 100n), (amount) => pay(amount - 40n, { fee: 40n })],
  ]
  for (const [one, signed] of cases) {
    const rules = rulesOf([one])
    assert.equal(outcome(signed(100n), rules), 'allowed', formatLimit(one, []))
    assert.equal(outcome(signed(101n), rules), 'agent_limit_exceeded', formatLimit(one, []))
    if (one.per === 'payment') continue
    assert.equal(outcome(signed(60n), rules, spent(40n)), 'allowed', formatLimit(one, []))
    assert.equal(outcome(signed(61n), rules, spent(40n)), 'agent_limit_exceeded', formatLimit(one, []))
  }
  assert.equal(outcome(pay(1n), rulesOf([algos, count('day', 3)]), spent(2n)), 'allowed')
  assert.equal(outcome(pay(1n), rulesOf([algos, count('day', 3)]), spent(3n)), 'agent_limit_exceeded')
})

test('amounts that would overflow 64 bits are refused', () => {
  const most = 2n ** 64n - 1n
  const rules = rulesOf([limit('total', 2n ** 63n - 1n)], { maxFeeMicroAlgos: 10_000_000n })
  assert.equal(outcome(pay(most, { fee: 1_000n }), rules), 'agent_transaction_forbidden')
  assert.equal(outcome(pay(2n ** 63n - 1n), rules), 'allowed')
  assert.equal(outcome(pay(2n ** 63n - 1n, { fee: 1n }), rules), 'agent_transaction_forbidden')
})

test('a limit that refuses takes precedence over one that asks, and the limit that resets last is named', () => {
  const above = [{ network, assetId: usdc, amount: 10n }]
  const ask = { ...rulesOf([]).ask, above }
  const rules = rulesOf([dollars], { ask })
  assert.equal(outcome(transfer(10n), rules), 'allowed')
  assert.equal(outcome(transfer(11n), rules), 'ask agent_approval_required')
  assert.equal(outcome(transfer(5_000_001n), rules), 'agent_limit_exceeded')
  const lenient = rulesOf([dollars], { ask: { ...ask, overLimit: true } })
  assert.equal(outcome(transfer(5_000_001n), lenient), 'ask agent_limit_exceeded')
  const several = decided(transfer(3n).bytes, rulesOf([limit('hour', 2n, usdc), limit('day', 4n, usdc)]), {
    used: ({ per }) => (per === 'hour' ? 0n : 3n),
    freeAt: () => 9_000,
  })
  assert.equal(
    several.type === 'refused' && several.refusal.rule,
    '2 asset 10458941/hour'.replace('2 asset 10458941', '$0.000002'),
  )
})

test('a private network has the dollar that its owner declared, and a public one its own', () => {
  const local = Bytes.toBase64(new Uint8Array(32).fill(7))
  const gh = Bytes.fromBase64(local)!
  const dollar = { network: local, id: usdc }
  const limits: Limit[] = [{ type: 'amount', per: 'day', network: local, assetId: usdc, amount: 1_000_000n }]
  const ask = { ...rulesOf([]).ask, above: [{ network: local, assetId: usdc, amount: 250_000n }] }
  const rules = rulesOf(limits, { networks: [local], dollars: [dollar], ask })
  const beyond = decided(transfer(1_010_000n, { gh }).bytes, rules)
  assert.ok(beyond.type === 'refused')
  assert.deepEqual([beyond.refusal.rule, beyond.refusal.unit], ['$1/day', 'USDC'])
  assert.equal(beyond.refusal.message, 'This payment needs $1.01; $1 is left of the limit $1/day.')
  const asks = decided(transfer(260_000n, { gh }).bytes, rules)
  assert.ok(asks.type === 'ask')
  assert.deepEqual([asks.refusal.rule, asks.refusal.unit], ['ask above $0.25', 'USDC'])
  const allowed = decided(transfer(1n, { gh }).bytes, rules)
  assert.equal(allowed.type === 'allowed' && allowed.rule, '$1/day')
  assert.equal(formatLimit(limits[0]!, []), `1,000,000 asset ${usdc}/day`)
  // On a public network, only its USDC is a dollar, even if the rules declared another asset.
  assert.equal(formatLimit(limit('day', 5n, 123n), [{ network, id: 123n }]), '5 asset 123/day')
})

test('texts of limits', () => {
  const texts: [Limit, string][] = [
    [limit('day', 5_000_000n, usdc), '$5/day'],
    [limit('payment', 500_000n, usdc), 'each $0.50'],
    [limit('hour', 1_234n, usdc), '$0.001234/hour'],
    [limit('total', 2_000_000n), '2 ALGO/total'],
    [limit('week', 10n, 123n), '10 asset 123/week'],
    [count('hour', 20), '20 payments/hour'],
    [limit('30days', 1_500_000n, 0n, payee.address), `1.5 ALGO/30days to ${payee.address}`],
  ]
  for (const [one, text] of texts) assert.equal(formatLimit(one, []), text)
})
