/**
 * Sales as CSV (RFC 4180), for spreadsheets: exact decimals, and no text from others that a spreadsheet would evaluate.
 */
import { Amount, Network } from '@latchkey/algorand'
import {
  earlier,
  maxPage,
  type Revenue,
  type Sale,
  type SalePage,
  type SaleQuery,
  type SaleStore,
  SalesError,
} from '../store/Sales.js'

type Column<Row> = readonly [string, (row: Row) => string | number | undefined]

const saleColumns: readonly Column<Sale>[] = [
  ['time', ({ timeMs }) => new Date(timeMs).toISOString()],
  ['outcome', ({ outcome }) => outcome],
  ['code', ({ code }) => code],
  ['route', ({ route }) => route],
  ['method', ({ method }) => method],
  ['path', ({ path }) => path],
  ['payer', ({ payer }) => payer],
  ['pay_to', ({ payTo }) => payTo],
  ['amount', decimal],
  ['unit', ({ assetName }) => assetName],
  ['base_units', ({ amount }) => amount],
  ['asset_id', ({ asset }) => asset],
  ['network', ({ network }) => Network.displayName(network)],
  ['network_id', ({ network }) => network],
  ['transaction_id', ({ transactionId }) => transactionId],
  ['round', ({ round }) => round],
]

const revenueColumns: readonly Column<Revenue>[] = [
  ['day', ({ day }) => (day === earlier ? 'earlier' : new Date(day * 86_400_000).toISOString().slice(0, 10))],
  ['route', ({ route }) => route],
  ['payments', ({ settled }) => settled],
  ['failures', ({ failed }) => failed],
  ['amount', decimal],
  ['unit', ({ assetName }) => assetName],
  ['base_units', ({ amount }) => amount],
  ['asset_id', ({ asset }) => asset],
  ['network', ({ network }) => Network.displayName(network)],
  ['network_id', ({ network }) => network],
]

/**
 * Sales as CSV lines, the latest first, read from the store page by page.
 *
 * @throws SalesError if a page of the store does not continue the previous one
 */
export async function* salesCsv(store: SaleStore, query: Omit<SaleQuery, 'limit' | 'after'>): AsyncGenerator<string> {
  yield header(saleColumns)
  let page: SalePage | undefined
  do {
    const previous: SalePage | undefined = page
    page = await store.list({ ...query, after: previous?.next, limit: maxPage })
    checkContinues(page, previous)
    yield lines(saleColumns, page.sales)
    // Yields to the event loop: a store that answers immediately would block the process until the last page.
    await new Promise((resolve) => setTimeout(resolve, 0))
  } while (page.next !== undefined)
}

/** A store that begins again would never end. */
function checkContinues({ sales, next }: SalePage, previous: SalePage | undefined): void {
  const isStuck = next !== undefined && (sales.length === 0 || next === previous?.next)
  const [first, before] = [sales[0], previous?.sales.at(-1)]
  const isEarlier = first === undefined || before === undefined || first.timeMs <= before.timeMs
  if (isEarlier && !isStuck) return
  throw new SalesError(
    'invalid_sales_cursor',
    'the store of sales returned a page that does not continue the previous one',
  )
}

/** Sums by day and route as CSV. */
export function revenueCsv(revenue: readonly Revenue[]): string {
  return header(revenueColumns) + lines(revenueColumns, revenue)
}

/** Empty if the decimals are not known. `base_units` then has the amount. */
function decimal({ amount, decimals }: { amount: string; decimals: number | undefined }): string {
  return decimals === undefined ? '' : Amount.format(BigInt(amount), decimals)
}

function header<Row>(columns: readonly Column<Row>[]): string {
  return `${columns.map(([name]) => name).join(',')}\r\n`
}

function lines<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  return rows.map((row) => `${columns.map(([, read]) => field(read(row))).join(',')}\r\n`).join('')
}

/** The start of a cell. Many spreadsheets separate cells by semicolons or tabs, and then read a quote as text. */
const cellStart = /(?<=^|[;\t\r\n])(?=[\s\p{C}"]*[=+\-@\uff1d\uff0b\uff0d\uff20])|^(?=[\t\r\n])/gu

/**
 * Spreadsheets run text that begins like a formula, even after blanks and in full-width forms. An apostrophe makes it
 * plain text.
 */
function field(value: string | number | undefined): string {
  const plain = (value === undefined ? '' : String(value)).replace(cellStart, "'")
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
