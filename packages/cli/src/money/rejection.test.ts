import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeNode, openTestChain } from './chain.test.helper.js'
import { rejected } from './rejection.js'

const address = 'A'.repeat(58)

test('a rejection for a missing opt-in or missing funds names the command that helps', async () => {
  const chain = await openTestChain(new FakeNode())
  for (const [reason, hint] of [
    [
      `receiver error: must optin, asset 7 missing from ${address}`,
      `Opt in: latchkey opt-in 7 --account ${address} --network testnet`,
    ],
    [
      `transaction X: account ${address} balance 5 below min 100000 (0 assets)`,
      `Fund it with 0.099995 ALGO: latchkey send '0.099995 ALGO' ${address} --network testnet`,
    ],
    [
      `overspend (account ${address}, data {}, tried to spend {5})`,
      `See its balance with latchkey balance ${address}; fund it: latchkey send '1 ALGO' ${address} --network testnet`,
    ],
    ['anything else', undefined],
  ] as const) {
    const error = rejected(chain, 'nothing was sent', reason)
    assert.equal(error.hint, hint)
    assert.match(error.message, /^nothing was sent: The /)
  }
})
