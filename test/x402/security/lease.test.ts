/** Payments that verify and never settle cost others no budget, no blocks and no time. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Facilitator, Signer } from '@latchkey/x402/facilitator'
import { SqliteSettlements } from '@latchkey/x402/sqlite'
import {
  feePaymentOf,
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

const timeout = 120_000
const lease = new Uint8Array(32).fill(7)

async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await sleep(20)
}

/** Makes the node accept such submissions and forget them. */
function forget(market: Market, isForgotten: (body: Buffer) => boolean): void {
  market.proxy.insteadOf = (what, _path, body) =>
    what === 'submit' && isForgotten(body) ? { status: 200, body: '{"txId":"X"}', isForwarded: false } : undefined
}

test('A4 a payment with a lease is refused by verify and by settle, and so is a fee with one', {
  timeout,
}, async (t) => {
  const market = await openMarket(t, { facilitator: { policy: { feeMicroAlgosPerDay: 10_000n } } })
  const zombies = Array.from({ length: 20 }, () => sponsored(market, { lx: lease }))
  const results = await Promise.all(zombies.map((one) => settle(market, one)))
  assert.deepEqual(new Set(results), new Set(['invalid_exact_avm_payload_lease_detected']))
  assert.equal(await verify(market, zombies[0]!), 'invalid_exact_avm_payload_lease_detected')
  assert.equal(await settle(market, sponsored(market, {}, { lx: lease })), 'invalid_exact_avm_invalid_fee_payer')
  assert.equal(market.proxy.count(), 0, 'without a request to the node')
  for (let time = 0; time < 5; time++)
    assert.equal(await settle(market, sponsored(market)), 'settled', 'within the budget')
  assert.equal(await settle(market, sponsored(market)), 'facilitator_policy_refused')
})

test('A4 pending payments are bounded per payer and per payTo', { timeout }, async (t) => {
  const limits = { maxPendingPerPayer: 5, maxPendingPerPayTo: 8, settleTimeoutMs: 50 }
  const market = await openMarket(t, { facilitator: limits })
  market.devnet.addFault({ type: 'hold', ms: 600_000, count: 100 })
  const many = await Promise.all(Array.from({ length: 12 }, () => settle(market, sponsored(market))))
  assert.equal(many.filter((result) => result === 'settlement_pending').length, 5)
  assert.equal(many.filter((result) => result === 'facilitator_busy').length, 7)
  assert.equal(await verify(market, sponsored(market)), 'facilitator_busy', 'before the seller works for it')
  const second = newAccount()
  market.devnet.fund(second.address, { microDollars: 1_000_000n })
  const others = { ...market, buyer: second }
  const rest = await Promise.all(Array.from({ length: 5 }, () => settle(market, sponsored(others))))
  assert.equal(rest.filter((result) => result === 'settlement_pending').length, 3)
  market.devnet.mine()
  await until(async () => (await settle(market, sponsored(market))) !== 'facilitator_busy')
})

test('A4 payments whose money moved away after a node accepted them do not block a seller', { timeout }, async (t) => {
  const limits = { maxPendingPerPayer: 5, maxPendingPerPayTo: 8, settleTimeoutMs: 50 }
  const market = await openMarket(t, { facilitator: limits })
  let isForgetful = true
  forget(market, () => isForgetful)
  const all: Made[] = []
  for (let time = 0; time < 2; time++) {
    const attacker = newAccount()
    market.devnet.fund(attacker.address, { microDollars: 5n * price })
    market.devnet.fund(attacker.address, { microAlgos: 10_000n })
    const theirs = { ...market, buyer: attacker }
    const payments = Array.from({ length: time === 0 ? 5 : 3 }, () => sponsored(theirs))
    for (const one of payments) assert.equal(await settle(theirs, one), 'settlement_pending')
    const away = transferOf(theirs, { aamt: 5n * price, fee: 1_000n, arcv: market.seller.publicKey })
    assert.equal((await submit(market, sign(away, attacker))).status, 200)
    all.push(...payments)
  }
  assert.equal(await verify(market, sponsored(market)), 'facilitator_busy', 'for as long as they may be confirmed')
  isForgetful = false
  await until(async () => (await settle(market, sponsored(market))) === 'settled')
  for (const one of all) assert.equal(await settle(market, one), 'settlement_pending', 'until they expire')
})

