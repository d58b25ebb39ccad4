/** Formats an audit record as a line of text, JSON or CSV. */
import type { AuditRecord } from '@latchkey/kmd-client'
import { quoted } from '../../format.js'

/** Returns one line: number, time, event, actor and subject. */
export function lineOf(record: AuditRecord): string {
  const { number, atMs, event, wallet, walletName, address, transaction, detail } = record
  const about = [
    ...(wallet === undefined ? [] : [`wallet ${quoted(walletName || wallet)}`]),
    ...(address === undefined ? [] : [address]),
    ...(transaction === undefined ? [] : [`transaction ${transaction}`]),
    ...Object.entries(detail).map(
      ([name, value]) => `${name}=${quoted(typeof value === 'string' ? value : listText(value))}`,
    ),
  ]
  return `${number}  ${timeOf(atMs)}  ${event}  ${actorOf(record)}  ${about.join('  ')}`.trimEnd()
}

/** Items beyond this are only counted; `--json` and `latchkey audit export` include all of them. */
const maxListed = 20

function listText(list: readonly string[]): string {
  if (list.length <= maxListed) return list.join(', ')
  return `${list.slice(0, maxListed).join(', ')} and ${list.length - maxListed} more`
}

/** The output of `--json` for a record. The hash covers `record`. */
export function jsonOf({ number, atMs, walletName, previous, hash, text }: AuditRecord): object {
  const record: unknown = JSON.parse(text)
  return { number, atMs, time: timeOf(atMs), ...(walletName !== '' && { walletName }), record, previous, hash }
}

const csvColumns = [
  'number',
  'time',
  'event',
  'actor',
  'wallet',
  'address',
  'transaction',
  'detail',
  'previous',
  'hash',
]

export const csvHead = `${csvColumns.join(',')}\r\n`

/**
 * One line in the format of RFC 4180. A cell that a spreadsheet would read as a formula is prefixed with an apostrophe.
 */
export function csvOf(record: AuditRecord): string {
  const { number, atMs, event, wallet = '', address = '', transaction = '', detail, previous, hash } = record
  const cells = [
    ...[`${number}`, timeOf(atMs), event, actorOf(record), wallet, address, transaction],
    ...[Object.keys(detail).length === 0 ? '' : JSON.stringify(detail), previous, hash],
  ]
  return `${cells.map(cell).join(',')}\r\n`
}

function cell(text: string): string {
  const safe = /^[\s]*[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /^[\w.:/-]*$/.test(safe) ? safe : `"${safe.replaceAll('"', '""')}"`
}

function actorOf({ actor }: AuditRecord): string {
  return actor.type === 'agent' ? `agent ${quoted(actor.name ?? actor.id ?? '')}` : actor.type
}

/** An impossible time is shown as its number, because a daemon may lie. */
function timeOf(atMs: number): string {
  return Math.abs(atMs) <= 8.64e15 ? new Date(atMs).toISOString() : `${atMs}`
}
