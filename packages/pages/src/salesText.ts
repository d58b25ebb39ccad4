/** Texts of the seller's page. */
import { Amount } from '@latchkey/algorand'
import { clip } from './escape.js'

const dayMs = 86_400_000
const maxUnitLength = 40

/** An amount with its unit, or base units if the decimals are unknown. */
export function formatAmount(
  amount: bigint,
  { decimals, assetName }: { readonly decimals: number | undefined; readonly assetName: string },
): string {
  const unit = clip(assetName, maxUnitLength)
  return decimals === undefined
    ? `${Amount.group(String(amount))} base units of ${unit}`
    : `${Amount.formatGrouped(amount, decimals)} ${unit}`
}

/** A day, like `2026-11-16`. */
export function formatDay(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10)
}

/** A time, like `2026-11-16 02:09:44`. */
export function formatTime(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ')
}

export function plural(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`
}

/** An address or an id, short enough for a column. */
export function shorten(id: string): string {
  return id.length <= 16 ? id : `${id.slice(0, 7)}…${id.slice(-6)}`
}
