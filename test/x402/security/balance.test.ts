/** A payer's verified but unsettled payments count against its balance. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Facilitator, MemorySettlements, Signer } from '@latchkey/x402/facilitator'
import {
  groupOf,
  type Made,
  type Market,
  newAccount,
  openMarket,
  possessions,
  price,
  requirementsOf,
  settle,
  sign,
  sponsored,
  submit,
  transferOf,
  verify,
} from './support/facilitator.test.helper.js'

const timeout = 60_000

/** Creates a buyer with this balance in dollars. */
function buyerWith(market: Market, microDollars: bigint): Market {
  const buyer = newAccount()
  market.devnet.fund(buyer.address, { microDollars })
  return { ...market, buyer }
}

async function verifyAll(market: Market, payments: readonly Made[]): Promise<{ [result: string]: number }> {
  const counts: { [result: string]: number } = {}
  for (const result of await Promise.all(payments.map((one) => verify(market, one)))) {
    counts[result] = (counts[result] ?? 0) + 1
  }
  return counts
}

test('A16 one of 20 concurrent payments verifies with money for one', { timeout }, async (t) => {
  const market = buyerWith(await openMarket(t), price)
  const payments = Array.from({ length: 20 }, () => sponsored(market))
  assert.deepEqual(await verifyAll(market, payments), { valid: 1, payer_balance_reserved: 19 })
})

test('A16 seven of 20 concurrent payments verify and settle with money for seven', { timeout }, async (t) => {
  const market = buyerWith(await openMarket(t), 7n * price)
  const payments = Array.from({ length: 20 }, () => sponsored(market))
  const results = await Promise.all(payments.map((one) => verify(market, one)))
  const valid = payments.filter((_, index) => results[index] === 'valid')
  assert.equal(valid.length, 7)
  for (const one of valid) assert.equal(await settle(market, one), 'settled')
  assert.equal((await possessions(market)).seller, 7n * price)
})

test('A16 settling without verifying counts too', { timeout }, async (t) => {
  const market = buyerWith(await openMarket(t), 2n * price)
  const [held, second, third] = [sponsored(market), sponsored(market), sponsored(market)]
  assert.equal(await verify(market, held), 'valid')
  const results = await Promise.all([settle(market, second), settle(market, third)])
  assert.deepEqual(results.sort(), ['payer_balance_reserved', 'settled'])
  assert.equal(await settle(market, held), 'settled')
})

test('A16 the same payment verifies again, and a settled reservation is released', { timeout }, async (t) => {
  const market = buyerWith(await openMarket(t), price)
  const payment = sponsored(market)
  for (let time = 0; time < 5; time++) assert.equal(await verify(market, payment), 'valid')
  const all = await Promise.all(Array.from({ length: 5 }, () => verify(market, payment)))
  assert.deepEqual(new Set(all), new Set(['valid']))
  assert.equal(await verify(market, sponsored(market)), 'payer_balance_reserved')
  assert.equal(await settle(market, payment), 'settled')
  market.devnet.fund(market.buyer.address, { microDollars: price })
  assert.equal(await settle(market, sponsored(market)), 'settled', 'the reservation ended')
})

test('A16 a failed payment releases its reservation', { timeout }, async (t) => {
  const market = buyerWith(await openMarket(t), price)
  const { buyer, devnet, seller } = market
  const payment = sponsored(market)
  assert.equal(await verify(market, payment), 'valid')
  devnet.fund(buyer.address, { microAlgos: 10_000n })
  const away = transferOf(market, { aamt: 0n, fee: 1_000n, arcv: buyer.publicKey, aclose: seller.publicKey })
  assert.equal((await submit(market, sign(away, buyer))).status, 200)
  assert.equal(await settle(market, payment), 'invalid_exact_avm_settlement_failed')
  devnet.fund(buyer.address, { microDollars: price })
  assert.equal(await verify(market, sponsored(market)), 'valid')
})

test('A16 fees and amounts that a buyer pays in Algos count together', { timeout }, async (t) => {
  const market = await openMarket(t)
  const buyer = newAccount()
  // 0.1 Algo is the minimum balance.
  market.devnet.fund(buyer.address, { microAlgos: 100_000n + 5_000n })
  const mine = { ...market, buyer }
  const ofAlgos = {
    type: 'pay',
    amt: price,
    rcv: market.seller.publicKey,
    aamt: undefined,
    xaid: undefined,
    arcv: undefined,
  } as const
  const payment = (): Made => {
    const txn = transferOf(mine, { ...ofAlgos, fee: 1_000n })
    const made = groupOf(mine, [{ txn, by: buyer }], 0)
    const requirements = requirementsOf(mine, { asset: '0' })
    return { ...made, requirements, payload: { ...made.payload, accepted: requirements } as Made['payload'] }
  }
  market.devnet.fund(market.seller.address, { microAlgos: 1_000_000n })
  const payments = Array.from({ length: 6 }, payment)
  assert.deepEqual(await verifyAll(mine, payments), { valid: 2, payer_balance_reserved: 4 })
})

