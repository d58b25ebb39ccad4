/** Parses when an agent expires: after a duration, or at a time. */
import type { Option } from '../Command.js'
import { UsageError } from '../errors.js'
import { quoted } from '../format.js'

export const expiresOption = {
  expires: {
    type: 'string',
    placeholder: 'WHEN',
    description: 'when the agent expires: 12h, 30d, 8w, a date such as 2027-01-31, or never',
  },
} as const satisfies { [name: string]: Option }

const unitsMs: { readonly [unit: string]: number } = { h: 3_600_000, d: 86_400_000, w: 604_800_000 }
const longestMs = 10 * 365 * 86_400_000

/** Returns milliseconds since 1970, or undefined for never. */
export function readExpiry(text: string, nowMs = Date.now()): number | undefined {
  if (text === 'never') return undefined
  const after = /^([1-9][0-9]{0,4})([hdw])$/.exec(text)
  const atMs = after === null ? readDate(text) : nowMs + Number(after[1]) * unitsMs[after[2]!]!
  if (atMs !== undefined && atMs > nowMs && atMs <= nowMs + longestMs) return atMs
  throw new UsageError(`--expires ${quoted(text)} is not a time within the next ten years`, {
    hint: 'write 12h, 30d, 8w, a date such as 2027-01-31 (its end, UTC), a time such as 2027-01-31T12:00Z, or never',
  })
}

function readDate(text: string): number | undefined {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text)
  if (!isDay && !/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})$/.test(text)) return undefined
  const atMs = Date.parse(text)
  if (Number.isNaN(atMs)) return undefined
  // 2027-02-30 would otherwise become a day in March.
  if (isDay && new Date(atMs).toISOString().slice(0, 10) !== text) return undefined
  return isDay ? atMs + unitsMs['d']! : atMs
}
