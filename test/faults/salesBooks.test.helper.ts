/** Compares the sellers' records with the ledger, payment by payment and in sums, to the unit. */
import { setTimeout as sleep } from 'node:timers/promises'
import * as Sqlite from '@latchkey/system/sqlite'
import { PostgresClaims } from '@latchkey/x402/postgres'
import type { Revenue, Sale } from '@latchkey/x402/server'
import { SqliteClaims } from '@latchkey/x402/sqlite'
import { type Cluster, claimsFile, query } from './Cluster.test.helper.js'
import type { LedgerLine } from './history.test.helper.js'

export type SellerBooks = { readonly sales: readonly Sale[]; readonly revenue: readonly Revenue[] }

/** Longer than the time after which gates look up undecided payments of a killed gate. */
const minutesAhead = 10
const patienceMs = 60_000

/**
 * Starts a gate with its clock minutes ahead, so it looks up on the ledger what killed gates have not recorded. Redis
 * keeps no sales.
 */
export async function recoverSales(cluster: Cluster): Promise<void> {
  const { gates, options } = cluster
  if (options.claims === 'redis') return
  await Promise.all(gates.map((gate) => gate.signal('SIGKILL')))
  const [gate] = gates
  gate!.clock.set(minutesAhead * 60)
  await gate!.start()
  const giveUpAt = performance.now() + patienceMs
  while (performance.now() < giveUpAt && (await isUndecided(cluster))) await sleep(200)
}

async function isUndecided({ databaseUrl, options }: Cluster): Promise<boolean> {
  const undecided = "WHERE outcome IN ('verified', 'pending') LIMIT 1"
  if (options.claims === 'postgres') {
    return (await query(databaseUrl, `SELECT 1 FROM latchkey.sales ${undecided}`)).length > 0
  }
  const database = Sqlite.open(claimsFile(options.directory))
  try {
    database.exec('PRAGMA busy_timeout = 10000')
    return database.prepare(`SELECT 1 FROM sales ${undecided}`).get() !== undefined
  } finally {
    database.close()
  }
}

export async function readSales({ databaseUrl, options }: Cluster): Promise<SellerBooks | undefined> {
  if (options.claims === 'redis') return undefined
  const claims =
    options.claims === 'sqlite'
      ? new SqliteClaims(claimsFile(options.directory))
      : await PostgresClaims.open({ address: databaseUrl })
  try {
    const sales: Sale[] = []
    let after: string | undefined
    do {
      const page = await claims.sales.list({ limit: 1_000, after })
      sales.push(...page.sales)
      after = page.next
    } while (after !== undefined)
    return { sales, revenue: await claims.sales.revenue({}) }
  } finally {
    await claims.close()
  }
}

/** Returns the discrepancies. `payments` are those on the ledger, by id. */
export function compareSales({ sales, revenue }: SellerBooks, payments: ReadonlyMap<string, LedgerLine>): string[] {
  const recorded = new Map(sales.map((sale) => [sale.transactionId, sale]))
  const missing = [...payments.keys()].filter((id) => !recorded.has(id))
  return [
    ...missing.map((id) => `${id} is on the ledger, and unknown to its seller`),
    ...sales.flatMap((sale) => compareSale(sale, payments.get(sale.transactionId))),
    ...compareSums(revenue, recorded, payments),
  ]
}

function compareSale(sale: Sale, paid: LedgerLine | undefined): string[] {
  const { transactionId, outcome, payer, payTo, amount, asset, round } = sale
  if (paid === undefined && isFree(sale)) return []
  if ((outcome === 'settled') !== (paid !== undefined)) {
    return [`${transactionId} is ${outcome} at its seller, and ${paid === undefined ? 'not ' : ''}on the ledger`]
  }
  if (paid === undefined) {
    const isDecided = outcome !== 'verified' && outcome !== 'pending'
    return isDecided ? [] : [`${transactionId} is ${outcome} at its seller in the end`]
  }
  const found = [payer, payTo, amount, asset, round ?? paid.round]
  const expected = [paid.sender, paid.receiver, paid.amount, String(paid.asset), paid.round]
  return String(found) === String(expected) ? [] : [`${transactionId} is other than on the ledger at its seller`]
}

/** Whether nothing was charged of an authorization. */
function isFree({ transactionId, outcome, amount }: Sale): boolean {
  return transactionId.startsWith('upto-') && outcome === 'settled' && amount === '0'
}

/** Checks that the sums of each route match the ledger. */
function compareSums(
  revenue: readonly Revenue[],
  recorded: ReadonlyMap<string, Sale>,
  payments: ReadonlyMap<string, LedgerLine>,
): string[] {
  type Sum = { count: number; amount: bigint }
  const sumOf = (lines: readonly { route: string; count: number; amount: string }[]): Map<string, Sum> => {
    const sums = new Map<string, Sum>()
    for (const { route, count, amount } of lines) {
      const before = sums.get(route) ?? { count: 0, amount: 0n }
      sums.set(route, { count: before.count + count, amount: before.amount + BigInt(amount) })
    }
    return sums
  }
  const sold = sumOf(revenue.map(({ route, settled, amount }) => ({ route, count: settled, amount })))
  const free = [...recorded.values()].filter((sale) => isFree(sale) && !payments.has(sale.transactionId))
  const paid = sumOf([
    ...free.map(({ route }) => ({ route, count: 1, amount: '0' })),
    ...[...payments].map(([id, { amount }]) => ({ route: recorded.get(id)?.route ?? 'none', count: 1, amount })),
  ])
  const textOf = (sum: Sum | undefined): string => `${sum?.amount ?? 0} in ${sum?.count ?? 0} payments`
  return [...new Set([...sold.keys(), ...paid.keys()])].flatMap((route) => {
    const [found, expected] = [textOf(sold.get(route)), textOf(paid.get(route))]
    return found === expected ? [] : [`${route} has sold for ${found}, and the ledger has ${expected}`]
  })
}
