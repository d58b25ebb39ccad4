/** The checker finds each kind of fault in a history of a few lines, and none in a correct history. */
import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Revenue, Sale } from '@latchkey/x402/server'
import { checkHistory, type Rule, type Setting } from './checkHistory.test.helper.js'
import {
  type Happening,
  type History,
  HistoryLog,
  type LedgerLine,
  type Line,
  readLines,
} from './history.test.helper.js'
import { compareSales } from './salesBooks.test.helper.js'
import { waitsBehindKilled } from './waits.test.helper.js'

const setting: Setting = { feePayers: ['SPONSOR'], feesPerPayTo: 4_000n, feesInAll: 6_000n }

const intent = (purchase: string): Happening => ({ type: 'intent', purchase, payer: 'BUYER', payTo: 'SELLER' })
const signed = (purchase: string, transactionId: string): Happening => {
  return { type: 'signed', purchase, transactionId, payTo: 'SELLER', amount: '1000' }
}
const answer = (purchase: string, transactionId: string, answer = `answer of ${purchase}`): Happening => {
  return { type: 'answer', purchase, transactionId, answer }
}
const sent = (purchase: string, transactionId: string, answer = `answer of ${purchase}`): Happening => {
  return { type: 'sent', purchase, transactionId, answer }
}
const handled = (purchase: string, transactionId: string, answer = `answer of ${purchase}`): Happening => {
  return { type: 'handled', purchase, transactionId, answer }
}
const whole = (purchase: string, transactionId: string): Happening[] => [
  intent(purchase),
  signed(purchase, transactionId),
  handled(purchase, transactionId),
  { type: 'settle', transactionId, success: false, reason: 'settlement_pending' },
  { type: 'settle', transactionId, success: true },
  sent(purchase, transactionId),
  answer(purchase, transactionId),
]

/** Returns a payment on the ledger, with its fee. */
function paid(transactionId: string, receiver = 'SELLER', amount = '1000'): LedgerLine[] {
  const shared = { round: 1, group: `group of ${transactionId}` }
  return [
    {
      ...shared,
      transactionId,
      paymentId: transactionId,
      sender: 'BUYER',
      receiver,
      asset: 10,
      amount,
      feeMicroAlgos: '0',
    },
    {
      ...shared,
      transactionId: `fee of ${transactionId}`,
      paymentId: `fee of ${transactionId}`,
      sender: 'SPONSOR',
      receiver: 'SPONSOR',
      asset: 0,
      amount: '0',
      feeMicroAlgos: '2000',
    },
  ]
}

function history(happenings: readonly Happening[], ledger: readonly LedgerLine[]): History {
  return { lines: happenings.map((happening, index) => ({ atMs: index, process: 'one', ...happening })), ledger }
}

function found(happenings: readonly Happening[], ledger: readonly LedgerLine[]): Rule[] {
  return checkHistory(history(happenings, ledger), setting).map(({ rule }) => rule)
}

test('finds nothing if each purchase was paid and answered once, or given up unpaid', () => {
  const refused: Happening[] = [intent('c'), signed('c', 'T3'), { type: 'refused', purchase: 'c', reason: 'budget' }]
  const again = [...whole('a', 'T1'), sent('a', 'T1'), answer('a', 'T1')]
  assert.deepEqual(found([...again, ...whole('b', 'T2'), ...refused], [...paid('T1'), ...paid('T2')]), [])
})

test('finds a purchase that was paid twice', () => {
  const lines = [...whole('a', 'T1'), signed('a', 'T2')]
  assert.deepEqual(found(lines, [...paid('T1'), ...paid('T2')]), ['paid twice'])
})

test('finds a payment without an answer, and a purchase that never ended', () => {
  assert.deepEqual(found([intent('a'), signed('a', 'T1')], paid('T1')), ['paid and not answered'])
  assert.deepEqual(found([intent('a'), signed('a', 'T1')], []), ['never ended'])
  const refused: Happening = { type: 'refused', purchase: 'a', reason: 'none' }
  assert.deepEqual(found([intent('a'), signed('a', 'T1'), refused], paid('T1')), ['paid and not answered'])
})

