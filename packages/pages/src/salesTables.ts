/**
 * Tables of the seller's page. Payers, codes and asset names come from others, so everything is escaped, including
 * routes.
 */
import { Explorer, Network } from '@latchkey/algorand'
import { clip, escapeText } from './escape.js'
import { barElement } from './salesChart.js'
import { type SalesList, type SalesPayment, type SalesRevenue, totalsByRoute } from './salesData.js'
import { formatAmount, formatTime, shorten } from './salesText.js'

const maxRoutes = 200

export function routesElement(revenue: readonly SalesRevenue[]): string {
  const rows = totalsByRoute(revenue).slice(0, maxRoutes)
  if (rows.length === 0) return '<p class="empty">No revenue yet.</p>'
  // The most important columns come first, because a phone shows only the first ones without scrolling.
  const columns = ['Route', 'Revenue|number', 'Payments|number', 'Failures|number', 'Network']
  // Bars compare the routes of one asset: amounts of different assets are not comparable.
  const assetOf = ({ network, asset }: (typeof rows)[number]): string => `${network} ${asset}`
  const most = new Map<string, bigint>()
  for (const row of rows) if (row.amount > (most.get(assetOf(row)) ?? 0n)) most.set(assetOf(row), row.amount)
  const shareOf = (row: (typeof rows)[number]): number =>
    row.amount === 0n ? 0 : Number((row.amount * 10_000n) / most.get(assetOf(row))!) / 10_000
  return table('Revenue by route', columns, [
    ...rows.map((row) => [
      cell(clip(row.route, 200), 'text', barElement(shareOf(row))),
      cell(formatAmount(row.amount, row), 'number'),
      cell(String(row.settled), 'number'),
      cell(String(row.failed), 'number'),
      cell(Network.displayName(row.network)),
    ]),
  ])
}

export function paymentsElement(list: SalesList, days: number): string {
  if (list.sales.length === 0) return '<p class="empty">No payments yet.</p>'
  // The most important columns come first, because a phone shows only the first ones without scrolling.
  const columns = ['Time (UTC)', 'Amount|number', 'State', 'Route', 'Payer', 'Transaction']
  const rows = list.sales.map((sale) => [
    cell(formatTime(sale.timeMs)),
    cell(formatAmount(BigInt(sale.amount), sale), 'number'),
    stateCell(sale),
    cell(clip(sale.route, 200), 'text'),
    idCell(sale.payer, Explorer.accountUrl(sale.network, sale.payer)),
    idCell(sale.transactionId, Explorer.transactionUrl(sale.network, sale.transactionId)),
  ])
  return table('Latest payments', columns, rows) + pager(list, 'payments', days)
}

export function failuresElement(list: SalesList, days: number): string {
  if (list.sales.length === 0) return '<p class="empty">No failures.</p>'
  const columns = ['Time (UTC)', 'Reason', 'State', 'Route', 'Payer', 'Amount|number']
  const rows = list.sales.map((sale) => [
    cell(formatTime(sale.timeMs)),
    cell(clip(sale.code, 100).replaceAll('_', ' '), 'text'),
    stateCell(sale),
    cell(clip(sale.route, 200), 'text'),
    idCell(sale.payer, Explorer.accountUrl(sale.network, sale.payer)),
    cell(formatAmount(BigInt(sale.amount), sale), 'number'),
  ])
  return table('Failures', columns, rows) + pager(list, 'failures', days)
}

const states: { readonly [outcome in SalesPayment['outcome']]: string } = {
  settled: 'settled',
  pending: 'awaiting confirmation',
  verified: 'being served',
  refused: 'refused',
  cancelled: 'not charged',
  unknown: 'unknown',
}

function stateCell({ outcome }: SalesPayment): string {
  return `<td class="${outcome}">${states[outcome]}</td>`
}

function cell(text: string, kind = '', after = ''): string {
  const name = kind === '' ? '' : ` class="${kind}"`
  return `<td${name}><bdi>${escapeText(text)}</bdi>${after}</td>`
}

function idCell(id: string, url: string | undefined): string {
  const whole = clip(id)
  const short = `<span class="id" title="${escapeText(whole)}">${escapeText(shorten(whole))}</span>`
  if (url === undefined) return `<td>${short}</td>`
  return `<td><a href="${escapeText(url)}" rel="noreferrer noopener">${short}</a></td>`
}

/** A horizontally scrolling region must be reachable by keyboard. */
function table(label: string, columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = columns.map((column) => {
    const [title, kind] = column.split('|')
    return `<th scope="col"${kind === undefined ? '' : ` class="${kind}"`}>${title}</th>`
  })
  const body = rows.map((cells) => `<tr>${cells.join('')}</tr>`)
  return `<div class="scroll" role="region" aria-label="${label}" tabindex="0"><table>
<thead><tr>${head.join('')}</tr></thead>
<tbody>
${body.join('\n')}
</tbody>
</table></div>
`
}

function pager({ next, after }: SalesList, name: string, days: number): string {
  const links: string[] = []
  if (after !== undefined) links.push(`<li><a href="?days=${days}#${name}">Latest</a></li>`)
  if (next !== undefined) {
    links.push(`<li><a href="?days=${days}&amp;${name}=${encodeURIComponent(next)}#${name}">Older</a></li>`)
  }
  return links.length === 0 ? '' : `<nav aria-label="Pages of ${name}"><ul>${links.join('')}</ul></nav>`
}
