/** Totals and bars of the seller's page. */
import { Network } from '@latchkey/algorand'
import { clip, escapeText } from './escape.js'
import { type AssetTotal, latencies, maxLatencyRounds, type SalesSettlement } from './salesData.js'
import { formatAmount, formatDay, plural } from './salesText.js'

export function totalsElement(totals: readonly AssetTotal[], days: number): string {
  if (totals.length === 0) {
    return `<p class="empty">Nothing was sold in the last ${days} days.</p>`
  }
  const items = totals.map((total) => {
    const { settled, failed, network } = total
    const failures = failed === 0 ? '' : `, ${plural(failed, 'failure')}`
    return `<div><dt>On ${escapeText(Network.phrase(network))}</dt>
<dd class="sum">${escapeText(formatAmount(total.amount, total))}</dd>
<dd class="quiet">${plural(settled, 'payment')}${failures}</dd></div>`
  })
  return `<dl class="totals">${items.join('\n')}</dl>`
}

/** The gap between bars, relative to the width of a bar. */
const gap = 0.2

/**
 * Labels are text outside of the picture, so that they keep their size on every screen and never overlap a bar. The
 * picture is stretched to the available width.
 */
export function chartElement(total: AssetTotal, { days, today }: { days: number; today: number }): string {
  const first = today - days + 1
  const shown = [...total.byDay].filter(([day]) => day >= first && day <= today)
  const max = shown.reduce((most, [, amount]) => (amount > most ? amount : most), 0n)
  if (max === 0n) return ''
  const bars = shown
    .filter(([, amount]) => amount > 0n)
    .map(([day, amount]) => {
      // Percent of the height, computed with integers in hundredths. The smallest amount stays visible.
      const height = Math.max(1, Number((amount * 10_000n) / max) / 100)
      const title = `${formatDay(day)}: ${formatAmount(amount, total)}`
      const place = `x="${day - first + gap / 2}" y="${100 - height}" width="${1 - gap}" height="${height}"`
      return `<rect ${place}><title>${escapeText(title)}</title></rect>`
    })
  const name = `${clip(total.assetName, 40)} on ${Network.phrase(total.network)}`
  const label = `Revenue by day in ${name}: at most ${formatAmount(max, total)} on a day`
  return `<figure>
<figcaption>Revenue by day, ${escapeText(name)}</figcaption>
<div class="plot">
<div class="axis"><span class="top">${escapeText(formatAmount(max, total))}</span><span class="zero">0</span></div>
<svg viewBox="0 0 ${days} 100" preserveAspectRatio="none" role="img" aria-label="${escapeText(label)}">${bars.join('')}</svg>
<div class="dates"><span>${formatDay(first)}</span><span>${formatDay(today)}</span></div>
</div>
</figure>`
}

/** How long the latest payments took to settle: a bar for each number of rounds, in a table with the figures. */
export function latencyElement(settlements: readonly SalesSettlement[]): string {
  const buckets = latencies(settlements)
  if (buckets.length === 0) return ''
  const total = buckets.reduce((sum, { count }) => sum + count, 0)
  const max = Math.max(...buckets.map(({ count }) => count))
  // A local network makes rounds when it is asked to: they say nothing about time.
  const hasTime = settlements.every(({ network }) => isPublic(network))
  const rows = buckets.map(({ rounds, count }) => {
    const name = rounds === maxLatencyRounds ? `${rounds} or more` : String(rounds)
    const time = hasTime ? `<td class="number">${timeText(rounds)}</td>` : ''
    return `<tr><td>${name}${barElement(count / max)}</td>${time}<td class="number">${count}</td><td class="number">${percent(count / total)}</td></tr>`
  })
  const timeHead = hasTime ? '<th scope="col" class="number">Time</th>' : ''
  const note = hasTime
    ? `A round takes about ${roundSeconds} seconds on the public networks.`
    : 'A local network makes a round for each payment, so that rounds are no measure of time.'
  return `<h2 id="latency">Latency of settlements</h2>
<p class="quiet">Rounds from the payment to its confirmation, for the latest ${plural(total, 'settled payment')}. ${note}</p>
<table class="bars"><thead><tr><th scope="col">Rounds</th>${timeHead}<th scope="col" class="number">Payments</th><th scope="col" class="number">Share</th></tr></thead>
<tbody>${rows.join('')}</tbody></table>`
}

/** The average on MainNet. Stores keep rounds, which every node agrees on, and no clock. */
const roundSeconds = 2.8

function isPublic(network: string): boolean {
  return Network.known.some(({ caip2 }) => caip2 === network)
}

/** A payment waits for the end of the round in which it is sent, so that a time is a whole number of rounds at most. */
function timeText(rounds: number): string {
  const seconds = Math.max(1, Math.round(rounds * roundSeconds))
  if (rounds === maxLatencyRounds) return `${seconds} s or more`
  return rounds === 0 ? `under ${Math.ceil(roundSeconds)} s` : `about ${seconds} s`
}

/** A bar below the text of a cell. The figures are in the same row, so that it needs no name. */
export function barElement(share: number): string {
  const width = share > 0 ? Math.max(0.5, Math.round(share * 10_000) / 100) : 0
  return `<svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width="${width}" height="1"/></svg>`
}

function percent(share: number): string {
  return share > 0 && share < 0.01 ? '< 1%' : `${Math.round(share * 100)}%`
}
