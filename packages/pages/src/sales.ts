/** The seller's page: revenue by day and route, latest payments, failures. HTML and CSS without any script. */
import { Bytes, Hash } from '@latchkey/algorand'
import { clip, escapeText } from './escape.js'
import { chartElement, latencyElement, totalsElement } from './salesChart.js'
import { type SalesPageData, totalsByAsset } from './salesData.js'
import { salesStyle } from './salesStyle.js'
import { failuresElement, paymentsElement, routesElement } from './salesTables.js'

export type { SalesList, SalesPageData, SalesPayment, SalesRevenue, SalesSettlement } from './salesData.js'

/** Only the page's own style is loaded, nothing runs, and no other page can embed it. */
export const salesPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${Bytes.toBase64(Hash.sha256(Bytes.fromUtf8(salesStyle)))}'`,
  // Allows the empty icon, which avoids a request for one.
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const periods = [7, 30, 90, 365]
const maxCharts = 4

/** The HTML of the page. Links are relative queries, so that it can be served at any path. */
export function salesPage(data: SalesPageData): string {
  const { days, today, revenue, payments, failures, settlements } = data
  const name = clip(data.name, 100)
  const totals = totalsByAsset(revenue)
  const charts = totals.filter(({ settled }) => settled > 0).slice(0, maxCharts)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${escapeText(name)} · sales</title>
<link rel="icon" href="data:,">
<style>${salesStyle}</style>
</head>
<body>
<header><h1><bdi>${escapeText(name)}</bdi> · sales</h1>${periodsElement(days)}</header>
<main>
${totalsElement(totals, days)}
${charts.map((total) => chartElement(total, { days, today })).join('\n')}
<div class="bar"><h2 id="routes">Revenue by route</h2><a href="?csv=revenue&amp;days=${days}">Revenue as CSV</a></div>
${routesElement(revenue)}
${latencyElement(settlements)}
<div class="bar"><h2 id="payments">Latest payments</h2><a href="?csv=payments&amp;days=${days}">Payments as CSV</a></div>
${paymentsElement(payments, days)}
<h2 id="failures">Failures</h2>
${failuresElement(failures, days)}
</main>
<footer>Days are in UTC. Amounts are exact.</footer>
</body>
</html>
`
}

function periodsElement(days: number): string {
  const items = periods.map((one) => {
    const current = one === days ? ' aria-current="page"' : ''
    return `<li><a href="?days=${one}"${current}>${one === 365 ? 'a year' : `${one} days`}</a></li>`
  })
  return `<nav aria-label="Period"><ul>${items.join('')}</ul></nav>`
}
