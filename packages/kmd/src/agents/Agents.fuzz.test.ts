/** Random payments of an agent, compared with a model that sums everything up each time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Transaction } from '@latchkey/algorand'
import type { Limit, Period } from '@latchkey/kmd-api/rules'
import { fuzzRuns } from '../testing/TestApp.test.helper.js'
import {
  count,
  key,
  limit,
  openAgents,
  pay,
  payee,
  rulesOf,
  startMs,
  stranger,
  transfer,
  usdc,
  walletId,
} from './AgentFixture.test.helper.js'
import type { LimitUse } from './Agents.js'

const hour = 3_600_000
const windows: { [period in Period]?: number } = { hour, day: 24 * hour, week: 168 * hour, '30days': 720 * hour }

type Payment = { id: string; atMs: number; payee: string; algos: bigint; dollars: bigint; bytes: Transaction.Canonical }

/** A seeded random number generator, so that failures can be reproduced. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function amountOf(one: Limit, payment: Payment): bigint {
  if (one.payee !== undefined && one.payee !== payment.payee) return 0n
  if (one.type === 'count') return 1n
  return one.assetId === 0n ? payment.algos : payment.dollars
}

function modelUse(one: Limit, payments: readonly Payment[], nowMs: number): LimitUse {
  const most = one.type === 'count' ? BigInt(one.count) : one.amount
  if (one.per === 'payment') return { limit: one, used: 0n, left: most, resetsAtMs: undefined }
  const windowMs = windows[one.per] ?? Number.POSITIVE_INFINITY
  const counted = payments.filter((payment) => payment.atMs + windowMs > nowMs && amountOf(one, payment) > 0n)
  const used = counted.reduce((sum, payment) => sum + amountOf(one, payment), 0n)
  const first = counted[0]
  const resetsAtMs = first === undefined || windowMs === Number.POSITIVE_INFINITY ? undefined : first.atMs + windowMs
  return { limit: one, used, left: used < most ? most - used : 0n, resetsAtMs }
}

test('sums agree with a model over random payments, returns, restarts and clocks', async (t) => {
  // A run has at least a thousand steps.
  for (let seed = 1; seed <= Math.ceil(fuzzRuns(8_000) / 1000); seed++) await run(t, seed)
})

async function run(t: Parameters<typeof openAgents>[0], seed: number): Promise<void> {
  const random = randomFrom(seed)
  const limits = limitsOf(random)
  let fixture = openAgents(t)
  const { agent, token } = await fixture.agents.create({
    ...{ name: 'x', walletId, keys: [{ ...key, privateKey: Buffer.from(key.privateKey) }] },
    ...{ rules: rulesOf(limits), expiresAtMs: undefined },
  })
  let payments: Payment[] = []
  let highestMs = startMs
  for (let step = 0; step < 120; step++) {
    fixture.clock.nowMs = Math.max(1, fixture.clock.nowMs + random(12 * hour) - 3 * hour)
    highestMs = Math.max(highestMs, fixture.clock.nowMs)
    const where = `seed ${seed}, step ${step}`
    const action = random(12)
    if (action === 0) {
      await fixture.close()
      const { nowMs } = fixture.clock
      fixture = openAgents(t, fixture.directory)
      fixture.clock.nowMs = nowMs
      // Only the times of payments are written and survive a restart.
      highestMs = Math.max(nowMs, payments.at(-1)?.atMs ?? startMs, ...payments.map(({ atMs }) => atMs))
      const stored = fixture.agents.live[0]!
      highestMs = Math.max(highestMs, fixture.agents.spending.lastAtMs(stored.number) ?? 0)
    } else if (action === 1 && payments.length > 0) {
      const returned = payments[random(payments.length)]!
      await giveBack(fixture, returned)
      payments = payments.filter((one) => one !== returned)
    } else if (action === 2 && payments.length > 0) {
      await fixture.sign(token, payments[random(payments.length)]!.bytes)
    } else {
      const payment = paymentOf(random, highestMs)
      const fits = limits.every((one) => {
        const asked = amountOf(one, payment)
        const use = modelUse(one, payments, highestMs)
        return asked === 0n || asked <= use.left
      })
      const signed = await fixture.sign(token, payment.bytes).then(
        () => true,
        (error) => {
          assert.equal(error.code, 'agent_limit_exceeded', where)
          return false
        },
      )
      assert.equal(signed, fits, where)
      if (signed) payments.push(payment)
    }
    const expected = limits.map((one) => modelUse(one, payments, highestMs))
    const simple = (uses: readonly LimitUse[]) => uses.map(({ used, left, resetsAtMs }) => ({ used, left, resetsAtMs }))
    assert.deepEqual(simple(fixture.agents.budget(agent.id)), simple(expected), where)
  }
  await fixture.close()
}

function limitsOf(random: (below: number) => number): Limit[] {
  const periods = ['hour', 'day', 'week', '30days', 'total'] as const
  const per = () => periods[random(periods.length)]!
  // The periods of two limits on the same asset differ.
  const first = random(periods.length)
  const second = (first + 1 + random(periods.length - 1)) % periods.length
  return [
    limit(periods[first]!, BigInt(50 + random(100))),
    limit(periods[second]!, BigInt(50 + random(100))),
    limit('payment', BigInt(10 + random(20))),
    limit(per(), BigInt(50 + random(100)), usdc),
    limit(per(), BigInt(20 + random(50)), usdc, payee.address),
    count(per(), 5 + random(20)),
  ]
}

function paymentOf(random: (below: number) => number, atMs: number): Payment {
  const to = random(2) === 0 ? payee : stranger
  const amount = BigInt(1 + random(25))
  const fee = BigInt(random(3))
  const isDollars = random(2) === 0
  const bytes = isDollars ? transfer(amount, { arcv: to.publicKey, fee }) : pay(amount, { rcv: to.publicKey, fee })
  const id = Transaction.id(bytes.bytes)
  const sums = isDollars ? { algos: fee, dollars: amount } : { algos: amount + fee, dollars: 0n }
  return { id, atMs, payee: to.address, bytes, ...sums }
}

async function giveBack({ agents }: ReturnType<typeof openAgents>, { id }: Payment): Promise<void> {
  const stored = agents.live[0]!
  const network = stored.agent.rules.networks[0]!
  const open = agents.spending.over(stored.number, { network, lastValid: 10_000n, after: 0, count: 1_000 })
  const reservation = open.find(({ transactionId }) => Transaction.encodeId(transactionId) === id)
  await agents.spending.giveBack(stored, [reservation!])
}
