/** Streams that are charged by usage, whose gate was killed, or whose settlement stays undecided. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Accept, MemoryClaims } from '@latchkey/x402/server'
import { authorizationFor } from './support/authorizations.test.helper.js'
import { killed, later, through, usageStores } from './support/killedStream.test.helper.js'
import { altered, openMarket, repeated, until } from './support/market.test.helper.js'
import { charging, newSeller, openShop } from './support/uptoShop.test.helper.js'

const timeout = 120_000
const market = await openMarket({ after })

const stores = usageStores('upto-recovery-')

for (const [name, openStore] of Object.entries(stores)) {
  test(`${name}: another gate charges for what was used until a gate was killed`, { timeout }, async (t) => {
    const claims = openStore(t)
    const { received, transactionId, replica } = await killed(market, t, claims, 0)
    await replica({ claims })
    await sleep(200)
    assert.equal(await received(), 0n, 'the gate may still run')
    await replica({ claims: later(claims, 100_000) })
    await until(async () => (await received()) === 100_000n)
    await until(async () => (await claims.usage!.chargeOf(transactionId)) === undefined)
    await until(async () => (await claims.sales!.list({ limit: 1 })).sales[0]!.outcome === 'settled')
    assert.equal((await claims.sales!.list({ limit: 1 })).sales[0]!.amount, '100000')
  })

  test(`${name}: the payment of a stream whose gate was killed is charged, and opens no second one`, {
    timeout,
  }, async (t) => {
    const claims = openStore(t)
    const { header, received, replica, runs } = await killed(market, t, claims, 1)
    // The recovery is left out: the buyer comes first.
    const second = await replica({
      claims: through(later(claims, 400_000), (name, work) => (name === 'takeAbandoned' ? [] : work())),
    })
    const response = await repeated(second.url, header)
    assert.equal(response.status, 500)
    assert.match(await response.text(), /response_lost|lost/)
    assert.deepEqual([await received(), runs()], [100_000n, 1])
  })

  test(`${name}: a payer is not refused if its charge is on the ledger, and the facilitator does not respond`, {
    timeout,
  }, async (t) => {
    const claims = openStore(t)
    const { received, replica, transactionId } = await killed(market, t, claims, 3)
    // The settlement arrives, and its response is lost.
    let isSettled = false
    const lost = altered(market.local, {
      settle: async (...call) => {
        if (!isSettled) await market.local.settle(...call)
        isSettled = true
        throw new Error('the response is lost')
      },
    })
    await replica({ claims: later(claims, 100_000), facilitators: lost })
    await until(async () => (await received()) === 100_000n)
    for (let blocks = 0; blocks < 1_000; blocks++) market.devnet.mine()
    await sleep(1_100)
    await replica({ claims: later(claims, 200_000), facilitators: lost })
    await until(async () => (await claims.usage!.chargeOf(transactionId)) === undefined)
    const payer = market.devnet.accounts[3]!.address
    assert.equal(await claims.usage!.isUnpaid(payer, Date.now()), false)
    const latest = async () => (await claims.sales!.list({ limit: 1 })).sales[0]!
    await until(async () => (await latest()).outcome !== 'verified')
    const { outcome, amount } = await latest()
    assert.deepEqual([outcome, amount], ['settled', '100000'])
  })
}

test('a handler that fails after a part of its stream charges nothing, even later', { timeout }, async (t) => {
  const claims = new MemoryClaims()
  const seller = newSeller(market)
  const accepts: Accept = { price: { upTo: '$0.50', stream: true }, payTo: seller }
  const { url } = await openShop(
    market,
    t,
    (_, response, payment) => {
      payment.charge!('$0.1')
      response.write('a part')
      setTimeout(() => response.destroy(), 20)
    },
    { claims, routes: { '/model': { accepts } } },
  )
  const header = await authorizationFor(market, await fetch(url), { rounds: 900n })
  await assert.rejects(async () => (await repeated(url, header)).text())
  const { transactionId } = claims.sales.list({ limit: 1 }).sales[0]!
  await until(() => claims.usage.chargeOf(transactionId) === undefined)
  assert.deepEqual(claims.usage.takeAbandoned(10, 1, Date.now() + 1_000_000), [])
  assert.equal(await market.dollars(seller), 0n)
})

test('all streams of a killed gate are settled at once, before their authorizations expire', { timeout }, async (t) => {
  const claims = new MemoryClaims()
  const { transactionId } = await killed(market, t, claims, 3)
  const [one] = claims.usage.takeAbandoned(1, 1, Date.now() + 1_000_000)
  assert.equal(one!.transactionId, transactionId)
  const count = 250
  for (let index = 0; index < count; index++) {
    const id = index === 0 ? transactionId : `other-${index}`
    claims.usage.begin({ ...one!, transactionId: id }, 1, Date.now())
  }
  let running = 0
  let asked = 0
  let most = 0
  let goOn = (): void => {}
  const enough = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const settle: typeof market.local.settle = async (_, { network, amount }) => {
    most = Math.max(most, ++running)
    asked++
    if (running >= 20) goOn()
    // One after the other, they would take a block each.
    await enough
    running--
    return { success: true, transaction: 'A'.repeat(52), network, amount }
  }
  const facilitators = altered(market.local, { settle })
  await openShop(market, t, charging('$0.1'), { claims: later(claims, 100_000), facilitators })
  await until(() => asked === count)
  await until(() => claims.usage.takeAbandoned(1, 1, Date.now() + 1_000_000).length === 0)
  assert.ok(most >= 20 && most <= 100, `${most} at the same time`)
})

test('a settlement that is not decided is tried again soon, by any gate', { timeout }, async (t) => {
  const claims = new MemoryClaims()
  const { transactionId, received, replica } = await killed(market, t, claims, 0)
  let asked = 0
  const settle = async (): Promise<never> => {
    asked++
    throw new Error('no node responds')
  }
  await replica({ claims: later(claims, 100_000), facilitators: altered(market.local, { settle }) })
  await until(() => asked === 1)
  const leased = Date.now() + 100_000
  // The authorization may end before the lease of the first try would.
  await sleep(200)
  await replica({ claims: later(claims, leased - Date.now() + 15_000) })
  await until(async () => (await received()) === 100_000n)
  await until(async () => (await claims.usage!.chargeOf(transactionId)) === undefined)
})
