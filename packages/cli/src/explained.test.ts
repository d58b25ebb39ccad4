import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AlgodError, errors as algodErrors } from '@latchkey/algod'
import { errors as clientErrors, KmdClientError } from '@latchkey/kmd-client'
import { ChainError, PriceError, refusalReasons, SignerError } from '@latchkey/x402/client'
import { explainDaemonError } from './daemon.js'
import { CommandError, UsageError } from './errors.js'
import { describe } from './messages.js'
import { paymentRefused } from './paymentRefused.js'

const programmerWords = /`|\(\)|\{|timeoutMs|maxResponseBytes|dollarAssetId|historyBlocks/

test('appends the hint of a command-line error, but not of a package error', () => {
  assert.equal(describe(new CommandError('declined', 'text', { hint: 'do this' })), 'text; do this')
  assert.equal(describe(new UsageError('text.', { hint: 'do this' })), 'text. do this')
  assert.equal(describe(new Error('text')), 'text')
  assert.equal(describe(new AlgodError('rejected', 'text')), 'text')
  assert.equal(describe(new ChainError('invalid_genesis_hash', 'text')), 'text')
})

test('explains errors of nodes, networks, prices and keys with the options that help', () => {
  for (const code of Object.keys(algodErrors) as AlgodError['code'][]) {
    assert.doesNotMatch(describe(new AlgodError(code, 'text')), programmerWords)
  }
  assert.match(describe(new AlgodError('timeout', 'text')), /^text; .*--node$/)
  assert.match(describe(new ChainError('missing_node', 'pass `nodes`')), /^the network has no public node; .*--node$/)
  assert.match(describe(new ChainError('missing_dollar_asset', 'pass dollarAssetId')), /--dollar$/)
  assert.match(describe(new PriceError('invalid_price', 'text')), /^text; write --max like "\$0\.01"$/)
  assert.match(describe(new SignerError('invalid_secret_key', 'text')), /^text; correct AVM_PRIVATE_KEY$/)
})

test('explains every error of the daemon without programmer terms', () => {
  for (const code of Object.keys(clientErrors) as KmdClientError['code'][]) {
    const error = explainDaemonError(new KmdClientError(code, 'text', { operation: 'ListKeys' }), '/data')
    assert.ok(error instanceof CommandError, code)
    assert.doesNotMatch(describe(error), programmerWords)
  }
})

test('explains why nothing was paid, each reason and each hint once', () => {
  for (const code of Object.keys(refusalReasons) as (keyof typeof refusalReasons)[]) {
    const text = describe(paymentRefused([{ code, message: 'text', network: 'n', asset: '5' }]))
    assert.match(text, /^not paid: /)
    assert.doesNotMatch(text, programmerWords)
  }
  const dear = { code: 'above_payment_limit', message: '$2 is above the limit of $1 for one payment' } as const
  const elsewhere = { code: 'asset_not_allowed', message: 'add it to `assets`', asset: '5' } as const
  assert.equal(
    describe(paymentRefused([dear, elsewhere, dear])),
    "not paid: $2 is above the limit of $1 for one payment; the price is in asset 5, which is not the network's dollar; \
raise the limit with --max, or if it is, give its id with --dollar",
  )
  assert.match(describe(paymentRefused(Array(12).fill(dear))), /and 2 more reasons/)
  assert.equal(describe(paymentRefused([])), 'not paid: the seller offers no way to pay')
})