test('A4 a verified payment waits for its turn, because its work may be done', { timeout }, async (t) => {
  const market = await openMarket(t, { facilitator: { maxPendingPerPayer: 2, maxPendingPerPayTo: 3 } })
  const payments = Array.from({ length: 12 }, () => sponsored(market))
  for (const one of payments) assert.equal(await verify(market, one), 'valid')
  const results = await Promise.all(payments.map((one) => settle(market, one)))
  assert.deepEqual(new Set(results), new Set(['settled']))
  assert.equal(market.proxy.count('submit'), 12)
})

test('A4 nothing waits for its turn longer than a caller does', { timeout }, async (t) => {
  const market = await openMarket(t, { facilitator: { maxPendingPerPayer: 1, settleTimeoutMs: 100 } })
  market.devnet.addFault({ type: 'hold', ms: 600_000, count: 100 })
  const [first, second] = [sponsored(market), sponsored(market)]
  for (const one of [first, second]) assert.equal(await verify(market, one), 'valid')
  assert.equal(await settle(market, first), 'settlement_pending')
  assert.equal(await settle(market, second), 'facilitator_busy')
  await until(async () => {
    market.devnet.mine()
    return (await settle(market, second)) === 'settled'
  })
})

/** Moves a market's clock far past the validity of pending payments. */
function expire({ devnet }: Market): void {
  devnet.mine(1_300)
}

async function balanceOfBudget(facilitator: Facilitator, market: Market): Promise<string> {
  const { payload, requirements } = sponsored(market)
  const { isValid, invalidReason } = await facilitator.verify(payload, requirements)
  return isValid ? 'has budget' : invalidReason!
}

test('A4 the fee of an expired payment is released, also after a restart', { timeout }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-security-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'settlements.db')
  const market = await openMarket(t)
  const feePayer = Signer.fromSeed(market.sponsor.seed)
  const open = (): Facilitator =>
    new Facilitator({
      chains: [market.chain],
      feePayer,
      store: new SqliteSettlements(path),
      policy: { feeMicroAlgosPerDay: 4_000n },
      settleTimeoutMs: 50,
      pollMs: 10,
    })
  const first = open()
  let isForgetful = true
  forget(market, () => isForgetful)
  const [one, two] = [sponsored(market), sponsored(market)]
  for (const { payload, requirements } of [one, two]) {
    assert.equal((await first.settle(payload, requirements)).errorReason, 'settlement_pending')
  }
  assert.equal(await balanceOfBudget(first, market), 'facilitator_policy_refused')
  await first.stop()
  const second = open()
  t.after(() => second.stop())
  await second.resume()
  assert.equal(await balanceOfBudget(second, market), 'facilitator_policy_refused', 'what is pending counts')
  expire(market)
  isForgetful = false
  await until(async () => (await balanceOfBudget(second, market)) === 'has budget')
  assert.equal((await second.settle(one.payload, one.requirements)).errorReason, 'invalid_exact_avm_settlement_failed')
})

test('A4 fees of the day still count after a restart', { timeout }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-security-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const market = await openMarket(t)
  const feePayer = Signer.fromSeed(market.sponsor.seed)
  const results: string[] = []
  for (let time = 0; time < 3; time++) {
    const store = new SqliteSettlements(join(directory, 'settlements.db'))
    const policy = { feeMicroAlgosPerDay: 4_000n }
    const facilitator = new Facilitator({ chains: [market.chain], feePayer, store, policy, pollMs: 10 })
    await facilitator.resume()
    const { payload, requirements } = sponsored(market)
    const { success, errorReason } = await facilitator.settle(payload, requirements)
    results.push(success ? 'settled' : errorReason!)
    await facilitator.stop()
  }
  assert.deepEqual(results, ['settled', 'settled', 'facilitator_policy_refused'])
})

