import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StackEvent } from './EventPrinter.js'
import { LedgerEvents, sellerEvents, signatureEvents } from './stackEvents.js'

const id = (letter: string): string => letter.repeat(52)
const line = (round: number, letter: string): string =>
  `round ${round}  ${id(letter)}  AAAAAAAA… pays 1 ALGO to BBBBBBBB…`

function collect(): { events: StackEvent[]; texts: () => string[]; onEvent: (event: StackEvent) => void } {
  const events: StackEvent[] = []
  return { events, texts: () => events.map(({ text }) => text), onEvent: (event) => void events.push(event) }
}

test('the facilitator reports transactions of a settlement; others are reported here', async () => {
  const { texts, onEvent } = collect()
  const ledger = new LedgerEvents(onEvent)
  ledger.onLine(line(1, 'A'))
  assert.deepEqual(texts(), ['round 1: AAAAAAAA… pays 1 ALGO to BBBBBBBB…, AAAAAAAA…'])
  const result = await ledger.during(async () => {
    ledger.onLine(line(2, 'B'))
    ledger.onLine(line(2, 'C'))
    ledger.onLine(line(3, 'D'))
    assert.equal(texts().length, 1, 'not known yet whose they are')
    return { transaction: id('B') }
  })
  assert.equal(ledger.roundOf(result.transaction), '2')
  assert.deepEqual(texts().slice(1), ['round 3: AAAAAAAA… pays 1 ALGO to BBBBBBBB…, DDDDDDDD…'])
})

test('a settlement that throws holds nothing back', async () => {
  const { texts, onEvent } = collect()
  const ledger = new LedgerEvents(onEvent)
  const failing = ledger.during(async () => {
    ledger.onLine(line(1, 'A'))
    throw new Error('no node')
  })
  await assert.rejects(failing, /no node/)
  assert.equal(texts().length, 1)
})

test('rejected transactions are reported with their reason', () => {
  const { events, onEvent } = collect()
  new LedgerEvents(onEvent).onLine('rejected  AAAAAAAA… pays 1 ALGO: overspend')
  assert.deepEqual(events, [{ part: 'devnet', kind: 'refused', text: 'rejected AAAAAAAA… pays 1 ALGO: overspend' }])
})

const facts = {
  ...{ transactionId: id('T'), program: '', type: 'axfer', sender: 'S'.repeat(58), receiver: 'R'.repeat(58) },
  ...{ amount: 10_000n, assetId: 31566704n, feeMicroAlgos: 0n, warnings: [] },
}
const record = { number: 1, atMs: 0, walletKey: 'w', isMultisig: false }

test('signatures are reported by their purpose', () => {
  const { texts, onEvent } = collect()
  const onSignature = signatureEvents(onEvent)
  onSignature({ ...record, facts })
  onSignature({ ...record, facts: { ...facts, type: 'pay', assetId: 0n, amount: 1_500_000n } })
  onSignature({ ...record, facts: { ...facts, assetId: 7n } })
  onSignature({ ...record, facts: { ...facts, type: 'acfg', receiver: '' } })
  onSignature({ ...record, facts: { ...facts, type: 'program', transactionId: '' } })
  assert.deepEqual(texts(), [
    'signed TTTTTTTT…: SSSSSSSS… sends $0.01 to RRRRRRRR…',
    'signed TTTTTTTT…: SSSSSSSS… sends 1.5 ALGO to RRRRRRRR…',
    'signed TTTTTTTT…: SSSSSSSS… sends 10,000 base units of asset 7 to RRRRRRRR…',
    'signed TTTTTTTT…: a transaction of type acfg of SSSSSSSS…',
    'signed a program for SSSSSSSS…',
  ])
})

test("a buyer's input is quoted and bounded", () => {
  const { texts, onEvent } = collect()
  const { onPaymentRequired, onRefused } = sellerEvents(onEvent)
  const request = { id: 'x', timeMs: 0, route: 'GET /weather', method: 'GET', path: `/\x1b[2J${'y'.repeat(1_000)}` }
  onPaymentRequired!({ ...request, path: '/weather', prices: ['0.01 USDC'] })
  onRefused!({ ...request, code: 'invalid_payload', message: `"\n${'z'.repeat(1_000)}`, payment: undefined })
  const [sent, refused] = texts()
  assert.equal(sent, '402 sent for GET /weather: 0.01 USDC')
  assert.match(refused!, /^refused for GET "\/\\u001b\[2Jy+": invalid_payload, "\\"\?z+"$/)
  assert.ok(refused!.length < 260)
})
