import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import { UptoPayment } from '@latchkey/x402-wire'
import { GateEvents, Notifications } from '../gate/GateEvents.js'
import type { PaymentEvent } from '../gate/GateOptions.js'
import { MemoryClaims } from '../store/Claims.js'
import { type Sale, SalesLog } from '../store/Sales.js'
import { address, network, newLedger, stubChain } from '../stubs.test.helper.js'
import { SalesRecovery } from './SalesRecovery.js'

const hourMs = 3_600_000

function sale(transactionId: string, change: Partial<Sale>): Sale {
  const what = { payer: 'P', payTo: 'S', amount: '10000', asset: '10458941', assetName: 'USDC', decimals: 6, network }
  const where = { route: 'GET /a', method: 'GET', path: '/a', round: undefined, firstValid: 900, lastValid: 990 }
  const timeMs = Date.now() - hourMs
  return { transactionId, timeMs, outcome: 'verified', code: '', isDue: true, ...what, ...where, ...change }
}

async function recovery(sales: readonly Sale[], { hasHook = true, quorum = 1 } = {}) {
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
  const chains = [await stubChain(ledger, quorum)]
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

test('finds the charges of authorizations in the blocks, and nothing else that holds their leases', async () => {
  const [payer, payTo, other] = [address(), address(), address()]
  const upto = (change: Partial<Sale>) => sale(UptoPayment.idOf(randomBytes(32)), { payer, payTo, ...change })
  const sales = {
    charged: upto({}),
    pending: upto({ outcome: 'pending', firstValid: 960, lastValid: 1_900 }),
    voided: upto({}),
    replaced: upto({}),
    more: upto({ amount: '4' }),
    unused: upto({}),
    valid: upto({ lastValid: 1_001 }),
    early: upto({ firstValid: 955 }),
    pruned: upto({ firstValid: 1, lastValid: 120 }),
    prunedLately: upto({ firstValid: 110, lastValid: 990 }),
    served: upto({ timeMs: Date.now() }),
  }
  const world = await recovery(Object.values(sales))
  const transfer = ({ transactionId, lastValid }: Sale, change: object = {}) => {
    const lx = Buffer.from(UptoPayment.leaseOfId(transactionId)).toString('base64')
    return { type: 'axfer', snd: payer, arcv: payTo, xaid: 10458941, aamt: 7, lx, lv: lastValid, ...change }
  }
  world.ledger.blocks.set(990, [transfer(sales.charged), { type: 'pay', snd: other }])
  world.ledger.blocks.set(1_000, [transfer(sales.pending, { aamt: undefined }), transfer(sales.served)])
  world.ledger.blocks.set(950, [
    transfer(sales.voided, { arcv: other }),
    transfer(sales.replaced, { lv: 989 }),
    transfer(sales.more),
    transfer(sales.unused, { snd: other }),
    transfer(sales.early),
  ])
  world.ledger.firstBlock = 115
  await world.recover.run()
  await world.finish()
  const found = new Map(world.store.list({ limit: 20 }).sales.map((one) => [one.transactionId, one]))
  const outcomeOf = ({ transactionId }: Sale): string => {
    const { outcome, amount, round } = found.get(transactionId)!
    return outcome === 'settled' ? `settled ${amount} in ${round}` : outcome
  }
  assert.deepEqual(
    Object.entries(sales).map(([name, one]) => `${name}: ${outcomeOf(one)}`),
    [
      'charged: settled 7 in 990',
      'pending: settled 0 in 1000',
      'voided: cancelled',
      'replaced: cancelled',
      'more: cancelled',
      'unused: cancelled',
      'valid: verified',
      'early: cancelled',
      'pruned: unknown',
      'prunedLately: verified',
      'served: verified',
    ],
  )
  assert.deepEqual(world.told.map(({ payment }) => payment.amount).sort(), ['0', '7'])
  const reads = world.ledger.blockReads
  await world.recover.run()
  assert.ok(world.ledger.blockReads - reads <= 8, 'blocks are read once, and again only if they are missing')
})

test('a charge of an authorization is absent only if a quorum of nodes says so', async () => {
  const left = sale(UptoPayment.idOf(randomBytes(32)), { payer: address(), payTo: address() })
  const world = await recovery([left], { quorum: 2 })
  await world.recover.run()
  await world.finish()
  assert.deepEqual(
    world.store.list({ limit: 1 }).sales.map(({ outcome }) => outcome),
    ['verified'],
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
