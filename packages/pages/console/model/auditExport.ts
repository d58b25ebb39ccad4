/** Exports records as JSON lines, or as CSV for spreadsheets, in the same form as `latchkey audit export`. */
import type { AuditRecord } from '../audit.js'

export type ExportFormat = 'jsonl' | 'csv'

const columns = [
  ...['number', 'time', 'event', 'actor', 'wallet', 'address', 'transaction', 'detail', 'previous', 'hash'],
]

/** Orders the records oldest first. */
export function exportText(newestFirst: readonly AuditRecord[], format: ExportFormat): string {
  const records = newestFirst.toReversed()
  if (format === 'jsonl') return records.map((record) => `${JSON.stringify(jsonOf(record))}\n`).join('')
  return `${columns.join(',')}\r\n${records.map(csvLine).join('')}`
}

function jsonOf({ number, atMs, walletName, previous, hash, text }: AuditRecord): object {
  return {
    number,
    atMs,
    time: time(atMs),
    ...(walletName !== '' && { walletName }),
    record: parse(text),
    previous,
    hash,
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function csvLine(record: AuditRecord): string {
  const { number, atMs, event, actor, wallet, address, transaction, detail, previous, hash } = record
  const who = actor.type === 'agent' ? `agent ${JSON.stringify(actor.name || actor.id)}` : actor.type
  const about = Object.keys(detail).length === 0 ? '' : JSON.stringify(detail)
  const cells = [String(number), time(atMs), event, who, wallet, address, transaction, about, previous, hash]
  return `${cells.map(cell).join(',')}\r\n`
}

/** Follows RFC 4180. A cell that a spreadsheet would read as a formula is prefixed with an apostrophe. */
function cell(text: string): string {
  const safe = /^\s*[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /^[\w.:/-]*$/.test(safe) ? safe : `"${safe.replaceAll('"', '""')}"`
}

function time(atMs: number): string {
  return Math.abs(atMs) <= 8.64e15 ? new Date(atMs).toISOString() : String(atMs)
}
