/**
 * Searches the audit log in slices, with other work in between. Scanning a million records that do not match takes a
 * second or two, and signing must not wait for it.
 */
import { setImmediate } from 'node:timers/promises'
import type { Statement } from '@latchkey/system/sqlite'
import { type AuditEvent, type AuditRecord, parse } from './AuditChain.js'

/** The daemon's database, or a read-only copy. */
export type LogReader = { statement: (sql: string) => Statement }

/** A search filter. Every member that is set must match. */
export type Query = {
  readonly events?: readonly string[] | undefined
  /** `owner`, `console`, `agent` or `daemon`; or an agent's name or id. */
  readonly actor?: string | undefined
  /** An agent id: matches operations by the agent and operations on the agent. */
  readonly agent?: string | undefined
  readonly wallet?: string | undefined
  readonly address?: string | undefined
  readonly transaction?: string | undefined
  /** Matches anywhere in the record, ignoring the case of ASCII letters. */
  readonly text?: string | undefined
  readonly afterMs?: number | undefined
  readonly beforeMs?: number | undefined
  /** Returns records below this number, newest first. @default from the newest */
  readonly beforeNumber?: number | undefined
  /** Returns records above this number, oldest first. */
  readonly afterNumber?: number | undefined
  readonly count: number
}

/** A record with the text that was hashed. */
export type FoundRecord = AuditRecord & { readonly text: string }

/** A page of search results. */
export type Found = {
  readonly records: readonly FoundRecord[]
  /** The next `beforeNumber` or `afterNumber`; undefined on the last page. */
  readonly continueFrom: number | undefined
}

/** Limits: record numbers per slice and per search, and record bytes per search. The caller requests further pages. */
export type SearchLimits = { readonly sliceLength: number; readonly maxScanned: number; readonly maxBytes: number }

const usualLimits: SearchLimits = { sliceLength: 10_000, maxScanned: 250_000, maxBytes: 4 * 1024 * 1024 }
/** The number of rows read at once. A record can have a quarter of a megabyte. */
const maxRows = 100

type Stored = { number: number; at_ms: number; previous: Uint8Array; record: string; hash: Uint8Array }

export async function searchLog(
  reader: LogReader,
  query: Query,
  { sliceLength, maxScanned, maxBytes }: SearchLimits = usualLimits,
): Promise<Found> {
  const isAscending = query.afterNumber !== undefined
  const { conditions, values } = conditionsOf(query)
  const order = isAscending ? 'ASC' : 'DESC'
  const sql = `SELECT number, at_ms, previous, record, hash FROM audit WHERE number BETWEEN ? AND ?${conditions} ORDER BY number ${order} LIMIT ?`
  const { first, last } = rangeOf(reader, query)
  const records: FoundRecord[] = []
  let scanned = 0
  let bytes = 0
  // The next number: from the lower or the upper end.
  let at = isAscending ? first : last
  while (at >= first && at <= last) {
    if (scanned >= maxScanned) return { records, continueFrom: isAscending ? at - 1 : at + 1 }
    const [low, high] = isAscending
      ? [at, Math.min(last, at + sliceLength - 1)]
      : [Math.max(first, at - sliceLength + 1), at]
    const wanted = Math.min(maxRows, query.count - records.length)
    const rows = reader.statement(sql).all(low, high, ...values, wanted) as Stored[]
    for (const row of rows) {
      const found = toRecord(row)
      if (found === undefined || !matches(found, query)) continue
      records.push(found)
      bytes += found.text.length
      const isLast = row.number === (isAscending ? last : first)
      if (bytes >= maxBytes && !isLast) return { records, continueFrom: row.number }
    }
    const end = rows.at(-1)?.number
    // If a slice is full, its remaining rows come next: rows dropped above left room.
    const isFull = rows.length === wanted && end !== undefined
    const from = at
    at = isAscending ? (isFull ? end + 1 : high + 1) : isFull ? end - 1 : low - 1
    if (records.length >= query.count) return { records, continueFrom: at < first || at > last ? undefined : end }
    scanned += Math.abs(at - from)
    await setImmediate()
  }
  return { records, continueFrom: undefined }
}

export function toRecord({ number, at_ms, previous, record, hash }: Stored): FoundRecord | undefined {
  const event = parse(record)
  if (event === undefined) return undefined
  return { ...event, number, atMs: at_ms, previous: hex(previous), hash: hex(hash), text: record }
}

/** Conditions that exclude records by their bytes. Records that pass are checked again. */
function conditionsOf(query: Query): { conditions: string; values: string[] } {
  const texts = [query.wallet, query.address, query.transaction, query.actor].filter((text) => text !== undefined)
  const values = texts.map((text) => JSON.stringify(text))
  let conditions = ' AND instr(record, ?) > 0'.repeat(values.length)
  const { events = [], text, agent } = query
  if (events.length > 0) {
    conditions += ' AND EXISTS (SELECT 1 FROM json_each(?) AS wanted WHERE instr(record, wanted.value) > 0)'
    values.push(JSON.stringify(events.map((event) => `"event":${JSON.stringify(event)}`)))
  }
  if (text !== undefined) {
    conditions += ' AND instr(lower(record), lower(?)) > 0'
    values.push(JSON.stringify(text).slice(1, -1))
  }
  if (agent !== undefined) {
    conditions += ' AND agent = ?'
    values.push(agent)
  }
  return { conditions, values }
}

function matches(record: AuditEvent, { events = [], actor, wallet, address, transaction }: Query): boolean {
  const isMember = (wanted: string | undefined, value: string | undefined): boolean =>
    wanted === undefined || wanted === value
  return (
    (events.length === 0 || events.includes(record.event)) &&
    (actor === undefined || isActor(record, actor)) &&
    isMember(wallet, record.wallet) &&
    (isMember(address, record.address) || record.detail?.['sender'] === address) &&
    isMember(transaction, record.transaction)
  )
}

function isActor({ actor }: AuditEvent, wanted: string): boolean {
  return actor.type === wanted || (actor.type === 'agent' && (actor.id === wanted || actor.name === wanted))
}

/** The record numbers to search. Times never decrease in the log, so they also correspond to a range of numbers. */
function rangeOf(reader: LogReader, query: Query): { first: number; last: number } {
  const row = reader.statement('SELECT max(number) AS number FROM audit').get() as { number: number | null }
  const end = row.number ?? 0
  const { afterNumber = 0, beforeNumber = end + 1, afterMs, beforeMs } = query
  const first = Math.max(afterNumber + 1, afterMs === undefined ? 1 : firstAt(reader, afterMs, end))
  const last = Math.min(beforeNumber - 1, end, beforeMs === undefined ? end : firstAt(reader, beforeMs, end) - 1)
  return { first, last }
}

/** The first record at or after this time; one more than the last if there is none. */
function firstAt(reader: LogReader, atMs: number, end: number): number {
  const statement = reader.statement('SELECT at_ms FROM audit WHERE number >= ? ORDER BY number LIMIT 1')
  let [low, high] = [1, end + 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const row = statement.get(middle) as { at_ms: number } | undefined
    if (row !== undefined && row.at_ms < atMs) low = middle + 1
    else high = middle
  }
  return low
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