test('A4 expired payments do not cost 1,000 blocks each', { timeout }, async (t) => {
  const market = await openMarket(t, { facilitator: { settleTimeoutMs: 50 } })
  let isForgetful = true
  forget(market, () => isForgetful)
  const zombies = Array.from({ length: 10 }, () =>
    sponsored(market, { lv: market.devnet.round + 1_000n }, { lv: market.devnet.round + 1_000n }),
  )
  for (const one of zombies) assert.equal(await settle(market, one), 'settlement_pending')
  expire(market)
  isForgetful = false
  market.proxy.calls.length = 0
  const isEnded = async (): Promise<boolean> => {
    const results = await Promise.all(zombies.map((one) => settle(market, one)))
    return results.every((result) => result === 'invalid_exact_avm_settlement_failed')
  }
  await until(isEnded)
  // 1,300 rounds pass at once, as with a node that was down; lookups by id cover all but 300 of them.
  assert.ok(market.proxy.count('txids') <= 400, `${market.proxy.count('txids')} blocks`)
})

test('A4 many pending payments do not slow down others', { timeout }, async (t) => {
  const market = await openMarket(t, { facilitator: { settleTimeoutMs: 100, pollMs: 250 } })
  const { buyer } = market
  const marker = Buffer.from('zombie')
  forget(market, (body) => body.includes(marker))
  const zombies = Array.from({ length: 150 }, (_, number) =>
    sponsored(market, { note: new Uint8Array(Buffer.from(`zombie ${number}`)) }),
  )
  // On an overloaded machine, the node may not respond within this facilitator's short time limit.
  const settleWhenReachable = async (one: ReturnType<typeof sponsored>): Promise<string> => {
    const result = await settle(market, one)
    return result === 'facilitator_node_unavailable' ? settleWhenReachable(one) : result
  }
  const pending = await Promise.all(zombies.map(settleWhenReachable))
  assert.deepEqual(new Set(pending), new Set(['settlement_pending']))
  const second = newAccount()
  market.devnet.fund(second.address, { microDollars: 1_000_000n })
  market.devnet.fund(buyer.address, { microAlgos: 1n })
  const before = market.proxy.count()
  for (let time = 0; time < 10; time++) {
    const payment = sponsored({ ...market, buyer: second })
    assert.equal(await verify(market, payment), 'valid')
    let result = await settleWhenReachable(payment)
    while (result === 'settlement_pending') result = await settleWhenReachable(payment)
    assert.equal(result, 'settled')
  }
  assert.equal((await possessions(market)).seller, 10n * price)
  t.diagnostic(`${market.proxy.count() - before} requests to the node meanwhile`)
})

/** Other ways to verify a payment that cannot settle. */
for (const [what, make] of [
  ['a payment that is not valid yet', (m: Market) => sponsored(m, { fv: m.devnet.round + 50n })],
  ['a fee that is not valid yet', (m: Market) => sponsored(m, {}, { fv: m.devnet.round + 50n })],
  [
    'a fee that has expired',
    (m: Market) => {
      m.devnet.mine(5)
      return sponsored(m, {}, { fv: 1n, lv: m.devnet.round - 1n })
    },
  ],
  [
    'a payment below the minimum balance',
    (m: Market) => {
      const txn = transferOf(m, {
        type: 'pay',
        amt: 1_000n,
        rcv: m.seller.publicKey,
        aamt: undefined,
        xaid: undefined,
        arcv: undefined,
      })
      const made = groupOf(m, [{ txn: feePaymentOf(m) }, { txn, by: m.buyer }], 1)
      const requirements = requirementsOf(m, { asset: '0' })
      return { ...made, requirements, payload: { ...made.payload, accepted: requirements } } as Made
    },
  ],
  ['a payment that closes the account', (m: Market) => sponsored(m, { aclose: m.seller.publicKey })],
] as const) {
  test(`A4 ${what} does not verify`, { timeout }, async (t) => {
    const market = await openMarket(t)
    const payment = make(market)
    assert.match(
      await verify(market, payment),
      /^invalid_exact_avm_(payload_validity|simulation_failed|payload_close_to_detected)$/,
    )
    assert.match(
      await settle(market, payment),
      /^invalid_exact_avm_(payload_validity|simulation_failed|payload_close_to_detected)$/,
    )
  })
}