test('finds an answer without a payment', () => {
  const lines = whole('a', 'T1').filter(({ type }) => type !== 'settle')
  assert.deepEqual(found(lines, []), ['answered and not paid'])
})

test('finds two answers for one payment, and one payment for two purchases', () => {
  assert.deepEqual(found([...whole('a', 'T1'), sent('a', 'T1', 'another')], paid('T1')), [
    'two answers for one payment',
  ])
  const lines = [...whole('a', 'T1'), intent('b'), answer('b', 'T1', 'answer of a')]
  assert.deepEqual(found(lines, paid('T1')), ['one payment for two purchases'])
})

const begun = (purchase: string, transactionId: string, isOrder = true): Happening => {
  return { type: 'begun', purchase, transactionId, isOrder }
}
test('finds a handler that began after its answer was sent, but not one that began before', () => {
  assert.deepEqual(found([...whole('a', 'T1'), begun('a', 'T1', false)], paid('T1')), ['begun again after it was sent'])
  assert.deepEqual(found([begun('a', 'T1', false), ...whole('a', 'T1'), handled('a', 'T1', 'late')], paid('T1')), [])
})

const lost = (purchase: string, transactionId: string): Happening => ({ type: 'lost', purchase, transactionId })

test('finds an order that began twice, but not a report that did', () => {
  const twice = (isOrder: boolean): Happening[] => [
    begun('p', 't', isOrder),
    begun('p', 't', isOrder),
    ...whole('p', 't'),
  ]
  assert.deepEqual(found(twice(true), paid('t')), ['done twice'])
  assert.deepEqual(found(twice(false), paid('t')), [])
})

test('finds a lost response that was sent or could have been remade, but not that of an order', () => {
  const order = [intent('p'), signed('p', 't'), begun('p', 't'), lost('p', 't')]
  assert.deepEqual(found(order, paid('t')), [])
  assert.deepEqual(found([...order, sent('p', 't')], paid('t')), ['answered and lost'])
  const report = [intent('p'), signed('p', 't'), begun('p', 't', false), lost('p', 't')]
  assert.deepEqual(found(report, paid('t')), ['lost, and not an order'])
})

test('measures how long buyers wait for a killed gate, but not for a running one', () => {
  const at = (atMs: number, process: string, happening: Happening): Line => ({ atMs, process, ...happening })
  const claimed = (transactionId: string): Happening => ({ type: 'claimed', transactionId, result: 'new' })
  const busy = (transactionId: string): Happening => ({ type: 'busy', transactionId })
  const lines = [
    at(0, 'gate-1', claimed('killed')),
    at(1, 'gate-2', claimed('living')),
    at(2, 'gate-1', claimed('ended')),
    at(3, 'gate-1', claimed('unwanted')),
    at(4, 'gate-1', claimed('forever')),
    at(5, 'gate-1', { type: 'ended', transactionId: 'ended', end: 'served' }),
    at(1_000, 'test', { type: 'killed', victim: 'gate-1' }),
    ...['killed', 'living', 'ended', 'forever'].map((id) => at(2_000, 'buyer', busy(id))),
    at(5_000, 'gate-2', claimed('unwanted')),
    at(30_000, 'buyer', busy('killed')),
    at(300_000, 'gate-2', claimed('killed')),
    at(390_000, 'gate-2', claimed('living')),
  ]
  assert.deepEqual(waitsBehindKilled(lines), { payments: 2, longestSeconds: 29, unresolved: 1 })
})

test('finds replica responses that contradict the ledger', () => {
  const success: Happening = { type: 'settle', transactionId: 'T9', success: true }
  assert.deepEqual(found([...whole('a', 'T1'), success], paid('T1')), ['settled in a response, and not on the ledger'])
  const reason = 'invalid_exact_avm_settlement_failed'
  const failure: Happening = { type: 'settle', transactionId: 'T1', success: false, reason }
  assert.deepEqual(found([...whole('a', 'T1'), failure], paid('T1')), ['failed in a response, and on the ledger'])
})