test('A16 a payment in the name of another account reserves none of its balance', { timeout }, async (t) => {
  const market = buyerWith(await openMarket(t), price)
  const attacker = newAccount()
  const forged = Array.from({ length: 20 }, () => {
    const txns = [sponsored(market)]
    const txn = transferOf(market)
    return { ...txns[0]!, ...groupOf(market, [{ txn, by: attacker }], 0) }
  })
  const [, result] = await Promise.all([verifyAll(market, forged), verify(market, sponsored(market))])
  assert.equal(result, 'valid')
})

test('A16 payments that settle at the same time do not lock each other out', { timeout }, async (t) => {
  const market = buyerWith(await openMarket(t), 20n * price)
  const payAll = Array.from({ length: 20 }, async () => {
    const payment = sponsored(market)
    const verified = await verify(market, payment)
    return verified === 'valid' ? settle(market, payment) : verified
  })
  assert.deepEqual(new Set(await Promise.all(payAll)), new Set(['settled']))
  assert.equal((await possessions(market)).seller, 20n * price)
})

test('A16 concurrent payments do not verify beyond what the fee account can pay', { timeout }, async (t) => {
  const market = await openMarket(t, { sponsorMicroAlgos: 100_000n + 3n * 2_000n })
  const payments = Array.from({ length: 10 }, () => sponsored(market))
  assert.deepEqual(await verifyAll(market, payments), { valid: 3, facilitator_fee_account_unfunded: 7 })
})

test('A16 payments that verify here and settle in another process lock no payer out', { timeout }, async (t) => {
  const store = new MemorySettlements()
  const market = buyerWith(await openMarket(t, { facilitator: { store } }), 10n * price)
  const feePayer = Signer.fromSeed(market.sponsor.seed)
  const second = new Facilitator({ chains: [market.chain], feePayer, pollMs: 10, store })
  t.after(() => second.stop())
  const replicas = [market, { ...market, facilitator: second }]
  for (let time = 0; time < 10; time++) {
    const payment = sponsored(market)
    assert.equal(await verify(replicas[time % 2]!, payment), 'valid', `payment ${time}`)
    assert.equal(await settle(replicas[(time + 1) % 2]!, payment), 'settled')
  }
})

for (const [what, call, result] of [
  ['verified', verify, 'duplicate_settlement'],
  ['settled', settle, 'settled'],
] as const) {
  test(`A16 a payment that another process settles while it is ${what} here reserves nothing`, {
    timeout,
  }, async (t) => {
    const store = new MemorySettlements()
    const market = buyerWith(await openMarket(t, { facilitator: { store } }), 2n * price)
    const feePayer = Signer.fromSeed(market.sponsor.seed)
    const second = new Facilitator({ chains: [market.chain], feePayer, pollMs: 10, store })
    t.after(() => second.stop())
    const payment = sponsored(market)
    // Between the simulation and its response.
    const { algod } = market.chain
    const simulate = algod.simulate.bind(algod)
    algod.simulate = async (group) => {
      const simulated = await simulate(group)
      algod.simulate = simulate
      assert.equal(await settle({ ...market, facilitator: second }, payment), 'settled')
      return simulated
    }
    market.devnet.fund(market.buyer.address, { microDollars: price })
    assert.equal(await verify(market, sponsored(market)), 'valid')
    assert.equal(await call(market, payment), result)
    assert.equal(await settle(market, payment), 'settled', 'with the same result')
    assert.equal(await settle(market, sponsored(market)), 'settled')
  })
}

test('A16 a payer that verifies and never settles does not use up the fees of others', { timeout }, async (t) => {
  const market = await openMarket(t, { sponsorMicroAlgos: 100_000n + 20n * 2_000n })
  const attacker = buyerWith(market, 1_000n * price)
  const held = Array.from({ length: 30 }, () => sponsored(attacker))
  assert.deepEqual(await verifyAll(attacker, held), { valid: 20, facilitator_fee_account_unfunded: 10 })
  for (let time = 0; time < 5; time++) assert.equal(await settle(market, sponsored(market)), 'settled')
  assert.equal(await verify(attacker, sponsored(attacker)), 'facilitator_fee_account_unfunded')
})

test('A16 a payment that waits for another with the same money does not verify after it', { timeout }, async (t) => {
  const market = buyerWith(await openMarket(t), price)
  market.devnet.addFault({ type: 'hold', ms: 600_000, count: 1 })
  const first = settle(market, sponsored(market))
  await until(() => market.proxy.count('submit') === 1)
  const second = verify(market, sponsored(market))
  await until(() => market.proxy.count('simulate') === 2 && market.proxy.count('account') > 0)
  market.devnet.mine()
  assert.equal(await first, 'settled')
  assert.equal(await second, 'payer_balance_reserved')
})

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}
