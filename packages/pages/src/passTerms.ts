/** Describes the terms of the seller's passes. */

type Members = { readonly [name: string]: unknown }

/**
 * For how long and how often one payment opens the page, such as `for 30 minutes`. Undefined if it opens the page once.
 */
export function passTerms(required: object): string | undefined {
  const { extensions } = required as { extensions?: Members }
  const { info } = (extensions?.['payment-pass'] ?? {}) as { info?: Members }
  const { minutes, requests } = info ?? {}
  if (typeof minutes !== 'number' || !(minutes > 0)) return undefined
  const time = duration(minutes)
  if (typeof requests !== 'number') return `for ${time}`
  return `${requests.toLocaleString('en')} times, for ${time}`
}

const hour = 60
const day = 24 * hour

function duration(minutes: number): string {
  if (minutes < 1) return count(Math.ceil(minutes * 60), 'second')
  if (minutes % day === 0) return count(minutes / day, 'day')
  if (minutes % hour === 0) return count(minutes / hour, 'hour')
  return count(Math.round(minutes * 10) / 10, 'minute')
}

function count(number: number, unit: string): string {
  return number === 1 ? `1 ${unit}` : `${number} ${unit}s`
}
