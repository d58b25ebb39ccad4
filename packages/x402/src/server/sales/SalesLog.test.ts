import assert from 'node:assert/strict'
import test from 'node:test'
import { MemoryClaims } from '../store/Claims.js'
import { type Sale, type SaleStore, SalesLog } from '../store/Sales.js'
import {
  admitted,
  answer,
  ask,
  newLedger,
  paymentFor,
  price,
  priced,
  requiredIn,
  responseOf,
  stubFacilitator,
  stubGate,
} from '../stubs.test.helper.js'

async function outcomes(claims: MemoryClaims): Promise<string[]> {
  return claims.sales
    .list({ limit: 100 })
    .sales.map(({ outcome, code }) => (code === '' ? outcome : `${outcome} ${code}`))
}

test('a gate records sales with the claim, and their outcome', async () => {
  const claims = new MemoryClaims()
  const world = await stubGate({ claims })
  const { header, transactionId } = paymentFor(await priced(world), world.chain)
  const admission = admitted(await world.gate.decide(ask('/a', header)))
  assert.deepEqual(await outcomes(claims), ['verified'])
  await admission.settle(answer)
  await world.gate.close()
  const [sale] = claims.sales.list({ limit: 1 }).sales
  const { payer: _, timeMs, payTo: __, network, ...rest } = sale!
  assert.ok(Math.abs(Date.now() - timeMs) < 600_000)
  assert.equal(network, world.chain.caip2)
  assert.deepEqual(rest, {
    transactionId,
    outcome: 'settled',
    code: '',
    route: 'GET /a',
    method: 'GET',
    path: '/a',
    amount: '10000',
    asset: '10458941',
    assetName: 'USDC',
    decimals: 6,
    round: rest.round,
    firstValid: rest.firstValid,
    lastValid: rest.lastValid,
    isDue: false,
  })
  assert.equal(responseOf(await world.gate.decide(ask('/a', header))).status, 402)
  assert.deepEqual(
    claims.sales.revenue({}).map(({ settled, failed, amount }) => [settled, failed, amount]),
    [[1, 0, '10000']],
  )
})

test('records failed handlers, refusals and undecided payments with their outcome', async () => {
  const claims = new MemoryClaims()
  const ledger = newLedger()
  let answerOf: 'fail' | 'lost' | 'invalid' = 'fail'
  const facilitators = stubFacilitator(ledger, {
    verify: async () => (answerOf === 'invalid' ? { isValid: false, invalidReason: 'poor' } : { isValid: true }),
    settle: async (_, { network }) => {
      if (answerOf === 'lost') throw new Error('lost')
      return { success: false, errorReason: 'bad', transaction: '', network }
    },
  })
  const world = await stubGate({ claims, facilitators }, ledger)
  const pay = async (round: bigint) => ask('/a', paymentFor(await priced(world), world.chain, { round }).header)
  await admitted(await world.gate.decide(await pay(1_000n))).cancel()
  await admitted(await world.gate.decide(await pay(1_001n))).settle(answer)
  answerOf = 'lost'
  await admitted(await world.gate.decide(await pay(1_002n))).settle(answer)
  answerOf = 'invalid'
  responseOf(await world.gate.decide(await pay(1_003n)))
  await world.gate.close()
  assert.deepEqual((await outcomes(claims)).sort(), [
    'cancelled handler_failed',
    'pending',
    'refused bad',
    'refused poor',
  ])
})

test('a payment that was settled elsewhere is refused, and is not a sale', async () => {
  const claims = new MemoryClaims()
  const ledger = newLedger()
  const world = await stubGate({ claims }, ledger)
  const { header, transactionId } = paymentFor(await priced(world), world.chain)
  ledger.transactions.set(transactionId, { type: 'confirmed', round: 999n })
  assert.equal(responseOf(await world.gate.decide(ask('/a', header))).status, 402)
  await world.gate.close()
  assert.deepEqual(await outcomes(claims), ['refused payment_already_used'])
  assert.deepEqual(claims.sales.open('undecided', Number.MAX_SAFE_INTEGER, 10), [])
})

