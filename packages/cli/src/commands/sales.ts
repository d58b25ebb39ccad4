/** `latchkey sales STORE`: shows revenue by route and the latest payments, or everything as CSV. */
import { Amount, Network } from '@latchkey/algorand'
import { type Revenue, revenueCsv, type Sale, type SaleStore, salesCsv } from '@latchkey/x402/server'
import { openSales } from '@latchkey/x402/sqlite'
import { command, jsonOption, readNumber } from '../Command.js'
import { UsageError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { hasPassword, isPostgres } from '../facilitator/StoreAddress.js'
import { columns, printable } from '../format.js'
import { printBytes, printJson, printMessage, printResult } from '../messages.js'

const dayMs = 86_400_000
const defaultDays = 30
const maxDays = 1_100
const shownPayments = 10

export const salesCommand = command({
  description: `Show a shop's revenue by route and its latest payments and failures, from the file of its \
SqliteClaims or the database of its PostgresClaims. The shop can keep running.`,
  positionals: [
    {
      name: 'STORE',
      description: 'claims database: a file such as claims.db, or postgres://USER@HOST/DATABASE',
      completes: 'file',
    },
  ],
  notes: `Set the database password in PGPASSWORD, in ~/.pgpass, or in the file that PGPASSFILE names; the other PG* variables \
apply too.`,
  options: {
    days: { type: 'string', placeholder: 'N', description: 'number of days up to today (30), in UTC' },
    csv: {
      type: 'string',
      choices: ['payments', 'revenue'],
      description: 'print every payment, or the totals by day and route, as CSV',
    },
    ...jsonOption,
  },
  examples: [
    'latchkey sales claims.db',
    'latchkey sales claims.db --days 90 --csv revenue > revenue.csv',
    'latchkey sales postgres://shop@db.example/shop',
  ],
  exits: [],
  run: async ({ options, args }) => {
    if (options.csv !== undefined && options.json) throw new UsageError('--csv and --json exclude each other')
    const days = readNumber('--days', options.days, 1, maxDays) ?? defaultDays
    const sinceDay = Math.floor(Date.now() / dayMs) - days + 1
    const { sales, close } = await openStore(args[0]!)
    try {
      if (options.csv !== undefined) await printCsv(sales, options.csv, sinceDay)
      else await printSales(sales, { days, sinceDay, isJson: options.json === true })
    } finally {
      await close()
    }
    return exitCodes.ok
  },
})

/** Loads the driver only for a database. */
async function openStore(store: string): Promise<{ readonly sales: SaleStore; readonly close: () => unknown }> {
  if (!isPostgres(store)) return openSales(store)
  if (hasPassword(store)) {
    throw new UsageError('STORE contains a password, which every user of this machine can read in the process list', {
      hint: 'put the password into PGPASSWORD, or into ~/.pgpass',
    })
  }
  const { openPostgresSales } = await import('@latchkey/x402/postgres')
  return openPostgresSales({ address: store })
}

async function printCsv(sales: SaleStore, kind: string, sinceDay: number): Promise<void> {
  if (kind === 'revenue') return printText(revenueCsv(await sales.revenue({ sinceDay })))
  for await (const text of salesCsv(sales, { sinceMs: sinceDay * dayMs })) await printText(text)
}

/** Includes the surrounding quotes; inner quotes are doubled. */
const quotedField = /"(?:[^"]|"")*"/g

/** Paths and codes are untrusted: on a terminal they are escaped and cannot add lines; in a file they are unchanged. */
async function printText(csv: string): Promise<void> {
  if (csv === '') return
  if (process.stdout.isTTY) printResult(csv.replace(quotedField, printable).replaceAll('\r\n', '\n'))
  else await printBytes(new TextEncoder().encode(csv))
}

type Shown = { readonly days: number; readonly sinceDay: number; readonly isJson: boolean }

async function printSales(sales: SaleStore, { days, sinceDay, isJson }: Shown): Promise<void> {
  const routes = byRoute(await sales.revenue({ sinceDay }))
  const latest = (await sales.list({ sinceMs: sinceDay * dayMs, limit: shownPayments })).sales
  if (isJson) {
    printJson({ days, routes: routes.map(routeJson), latest: latest.map(saleJson) })
    return
  }
  if (routes.length === 0) {
    printMessage(`No sales in the last ${days} days.`)
    return
  }
  printMessage(`In the last ${days} days:`)
  const head = ['ROUTE', 'REVENUE', 'PAYMENTS', 'FAILURES', 'NETWORK']
  const rows = routes.map((row) => [
    printable(row.route),
    printable(amountOf(row)),
    String(row.settled),
    String(row.failed),
    Network.displayName(row.network),
  ])
  printResult(`${columns([head, ...rows])}\n`)
  const list = latest.map((sale) => [
    new Date(sale.timeMs).toISOString().slice(0, 19),
    printable(amountOf(sale)),
    sale.code === '' || sale.outcome === 'settled' ? sale.outcome : `${sale.outcome}: ${printable(sale.code)}`,
    printable(sale.route),
    printable(sale.payer),
  ])
  printResult(columns([['TIME (UTC)', 'AMOUNT', 'STATE', 'ROUTE', 'PAYER'], ...list]))
}

/** Sums all days, the route with the most payments first. */
function byRoute(revenue: readonly Revenue[]): Revenue[] {
  const sums = new Map<string, Revenue>()
  for (const row of revenue) {
    const key = JSON.stringify([row.route, row.network, row.asset])
    const known = sums.get(key)
    sums.set(key, {
      ...row,
      decimals: row.decimals ?? known?.decimals,
      settled: row.settled + (known?.settled ?? 0),
      failed: row.failed + (known?.failed ?? 0),
      amount: (BigInt(row.amount) + BigInt(known?.amount ?? 0)).toString(),
    })
  }
  return [...sums.values()].sort((a, b) => b.settled - a.settled)
}

type Counted = Pick<Revenue, 'amount' | 'decimals' | 'assetName'>

function amountOf({ amount, decimals, assetName }: Counted): string {
  return decimals === undefined
    ? `${Amount.group(amount)} base units of ${assetName}`
    : `${Amount.formatGrouped(BigInt(amount), decimals)} ${assetName}`
}

function decimalOf({ amount, decimals }: Counted): string | null {
  return decimals === undefined ? null : Amount.format(BigInt(amount), decimals)
}

function routeJson(row: Revenue) {
  const { route, network, asset, assetName: unit, settled: payments, failed: failures, amount: baseUnits } = row
  return { route, payments, failures, amount: decimalOf(row), unit, baseUnits, asset, network }
}

function saleJson(sale: Sale) {
  const {
    timeMs,
    outcome,
    code,
    route,
    payer,
    assetName: unit,
    amount: baseUnits,
    asset,
    network,
    transactionId,
  } = sale
  const time = new Date(timeMs).toISOString()
  return { time, outcome, code, route, payer, amount: decimalOf(sale), unit, baseUnits, asset, network, transactionId }
}