test('finds a payment on the ledger that a replica still reports as pending at the end', () => {
  const pending: Happening = { type: 'settle', transactionId: 'T1', success: false, reason: 'settlement_pending' }
  assert.deepEqual(found([...whole('a', 'T1'), { type: 'quiet' }, pending], paid('T1')), ['not decided in the end'])
  assert.deepEqual(found([...whole('a', 'T1'), pending, { type: 'quiet' }], paid('T1')), [])
  const other: Happening = { ...pending, transactionId: 'T2' }
  assert.deepEqual(found([{ type: 'quiet' }, other], []), ['not decided in the end'])
})

test('finds fees over the budget of one seller, and of all', () => {
  const lines = ['T1', 'T2', 'T3'].flatMap((id) => whole(`purchase of ${id}`, id))
  assert.deepEqual(
    found(
      lines,
      ['T1', 'T2', 'T3'].flatMap((id) => paid(id)),
    ),
    ['fees over budget'],
  )
  const fourth = { ...signed('d', 'T4'), payTo: 'OTHER' } as Happening
  const more = [...lines, intent('d'), fourth, answer('d', 'T4')]
  const ledger = [...['T1', 'T2', 'T3'].flatMap((id) => paid(id)), ...paid('T4', 'OTHER')]
  assert.deepEqual(found(more, ledger), ['fees over budget', 'fees over budget'])
})

test('finds a transfer that no buyer signed, with a different amount, or with two fees', () => {
  assert.deepEqual(found([], paid('T1')), ['not what was signed'])
  assert.deepEqual(found(whole('a', 'T1'), paid('T1', 'SELLER', '1001')), ['not what was signed'])
  const [payment, fee] = paid('T1')
  const second = { ...fee!, transactionId: 'second fee' }
  assert.deepEqual(found(whole('a', 'T1'), [payment!, fee!, second]), ['not what was signed'])
})

/** A purchase of a good sold by usage, whose handler charged these totals. */
const metered = (id: string, charges: readonly string[], charge = charges.at(-1)!, isStream = false): Happening[] => [
  intent('u'),
  { type: 'signed', purchase: 'u', transactionId: id, payTo: 'SELLER', amount: '3000' },
  ...charges.map((charge): Happening => ({ type: 'used', purchase: 'u', transactionId: id, charge, isStream })),
  { type: 'settle', transactionId: id, success: true, charge: charges.at(-1)! },
  { type: 'answer', purchase: 'u', transactionId: id, answer: 'one', charge },
]
const charged = (id: string, amount: string): LedgerLine[] => paid(id, 'SELLER', amount)

test('finds a charge by usage that is not what was used, delivered or answered', () => {
  const id = 'upto-A'
  assert.deepEqual(found(metered(id, ['1200']), charged(id, '1200')), [])
  assert.deepEqual(found(metered(id, ['100', '0']), []), [], 'a charge of nothing')
  const lines = metered(id, ['1200'])
  const replica = 'charged other than answered by a replica'
  const delivered = 'charged other than delivered'
  assert.deepEqual(found(lines, charged(id, '3000')), ['charged and not used', delivered, replica])
  assert.deepEqual(found(lines, charged(id, '3001')).slice(0, 1), ['not what was signed'])
  const unpaid = ['answered and not paid', 'never ended', 'settled in a response, and not on the ledger']
  const rules = found(lines, [])
  assert.deepEqual(
    unpaid.filter((rule) => rules.includes(rule as Rule)),
    [unpaid[0], unpaid[2]],
  )
  assert.ok(rules.includes('used and not charged'))
  assert.ok(found(metered(id, ['1200', '1300'], '1200'), charged(id, '1300')).includes(delivered))
})

