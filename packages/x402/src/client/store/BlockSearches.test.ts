import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AlgodError } from '@latchkey/algod'
import { Buyer } from '../buyer/Buyer.js'
import { openMarket, requiring } from '../buyer/market.test.helper.js'
import { BlockSearches } from './BlockSearches.js'

const timeout = 60_000
const schemes = ['exact', 'upto'] as const

/**
 * A buyer whose payment has expired and is searched for in the blocks, and the rounds that are read. A round fails as
 * often as it is in `fails`.
 */
async function expired(t: TestContext, scheme: (typeof schemes)[number], fails: bigint[]) {
  const { devnet, chain, signer, requirement } = await openMarket(t)
  const buyer = new Buyer({ signer, chains: chain, maxPerPayment: '$0.01' })
  const { payment } = await buyer.pay(requiring({ ...requirement, scheme }))
  // Nodes find younger transactions by their ids.
  while (devnet.round <= BigInt(payment.firstValid) + 1_010n) devnet.mine(100)
  const read: bigint[] = []
  const { algod } = chain
  const inBlock = async <T>(round: bigint, absent: T): Promise<T> => {
    read.push(round)
    const index = fails.indexOf(round)
    if (index === -1) return absent
    fails.splice(index, 1)
    throw new AlgodError('timeout', 'the node did not respond')
  }
  algod.leaseInBlock = (round) => inBlock(round, undefined)
  algod.isInBlock = (_, round) => inBlock(round, false)
  const rounds = Number(BigInt(payment.lastValid) - BigInt(payment.firstValid))
  return { lookUp: () => buyer.lookUp(payment.transactionId), read, rounds }
}

for (const scheme of schemes) {
  test(`a search that a node broke off continues there: ${scheme}`, { timeout }, async (t) => {
    const { lookUp, read, rounds } = await expired(t, scheme, [100n, 300n, 500n, 700n, 900n])
    for (let failures = 0; failures < 5; failures++) await assert.rejects(lookUp(), { code: 'timeout' })
    assert.equal(await lookUp(), 'expired')
    assert.equal(new Set(read).size, rounds, 'every block was read')
    assert.ok(read.length <= rounds + 5 * 16, `${read.length} reads of ${rounds} blocks`)
  })
}

test('concurrent searches for a payment read the blocks once', async () => {
  const searches = new BlockSearches()
  const read: bigint[] = []
  const lookInto = async (round: bigint) => {
    read.push(round)
    return round >= 70n ? `in ${round}` : undefined
  }
  const find = (id: string) => searches.find(id, [1n, 100n], lookInto)
  assert.deepEqual(await Promise.all([find('A'), find('A'), find('A')]), ['in 70', 'in 70', 'in 70'])
  assert.equal(read.length, 80)
  assert.equal(await find('B'), 'in 70', 'another payment is searched for on its own')
  assert.equal(read.length, 160)
})
