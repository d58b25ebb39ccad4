/** Compares ledger, database, and the sellers' and buyers' records to the unit at the end of a fault test. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { FilePayments } from '@latchkey/x402/file'
import type { Cluster } from './Cluster.test.helper.js'
import type { LedgerLine } from './history.test.helper.js'
import { compareSales, readSales } from './salesBooks.test.helper.js'
import { openSettlements } from './stores.test.helper.js'
import { leftWork } from './usageWork.test.helper.js'

/** Returns the discrepancies. */
export async function compareBooks(cluster: Cluster, ledger: readonly LedgerLine[]): Promise<string[]> {
  const payments = new Map(
    ledger.filter(({ sender }) => sender !== cluster.sponsor).map((line) => [line.paymentId, line]),
  )
  const seller = await readSales(cluster)
  return [
    ...(await compareSettlements(cluster, payments)),
    ...compareBuyers(cluster, payments),
    ...(seller === undefined ? [] : compareSales(seller, payments)),
    ...(await leftWork(cluster)),
  ]
}

async function compareSettlements(cluster: Cluster, payments: ReadonlyMap<string, LedgerLine>): Promise<string[]> {
  const store = await openSettlements(cluster.databaseUrl)
  const problems: string[] = []
  for (const [id, { amount, receiver, sender, round }] of payments) {
    const known = await store.get(id)
    if (known?.state !== 'settled') problems.push(`${id} is on the ledger, and ${known?.state} in the database`)
    else if (
      known.amount !== amount ||
      known.payTo !== receiver ||
      known.payer !== sender ||
      known.round !== BigInt(round)
    ) {
      problems.push(`${id} is other than on the ledger in the database`)
    }
  }
  for (const { transactionId } of await store.pending()) problems.push(`${transactionId} is pending in the database`)
  await store.close()
  return problems
}

/** Checks that every payment that buyers recorded is on the ledger, or can never be. */
function compareBuyers({ options, payers }: Cluster, payments: ReadonlyMap<string, LedgerLine>): string[] {
  const files = readdirSync(options.directory).filter((name) => name.endsWith('.payments.jsonl'))
  const recorded = files.flatMap((name) => new FilePayments(join(options.directory, name)).all())
  const known = new Set(recorded.map(({ transactionId }) => transactionId))
  const wrong = recorded.filter(
    ({ transactionId, state }) => (state === 'settled') !== payments.has(transactionId) && state !== 'open',
  )
  const missing = [...payments.values()].filter(({ paymentId, sender }) => {
    return payers.includes(sender) && !known.has(paymentId)
  })
  const mischarged = recorded.filter(({ transactionId, charge }) => {
    return charge !== undefined && charge.amount !== payments.get(transactionId)?.amount
  })
  return [
    ...wrong.map(({ transactionId, state }) => `${transactionId} is ${state} at its buyer`),
    ...missing.map(({ paymentId }) => `${paymentId} is on the ledger, and unknown to its buyer`),
    ...mischarged.map(({ transactionId, charge }) => {
      const amount = payments.get(transactionId)?.amount ?? '0'
      return `${transactionId} was charged ${charge?.amount} at its buyer, and ${amount} on the ledger`
    }),
  ]
}
