/** Rules on the wire, in the owner's notation and in words, with the cases of daemon, client, console and command line. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Network } from '@latchkey/algorand'
import * as Rules from './index.js'

const network = Buffer.alloc(32, 7).toString('base64')
const { genesisHash: testnet, usdcAssetId } = Network.testnet
const addressOf = (number: number): string => Address.encode(Uint8Array.from({ length: 32 }, () => number))
const payee = addressOf(1)
const day = { per: 'day', network, type: 'amount', amount: '5' } as const
const valid = { networks: [network], limits: [day], payees: { allow_all: true } }
const few = (count: number, item: unknown): unknown[] => Array.from({ length: count }, () => item)

function read(json: unknown): Rules.Rules {
  const rules = Rules.parseRules(json)
  Rules.validateRules(rules)
  return rules
}

test('absent members have their defaults', () => {
  const limits = [{ per: 'day', network, type: 'amount', assetId: 0n, amount: 5n }] as const
  const expected = Rules.completeRules({ networks: [network], limits, payees: { allow: 'all' } })
  assert.deepEqual(read(valid), expected)
  assert.deepEqual([expected.maxFeeMicroAlgos, expected.maxValidRounds], [10_000n, 1_000])
  // Without rules on payees, no address can be paid.
  assert.deepEqual(read({ ...valid, payees: undefined }).payees, { allow: [], deny: [] })
})

const invalid: { readonly [message: string]: object } = {
  'rules.networks must name at least one': { networks: [] },
  'rules.networks[0] must be a genesis hash': { networks: ['x'] },
  'rules.networks has the wrong type': { networks: [1] },
  'rules.networks contains a network twice': { networks: [network, network] },
  'rules.networks is too long, must be <= 8': { networks: few(9, network) },
  'rules.limits has the wrong type': { limits: 'all' },
  'rules.limits must contain at least one limit on an amount': { limits: [] },
  'rules.limits is too long, must be <= 100': { limits: few(101, day) },
  'rules.limits[0] has the wrong type': { limits: ['$5/day'] },
  'rules.limits[0].per must be payment, hour, day': { limits: [{ ...day, per: 'month' }] },
  'rules.limits[0].network must be one of rules.networks': { limits: [{ ...day, network: testnet }] },
  'rules.limits[0].type must be amount or count': { limits: [{ ...day, type: 'sum' }] },
  'rules.limits[0].amount must be a whole number below 2^63': { limits: [{ ...day, amount: '9223372036854775808' }] },
  'rules.limits[0].asset_id must be a whole number': { limits: [{ ...day, asset_id: 'usdc' }] },
  'rules.limits[0].count is for limits of the type count': { limits: [{ ...day, count: 1 }] },
  'rules.limits[0].payee must be an address': { limits: [{ ...day, payee: 'me' }] },
  'rules.limits[1] restricts the same period, asset and payee as rules.limits[0]': {
    limits: [day, { ...day, amount: '6' }],
  },
  'rules.limits[1].per cannot be payment for a count': {
    limits: [day, { per: 'payment', network, type: 'count', count: 1 }],
  },
  'rules.limits[1].count must be <= 1000000000': {
    limits: [day, { per: 'day', network, type: 'count', count: 1_000_000_001 }],
  },
  'rules.limits[1].count must be <=': {
    limits: [day, { per: 'day', network, type: 'count', count: -1 }],
  },
  'rules.limits[1].amount is for limits of the type amount': {
    limits: [day, { per: 'day', network, type: 'count', count: 1, amount: '1' }],
  },
  '"each 0.000005 ALGO" does not limit the total': { limits: [{ ...day, per: 'payment' }] },
  'rules.payees.allow must be absent': { payees: { allow_all: true, allow: [payee] } },
  'rules.payees.allow[0] must be an address': { payees: { allow: ['me'] } },
  'rules.payees.deny contains an address twice': { payees: { deny: [payee, payee] } },
  'rules.payees.deny is too long, must be <= 1000': { payees: { deny: few(1_001, payee) } },
  'rules.applications[0].id must not be 0': { applications: [{ network, id: '0' }] },
  'rules.opt_ins is too long, must be <= 100': { opt_ins: few(101, { network, id: '1' }) },
  'rules.opt_ins[0].network must be one of': { opt_ins: [{ network: testnet, id: '1' }] },
  'the dollar asset of this network is': { networks: [network, testnet], dollars: [{ network: testnet, id: '1' }] },
  'a network has at most one dollar': { dollars: ['1', '2'].map((id) => ({ network, id })) },
  'rules.max_fee_micro_algos must be a whole number': { max_fee_micro_algos: '-1' },
  'rules.max_fee_micro_algos must be <= 10000000': { max_fee_micro_algos: '10000001' },
  'rules.max_valid_rounds must be <= 1000': { max_valid_rounds: 1_001 },
  'rules.ask.above[0].amount must be a whole number': { ask: { above: [{ network }] } },
  'rules.ask.above is too long, must be <= 100': { ask: { above: few(101, { network, amount: '1' }) } },
  'rules.ask.over_limit has the wrong type': { ask: { over_limit: 'yes' } },
}

test('an invalid member is rejected by its path', () => {
  for (const [message, change] of Object.entries(invalid)) {
    assert.throws(
      () => read({ ...valid, ...change }),
      (error) => {
        assert.ok(error instanceof Rules.RulesError && error.code === 'invalid_rules', message)
        assert.ok(error.message.startsWith(message), `${error.message}, not ${message}`)
        assert.match(error.path, /^rules\./)
        return true
      },
    )
  }
  for (const json of [undefined, null, 'all', []]) assert.throws(() => read(json), /rules has the wrong type/)
})

test('the largest rules are valid', () => {
  const networks = Array.from({ length: 8 }, (_, index) => Buffer.alloc(32, index + 1).toString('base64'))
  const addresses = Array.from({ length: 1_000 }, (_, index) => {
    const bytes = Buffer.alloc(32)
    bytes.writeUInt32BE(index)
    return Address.encode(bytes)
  })
  const item = { network: networks[0], id: '9223372036854775807' }
  const limits = addresses.slice(0, 99).map((one) => ({ ...day, network: networks[0], payee: one }))
  const count = { per: 'hour', network: networks[0], type: 'count', count: 1_000_000_000 }
  const largest = {
    networks,
    limits: [...limits, count],
    payees: { allow: addresses, deny: addresses },
    applications: few(100, item),
    opt_ins: few(100, item),
    max_fee_micro_algos: '10000000',
    ask: { above: few(100, { network: networks[0], amount: '9223372036854775807' }) },
  }
  assert.deepEqual(read(Rules.writeRules(read(largest))), read(largest))
})

test('keys and expiry are checked', () => {
  const addresses = Array.from({ length: 33 }, (_, index) => addressOf(index))
  Rules.validateKeys(addresses.slice(1))
  assert.throws(() => Rules.validateKeys(addresses), { message: 'addresses is too long, must be <= 32' })
  assert.throws(() => Rules.validateKeys([]), /at least one key/)
  assert.throws(() => Rules.validateKeys([payee, payee]), /addresses contains an address twice/)
  assert.throws(() => Rules.validateKeys(['me']), /addresses\[0\] must be an address/)
  Rules.validateExpiry(undefined, 5)
  Rules.validateExpiry(6, 5)
  assert.throws(() => Rules.validateExpiry(5, 5), /expires_at_ms is in the past/)
  for (const late of [8_640_000_000_000_001, 1.5]) assert.throws(() => Rules.validateExpiry(late, 5), /is too late/)
})

/** A seeded random number generator, so that failures can be reproduced. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function randomRules(random: (below: number) => number): Rules.Rules {
  const pick = <T>(choices: readonly T[]): T => choices[random(choices.length)]!
  const list = <T>(make: () => T): T[] => Array.from({ length: random(4) }, make)
  const networks = random(2) === 0 ? [network] : [network, testnet]
  const integer = (): bigint => pick([0n, 1n, BigInt(random(10_000_000)), 2n ** 62n, Rules.bounds.integer])
  const assetId = (): bigint => pick([0n, 5n, usdcAssetId!, 2n ** 62n])
  const item = (): Rules.NetworkItem => ({ network: pick(networks), id: integer() || 1n })
  const limit = (): Rules.Limit => {
    const base = { network: pick(networks), ...(random(3) === 0 && { payee: addressOf(random(9)) }) }
    const per = pick(['hour', 'day', 'week', '30days', 'total'] as const)
    if (random(3) === 0) return { ...base, per, type: 'count', count: pick([0, 1, random(99), Rules.bounds.count]) }
    return { ...base, per: pick([per, 'payment']), type: 'amount', assetId: assetId(), amount: integer() }
  }
  return {
    networks,
    limits: list(limit),
    payees: {
      allow: random(2) === 0 ? 'all' : list(() => addressOf(random(9))),
      deny: list(() => addressOf(random(9))),
    },
    applications: list(item),
    optIns: list(item),
    dollars: random(2) === 0 ? [] : [{ network, id: 5n }],
    maxFeeMicroAlgos: integer(),
    maxValidRounds: 1 + random(1_000),
    ask: {
      above: list(() => ({ network: pick(networks), assetId: assetId(), amount: integer() })),
      ...{ overLimit: random(2) === 0, unknownPayee: random(2) === 0, otherTypes: random(2) === 0 },
    },
  }
}

test('written rules and formatted limits parse to the same, for random rules', () => {
  const random = randomFrom(1)
  for (let round = 0; round < 2_000; round++) {
    const rules = randomRules(random)
    const json = JSON.parse(JSON.stringify(Rules.writeRules(rules)))
    assert.deepEqual(Rules.parseRules(json), rules)
    for (const limit of rules.limits) {
      const text = Rules.formatLimit(limit, rules.dollars)
      const dollarAssetId = Rules.dollarOf(limit.network, rules.dollars)
      const parsed = Rules.SpendLimit.parse(text, { dollarAssetId })
      assert.deepEqual({ ...parsed, network: limit.network }, limit, text)
      assert.equal(Rules.SpendLimit.format(parsed, { dollarAssetId }), text)
    }
    for (const one of rules.ask.above) {
      const text = Rules.formatAmount(one, rules.dollars)
      const options = { dollarAssetId: Rules.dollarOf(one.network, rules.dollars) }
      assert.deepEqual({ network: one.network, ...Rules.SpendLimit.parseAmount(text, options) }, one, text)
    }
  }
})

test('rules are described in words', () => {
  const limits = [
    day,
    { per: 'hour', network, type: 'count', count: 1, payee },
    { ...day, asset_id: '5', per: 'total' },
  ]
  const dollars = [{ network, id: '5' }]
  const ask = { above: [{ network, asset_id: '5', amount: '250000' }], over_limit: true }
  const rules = read({ ...valid, limits, dollars, ask, payees: { deny: [payee] }, opt_ins: [{ network, id: '9' }] })
  assert.deepEqual(Rules.describeRules(rules, { networkName: () => 'a devnet' }), [
    {
      title: 'May spend',
      lines: ['At most 0.000005 ALGO a day.', `At most 1 payment an hour to ${payee}.`, 'At most $0.000005 in total.'],
    },
    { title: 'May pay', lines: ['No address: none is listed.', `Never ${payee}.`] },
    {
      title: 'Asks you',
      lines: ['Before a payment above $0.25.', 'Before a payment above a limit, instead of refusing it.'],
    },
    {
      title: 'Otherwise',
      lines: [
        'Signs for a devnet only.',
        'Pays a fee of at most 0.01 ALGO per transaction. Fees count as ALGO spending.',
        'May opt in to asset 9.',
        'Never rekeys, closes an account, or exports a key.',
      ],
    },
  ])
  assert.match(Rules.ruleWarnings(rules).join(), /may not pay any address/)
  assert.deepEqual(Rules.ruleWarnings(read(valid)), [])
})

test('quantities are formatted by their unit', () => {
  assert.equal(Rules.formatUnits(500_000n, 'USDC'), '$0.50')
  assert.equal(Rules.formatUnits(2_000_000n, 'ALGO'), '2 ALGO')
  assert.equal(Rules.formatUnits(3n, 'payments'), '3 payments')
  assert.equal(Rules.formatUnits(3n, undefined), '3')
  const [limit] = read(valid).limits
  assert.deepEqual(
    [Rules.unitOf(limit!, []), Rules.assetUnit({ network: testnet, id: usdcAssetId! }, [])],
    ['ALGO', 'USDC'],
  )
})

test('ids and fees are read within their bounds', () => {
  assert.equal(Rules.parseId('9223372036854775807'), 2n ** 63n - 1n)
  for (const text of ['', '0', '01', '-1', 'x', '9223372036854775808', '99999999999999999999']) {
    assert.equal(Rules.parseId(text), undefined, text)
  }
  assert.deepEqual(['0.01', ' 10 ALGO ', '0'].map(Rules.SpendLimit.parseFee), [10_000n, 10_000_000n, 0n])
  for (const text of ['$1', '10.1', '', 'x'.repeat(300)]) {
    assert.throws(() => Rules.SpendLimit.parseFee(text), { code: 'invalid_limit' })
  }
})
