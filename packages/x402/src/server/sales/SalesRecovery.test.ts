import assert from 'node:assert/strict'
import test from 'node:test'
import { GateEvents, Notifications } from '../gate/GateEvents.js'
import type { PaymentEvent } from '../gate/GateOptions.js'
import { MemoryClaims } from '../store/Claims.js'
import { type Sale, SalesLog } from '../store/Sales.js'
import { network, newLedger, stubChain } from '../stubs.test.helper.js'
import { SalesRecovery } from './SalesRecovery.js'

const hourMs = 3_600_000

function sale(transactionId: string, change: Partial<Sale>): Sale {
  const what = { payer: 'P', payTo: 'S', amount: '10000', asset: '10458941', assetName: 'USDC', decimals: 6, network }
  const where = { route: 'GET /a', method: 'GET', path: '/a', round: undefined, firstValid: 900, lastValid: 990 }
  const timeMs = Date.now() - hourMs
  return { transactionId, timeMs, outcome: 'verified', code: '', isDue: true, ...what, ...where, ...change }
}

async function recovery(sales: readonly Sale[], { hasHook = true } = {}) {
  const told: PaymentEvent[] = []
  const errors: unknown[] = []
  const onError = (error: unknown): void => void errors.push(error)
  const ledger = newLedger()
  const { sales: store } = new MemoryClaims()
  store.record(sales)
  const log = new SalesLog(store, onError)
  const hooks = hasHook ? { onSettled: (event: PaymentEvent) => void told.push(event) } : {}
  const notifications = new Notifications({ hooks, onError })
  const events = new GateEvents(notifications, log)
  const chains = [await stubChain(ledger)]
  const recover = new SalesRecovery({ store, chains, events, log, onError, hasHook })
  const finish = async (): Promise<void> => {
    await notifications.close(5_000)
    await log.close(5_000)
  }
  return { recover, finish, store, ledger, told, errors }
}

test('reports missed settlements to the hook, once', async () => {
  const world = await recovery([
    sale('A', { outcome: 'settled', isDue: true, round: 7 }),
    sale('B', { outcome: 'settled', isDue: false }),
    sale('C', { outcome: 'settled', isDue: true, timeMs: Date.now() }),
  ])
  await world.recover.run()
  await world.recover.run()
  await world.finish()
  assert.deepEqual(
    world.told.map(({ id, payment }) => [id, payment.amountText, payment.state, payment.round]),
    [['A', '0.01 USDC', 'settled', 7]],
  )
  assert.deepEqual(world.store.open('due', Date.now() - 60_000, 10), [])
  assert.deepEqual(world.errors, [])
})

test('records the ledger’s outcome of payments that a process left', async () => {
  const world = await recovery([
    sale('SETTLED', {}),
    sale('NEVER', { outcome: 'pending' }),
    sale('OLD', { firstValid: 1, lastValid: 50 }),
    sale('VALID', { lastValid: 5_000 }),
    sale('NEW', { timeMs: Date.now() }),
    sale('ELSEWHERE', { network: 'algorand:other' }),
  ])
  world.ledger.transactions.set('SETTLED', { type: 'confirmed', round: 950n })
  await world.recover.run()
  await world.finish()
  const outcomes = world.store
    .list({ limit: 10 })
    .sales.map(({ transactionId, outcome, code }) => [transactionId, `${outcome} ${code}`.trim()])
  assert.deepEqual(Object.fromEntries(outcomes), {
    SETTLED: 'settled',
    NEVER: 'cancelled not_settled',
    OLD: 'unknown',
    VALID: 'verified',
    NEW: 'verified',
    ELSEWHERE: 'verified',
  })
  assert.deepEqual(
    world.told.map(({ id, payment }) => [id, payment.round]),
    [['SETTLED', 950]],
  )
  assert.deepEqual(
    world.store
      .revenue({})
      .filter(({ settled }) => settled > 0)
      .map(({ amount }) => amount),
    ['10000'],
  )
})

test('changes nothing if a node does not answer', async () => {
  const world = await recovery([sale('A', {})])
  world.ledger.isDown = true
  await world.recover.run()
  await world.finish()
  assert.deepEqual(
    world.store.list({ limit: 1 }).sales.map(({ outcome }) => outcome),
    ['verified'],
  )
  assert.deepEqual(world.errors, [])
})

test('reports nothing without a hook, and records settlements', async () => {
  const world = await recovery([sale('A', { isDue: false })], { hasHook: false })
  world.ledger.transactions.set('A', { type: 'confirmed', round: 950n })
  await world.recover.run()
  await world.finish()
  const [recorded] = world.store.list({ limit: 1 }).sales
  assert.deepEqual([recorded!.outcome, recorded!.isDue], ['settled', false])
})

test('leaves a payment due for the hook of another gate with the same store', async () => {
  const world = await recovery([sale('A', {})], { hasHook: false })
  world.ledger.transactions.set('A', { type: 'confirmed', round: 950n })
  await world.recover.run()
  await world.finish()
  assert.deepEqual(
    world.store.open('due', Date.now() + 1, 10).map(({ transactionId }) => transactionId),
    ['A'],
  )
})

test('payments that stay open do not delay later ones', async () => {
  const digits = (count: number): string => [...String(count)].map((digit) => 'ABCDEFGHIJ'[Number(digit)]).join('')
  const elsewhere = Array.from({ length: 450 }, (_, count) =>
    sale(`X${digits(count)}`, { network: 'algorand:other', timeMs: Date.now() - 2 * hourMs + count }),
  )
  const world = await recovery([...elsewhere, sale('LATER', {})])
  world.ledger.transactions.set('LATER', { type: 'confirmed', round: 950n })
  for (let runs = 0; runs < 3; runs++) await world.recover.run()
  await world.finish()
  assert.deepEqual(
    world.store.list({ outcomes: ['settled'], limit: 10 }).sales.map(({ transactionId }) => transactionId),
    ['LATER'],
  )
})

test('does nothing after it was stopped', async () => {
  const world = await recovery([sale('A', {})])
  world.ledger.transactions.set('A', { type: 'confirmed', round: 950n })
  world.recover.stop()
  await world.recover.run()
  await world.finish()
  assert.deepEqual(world.told, [])
})