test('finds a stream that was delivered and never charged, but not one that was cut and charged', () => {
  const id = 'upto-A'
  const received: Happening = { type: 'received', purchase: 'u', transactionId: id, charge: '500' }
  const cut = metered(id, ['500', '900'], '900', true).filter(({ type }) => type !== 'answer' && type !== 'settle')
  const ended: Happening = { type: 'lost', purchase: 'u', transactionId: id }
  for (const amount of ['500', '900']) assert.deepEqual(found([...cut, received, ended], charged(id, amount)), [])
  assert.deepEqual(found([...cut, received, ended], []), ['used and not charged'])
  assert.deepEqual(found([...cut, received, ended], charged(id, '499')), ['charged and not used'])
  const all: Happening = { ...received, charge: '900' }
  assert.deepEqual(found([...cut, all, ended], charged(id, '500')), [], 'a killed gate loses what it had not stored')
  const { lines, ledger } = history([...cut, all, ended], charged(id, '500'))
  const late = lines.map((line) => (line.type === 'used' && line.charge === '900' ? { ...line, atMs: 11_100 } : line))
  const rules = checkHistory({ lines: late, ledger }, setting).map(({ rule }) => rule)
  assert.deepEqual(rules, ['used and not charged'], 'but no more than some seconds')
  const whole = metered(id, ['500', '900'], '900', true)
  assert.deepEqual(found([...whole, ended], charged(id, '900')), [], 'a stream is sent once')
})

test('reads the logs of several processes in chronological order, without a truncated line', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-history-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const [one, two] = [new HistoryLog(directory, 'one'), new HistoryLog(directory, 'two')]
  two.add(intent('b'))
  one.add(intent('a'))
  appendFileSync(join(directory, 'one.history.jsonl'), '{"atMs":')
  const lines = readLines(directory)
  assert.deepEqual(
    lines.map(({ process, type }) => `${process} ${type}`),
    ['one started', 'two started', 'two intent', 'one intent'],
  )
})

/** Two payments on the ledger, and the seller's records of them. */
function books(change: { sale?: Partial<Sale>; revenue?: Partial<Revenue>; more?: Partial<Sale> } = {}): string[] {
  const payments = new Map(
    [...paid('T1'), ...paid('T2')].filter(({ asset }) => asset === 10).map((line) => [line.transactionId, line]),
  )
  const sale = {
    outcome: 'settled',
    route: 'GET /a',
    payer: 'BUYER',
    payTo: 'SELLER',
    amount: '1000',
    asset: '10',
    round: 1,
  }
  const unpaid = { ...sale, transactionId: 'T3', outcome: 'cancelled', round: undefined, ...change.more }
  const sales = [{ ...sale, transactionId: 'T1' }, { ...sale, transactionId: 'T2', ...change.sale }, unpaid] as Sale[]
  const revenue = [{ route: 'GET /a', settled: 2, amount: '2000', ...change.revenue }] as Revenue[]
  return compareSales({ sales, revenue }, payments)
}

test('finds sales that differ from the ledger, one by one and in sums', () => {
  assert.deepEqual(books(), [])
  assert.deepEqual(books({ sale: { round: undefined } }), [], 'not every facilitator tells the round')
  assert.deepEqual(books({ sale: { outcome: 'pending' } }), ['T2 is pending at its seller, and on the ledger'])
  assert.deepEqual(books({ more: { outcome: 'settled' } }), ['T3 is settled at its seller, and not on the ledger'])
  const free = { transactionId: 'upto-A', outcome: 'settled', amount: '0', route: 'GET /b' } as const
  assert.deepEqual(books({ more: { ...free, amount: '5' } }).slice(0, 1), [
    'upto-A is settled at its seller, and not on the ledger',
  ])
  assert.deepEqual(
    books({ more: free }),
    ['GET /b has sold for 0 in 0 payments, and the ledger has 0 in 1 payments'],
    'a charge of nothing is a sale',
  )
  assert.deepEqual(books({ more: { outcome: 'verified' } }), ['T3 is verified at its seller in the end'])
  for (const sale of [{ amount: '1001' }, { payer: 'OTHER' }, { payTo: 'OTHER' }, { asset: '11' }, { round: 2 }]) {
    assert.deepEqual(books({ sale }), ['T2 is other than on the ledger at its seller'])
  }
  assert.ok(books({ sale: { transactionId: 'T4' } }).includes('T2 is on the ledger, and unknown to its seller'))
  assert.deepEqual(books({ revenue: { amount: '2001' } }), [
    'GET /a has sold for 2001 in 2 payments, and the ledger has 2000 in 2 payments',
  ])
  assert.equal(books({ revenue: { settled: 3 } }).length, 1)
  assert.equal(books({ revenue: { route: 'GET /b' } }).length, 2)
})
