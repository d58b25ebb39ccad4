import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AlgodError } from '@latchkey/algod'
import { Buyer } from '../buyer/Buyer.js'
import { openMarket, requiring } from '../buyer/market.test.helper.js'

const timeout = 60_000

/** A buyer whose authorization has expired, and the rounds whose blocks are read. A round fails as often as it is in `fails`. */
async function expired(t: TestContext, fails: bigint[]) {
  const { devnet, chain, signer, requirement } = await openMarket(t)
  const buyer = new Buyer({ signer, chains: chain, maxPerPayment: '$0.01' })
  const { payment } = await buyer.pay(requiring({ ...requirement, scheme: 'upto' }))
  while (devnet.round <= BigInt(payment.lastValid) + 2n) devnet.mine(100)
  const read: bigint[] = []
  const { algod } = chain
  algod.leaseInBlock = async (round) => {
    read.push(round)
    const index = fails.indexOf(round)
    if (index === -1) return undefined
    fails.splice(index, 1)
    throw new AlgodError('timeout', 'the node did not respond')
  }
  const rounds = Number(BigInt(payment.lastValid) - BigInt(payment.firstValid))
  return { lookUp: () => buyer.lookUp(payment.transactionId), read, rounds }
}

test('a search of the blocks that a node broke off continues there', { timeout }, async (t) => {
  const { lookUp, read, rounds } = await expired(t, [100n, 300n, 500n, 700n, 900n])
  for (let failures = 0; failures < 5; failures++) await assert.rejects(lookUp(), { code: 'timeout' })
  assert.equal(await lookUp(), 'expired')
  assert.equal(new Set(read).size, rounds, 'every block was read')
  assert.ok(read.length <= rounds + 5 * 16, `${read.length} reads of ${rounds} blocks`)
})

test('concurrent searches for an authorization read the blocks once', { timeout }, async (t) => {
  const { lookUp, read, rounds } = await expired(t, [])
  assert.deepEqual(await Promise.all([lookUp(), lookUp(), lookUp()]), ['expired', 'expired', 'expired'])
  assert.equal(read.length, rounds)
})
