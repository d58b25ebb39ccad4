import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Payment } from '@latchkey/x402/client'
import { FilePayments } from '@latchkey/x402/file'
import { OpenPaymentError, oneOpenPayment } from './Purchase.js'

const payment: Payment = {
  ...{ transactionId: 'A', network: 'algorand:x', url: 'https://shop.example/', payTo: 'P', asset: '1', amount: '5' },
  ...{ microDollars: '5', firstValid: '1', lastValid: '9', signedMs: 1, state: 'open', requestId: 'r' },
}

test('a second payment for a URL is not recorded while one is open, not even by another process', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-mcp-log-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const path = join(directory, 'payments.jsonl')
  const [one, other] = [oneOpenPayment(new FilePayments(path)), oneOpenPayment(new FilePayments(path))]
  one.add(payment)
  const second = { ...payment, transactionId: 'B', requestId: 'other' }
  for (const log of [one, other]) {
    assert.throws(
      () => log.add(second),
      (error) => error instanceof OpenPaymentError && error.payment.transactionId === 'A',
    )
  }
  other.add({ ...second, url: 'https://shop.example/other' })
  one.update('A', 'settled')
  assert.throws(() => other.add({ ...second, url: 'https://shop.example/other', transactionId: 'C' }), OpenPaymentError)
  other.add({ ...second, transactionId: 'D' })
  assert.deepEqual(
    one.all().map(({ transactionId }) => transactionId),
    ['A', 'B', 'D'],
  )
})
