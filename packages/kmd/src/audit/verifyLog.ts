/** Recomputes the whole chain of the audit log in slices, with other work in between. */
import { setImmediate } from 'node:timers/promises'
import { KmdError } from '../errors.js'
import {
  type Anchor,
  ChainCheck,
  type Checkpoint,
  type CopiedHead,
  type Head,
  maxRecordBytes,
  type Problem,
  type Row,
  replaced,
} from './AuditChain.js'
import type { LogReader } from './searchLog.js'

/** The result of verifying the log. */
export type Verification = {
  /** Undefined if every record is present and unchanged. */
  readonly problem: Problem | undefined
  /** The last valid record. */
  readonly head: Head
  /** The anchors among the valid records. */
  readonly anchors: readonly Anchor[]
}

export type VerifyOptions = {
  /** The copy of the head, read before the log. @default not compared */
  readonly copy?: CopiedHead | undefined
  /** Hashes from other sources, such as a ledger. */
  readonly checkpoints?: readonly Checkpoint[] | undefined
  /** Called after each slice. */
  readonly onProgress?: ((number: number) => void) | undefined
}

const sliceLength = 500

/**
 * Checks the log up to its last record at the time of the call, reading a bounded part at a time. If others write
 * through the reader, read `copy` first.
 */
export async function verifyLog(reader: LogReader, options: VerifyOptions = {}): Promise<Verification> {
  const { copy, checkpoints = [] } = options
  let check = new ChainCheck()
  try {
    const noTable = checkTable(reader)
    if (noTable !== undefined) return { problem: noTable, head: check.head, anchors: [] }
    // Read in one step, so that records added in the meantime are in neither.
    const [noted, last] = [readHead(reader), lastNumber(reader)]
    const isEmpty = noted === undefined && copy === 'missing' && last === 0
    check = new ChainCheck([...checkpoints, ...notedHeads(noted, copy)])
    const problem =
      (await checkRows(reader, check, last, options)) ??
      check.end() ??
      checkEnd(check.head, noted) ??
      (isEmpty ? undefined : checkCopy(copy)) ??
      checkAnchors(reader, check.anchors)
    return { problem, head: check.head, anchors: check.anchors }
  } catch (error) {
    // The daemon is stopping, which says nothing about the log.
    if (error instanceof KmdError) throw error
    const message = `the file cannot be read after record ${check.head.number}: ${(error as Error).message}`
    return {
      problem: { type: 'unreadable', number: check.head.number + 1, message },
      head: check.head,
      anchors: check.anchors,
    }
  }
}

function readHead(reader: LogReader): Head | undefined {
  return reader.statement('SELECT number, hash FROM audit_head WHERE id = 1').get() as Head | undefined
}

function lastNumber(reader: LogReader): number {
  return (reader.statement('SELECT max(number) AS number FROM audit').get() as { number: number | null }).number ?? 0
}

function notedHeads(noted: Head | undefined, copy: CopiedHead | undefined): Checkpoint[] {
  const heads: Checkpoint[] = []
  if (noted !== undefined && noted.number > 0) heads.push({ ...noted, source: 'the table audit_head' })
  if (typeof copy === 'object' && copy.number > 0) heads.push({ ...copy, source: 'the copy of the head' })
  return heads
}

/** A view instead of the table could produce rows endlessly. */
function checkTable(reader: LogReader): Problem | undefined {
  const found = reader.statement("SELECT type FROM sqlite_schema WHERE name IN ('audit', 'audit_head')").all()
  const isTables = found.length === 2 && found.every((entry) => (entry as { type: string }).type === 'table')
  if (isTables) return undefined
  return { type: 'unreadable', number: 0, message: "the file does not have the audit log's tables" }
}

async function checkRows(
  reader: LogReader,
  check: ChainCheck,
  last: number,
  { onProgress }: VerifyOptions,
): Promise<Problem | undefined> {
  const sql = `SELECT number, at_ms, previous, substr(CAST(record AS BLOB), 1, ${maxRecordBytes + 1}) AS record, hash, agent
     FROM audit WHERE number > ? AND number <= ? ORDER BY number LIMIT ${sliceLength}`
  for (;;) {
    // Starts below the first possible number, so that a record inserted before record 1 is also found.
    const after = check.head.number === 0 ? Number.MIN_SAFE_INTEGER : check.head.number
    const rows = reader.statement(sql).all(after, last) as Row[]
    for (const row of rows) {
      const problem = check.add(row)
      if (problem !== undefined) return problem
    }
    if (rows.length < sliceLength) return undefined
    onProgress?.(check.head.number)
    await setImmediate()
  }
}

/** The table must name the last record. */
function checkEnd(head: Head, noted: Head | undefined): Problem | undefined {
  if ((noted?.number ?? 0) === head.number) return undefined
  const message = `the log ends with record ${head.number}, but the table audit_head names record ${noted?.number ?? 0}`
  return { type: 'replaced', number: head.number, message }
}

function checkCopy(copy: CopiedHead | undefined): Problem | undefined {
  if (copy !== 'missing' && copy !== 'damaged') return undefined
  const message = `the copy of the head, latchkey_audit.head, is ${copy}: the last records may have been removed or replaced`
  return { type: 'truncated', number: 0, message }
}

/** An anchor in the log refers to an earlier record. */
function checkAnchors(reader: LogReader, anchors: readonly Anchor[]): Problem | undefined {
  const statement = reader.statement('SELECT hash FROM audit WHERE number = ?')
  for (const { number, hash, recordedAs } of anchors) {
    const row = Number.isSafeInteger(number) ? (statement.get(number) as { hash: Uint8Array } | undefined) : undefined
    const isSame = row !== undefined && Buffer.from(row.hash).toString('hex') === hash && number < recordedAs
    if (!isSame) return replaced(number, `the anchor in record ${recordedAs}`)
  }
  return undefined
}