test('does not record a payment as not charged if its repeat fails, because it may be on the ledger', async () => {
  for (const isOnLedger of [true, false]) {
    const claims = new MemoryClaims({ maxHeldBytes: 1 })
    const ledger = newLedger()
    const facilitators = stubFacilitator(ledger, { settle: () => Promise.reject(new Error('lost')) })
    const world = await stubGate({ claims, facilitators }, ledger)
    const { header, transactionId } = paymentFor(await priced(world), world.chain)
    assert.ok('response' in (await admitted(await world.gate.decide(ask('/a', header))).settle(answer)))
    if (isOnLedger) ledger.transactions.set(transactionId, { type: 'confirmed', round: 1_000n })
    await admitted(await world.gate.decide(ask('/a', header))).cancel()
    await world.gate.close()
    assert.deepEqual(await outcomes(claims), [isOnLedger ? 'settled' : 'pending'])
  }
})

test('refuses a payment that no ledger accepts for a long time, before it is claimed', async () => {
  const claims = new MemoryClaims()
  const facilitators = stubFacilitator(newLedger(), { settle: () => Promise.reject(new Error('lost')) })
  const world = await stubGate({ claims, facilitators, routes: { 'POST /a': { accepts: price } } })
  const post = { method: 'POST' }
  const required = requiredIn(responseOf(await world.gate.decide(ask('/a', undefined, post))))
  const { header } = paymentFor(required, world.chain, { round: 1_000_000_000n })
  const response = responseOf(await world.gate.decide(ask('/a', header, post)))
  assert.equal(requiredIn(response).error, 'invalid_exact_avm_payload_validity')
  await world.gate.close()
  assert.equal(claims.size, 0)
  assert.deepEqual(await outcomes(claims), ['refused invalid_exact_avm_payload_validity'])
})

function failing(store: SaleStore, failures: number): { store: SaleStore; calls: () => number } {
  let calls = 0
  const record = (sales: readonly Sale[]): void => {
    if (calls++ < failures) throw new Error('disk is full')
    store.record(sales)
  }
  return { store: { ...bound(store), record }, calls: () => calls }
}

function bound(store: SaleStore): SaleStore {
  return {
    record: (sales) => store.record(sales),
    list: (query) => store.list(query),
    revenue: (query) => store.revenue(query),
    open: (which, beforeMs, limit) => store.open(which, beforeMs, limit),
    delivered: (ids) => store.delivered(ids),
  }
}

test('retries rejected writes in order, and reports the failure once', async (t) => {
  // Waiting for the next write does not keep a process alive.
  const alive = setInterval(() => {}, 1_000)
  t.after(() => clearInterval(alive))
  const memory = new MemoryClaims().sales
  const errors: Error[] = []
  const { store, calls } = failing(memory, 1)
  const log = new SalesLog(store, (error) => void errors.push(error as Error))
  log.add(recorded('A', 'verified'))
  log.add(recorded('A', 'settled'))
  while (calls() < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  await log.close(1_000)
  assert.deepEqual(
    memory.list({ limit: 5 }).sales.map(({ outcome }) => outcome),
    ['settled'],
  )
  assert.deepEqual(
    errors.map(({ message }) => message),
    ['disk is full'],
  )
})

test('close gives up on a failing store, and reports the unrecorded outcomes', async () => {
  const errors: Error[] = []
  const { store } = failing(new MemoryClaims().sales, Number.POSITIVE_INFINITY)
  const log = new SalesLog(store, (error) => void errors.push(error as Error))
  log.add(recorded('A', 'settled'))
  await log.close(1_000)
  assert.equal(errors.at(-1)?.message, 'could not record 1 payment outcome')
})

test('a flood of failures leaves room for payments', async () => {
  const memory = new MemoryClaims().sales
  const log = new SalesLog(memory, () => {})
  for (let count = 0; count < 3_000; count++) log.add(recorded(`F${'ABCDEFGHIJ'[count % 10]}${count}`, 'refused'))
  log.add(recorded('A', 'settled'))
  await log.close(10_000)
  assert.equal(memory.list({ outcomes: ['settled'], limit: 5 }).sales.length, 1)
  assert.equal(
    memory.revenue({}).reduce((sum, { failed }) => sum + failed, 0),
    2_000,
  )
})

function recorded(transactionId: string, outcome: Sale['outcome']): Sale {
  const what = { payer: 'P', payTo: 'S', amount: '1', asset: '0', assetName: 'ALGO', decimals: 6, network: 'n' }
  const where = { route: 'GET /a', method: 'GET', path: '/a', round: undefined, firstValid: 1, lastValid: 2 }
  return { transactionId, timeMs: Date.now(), outcome, code: '', isDue: false, ...what, ...where }
}
