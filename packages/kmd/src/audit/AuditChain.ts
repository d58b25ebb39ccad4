/** The hash chain of the audit log, and the check that finds where it is broken. Pure: the caller supplies the rows. */
import { createHash } from 'node:crypto'
import { agentOf, maxRecordBytes, parse } from './AuditRecord.js'

/** The number and hash of a record. All earlier records are verified against them. */
export type Head = { readonly number: number; readonly hash: Uint8Array }

/** The head of an empty log. */
export const noHead: Head = { number: 0, hash: new Uint8Array(32) }

/** A row of the table. Nothing in it is trusted. */
export type Row = {
  readonly number: unknown
  readonly at_ms: unknown
  readonly previous: unknown
  /** The bytes of the text, at most one more than a record may have. */
  readonly record: unknown
  readonly hash: unknown
  readonly agent: unknown
}

/** Why a log does not verify, in machine-readable form. */
export type ProblemType =
  /** A record's content does not match its hash. */
  | 'altered'
  /** One or more records are missing. */
  | 'missing'
  /** A record does not follow the one before it: one of them was inserted, replaced or moved. */
  | 'broken_link'
  /** Records at the end are missing. */
  | 'truncated'
  /** A record differs from the one noted elsewhere: in the head, its copy, or an anchor. */
  | 'replaced'
  /** The daemon found the log damaged at startup, and recorded it. */
  | 'damage_recorded'
  /** The file cannot be read as a log. */
  | 'unreadable'

/** The first problem of a log. */
export type Problem = {
  readonly type: ProblemType
  /** The first record with the problem; 0 if the problem concerns the whole log. */
  readonly number: number
  readonly message: string
}

/** A hash noted outside of the records. */
export type Checkpoint = Head & { /** A description: `the copy of the head`. */ readonly source: string }

/** An anchor recorded in the log. */
export type Anchor = {
  readonly number: number
  readonly hash: string
  readonly transaction: string
  readonly address: string
  /** The network's genesis hash, in base64. */
  readonly network: string
  readonly round: number
  /** The number of the record with this anchor. */
  readonly recordedAs: number
}

/** Further anchors are only counted, because their hashes would be looked up one by one. */
const maxAnchors = 10_000

/**
 * The hash of a record: over its number, time, previous hash and text, each of fixed length except for the text at the
 * end.
 */
export function hashOf(record: {
  number: number
  atMs: number
  previous: Uint8Array
  record: string | Uint8Array
}): Buffer {
  const numbers = Buffer.allocUnsafe(16)
  writeInteger(numbers, record.number, 0)
  writeInteger(numbers, record.atMs, 8)
  return createHash('sha256')
    .update('latchkey audit record 1\n')
    .update(numbers)
    .update(record.previous)
    .update(record.record)
    .digest()
}

/** Writes an unsigned 64-bit integer, which is cheaper than using a BigInt. */
function writeInteger(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / 2 ** 32), at)
  bytes.writeUInt32BE(value % 2 ** 32, at + 4)
}

/** Checks the rows of a log in order, and stops at the first invalid one. */
export class ChainCheck {
  readonly anchors: Anchor[] = []
  readonly #checkpoints = new Map<number, Checkpoint[]>()
  #head: Head = noHead
  #atMs = 0

  constructor(checkpoints: readonly Checkpoint[] = []) {
    for (const checkpoint of checkpoints) {
      this.#checkpoints.set(checkpoint.number, [...(this.#checkpoints.get(checkpoint.number) ?? []), checkpoint])
    }
  }

  /** The last record that was checked. */
  get head(): Head {
    return this.#head
  }

  add(row: Row): Problem | undefined {
    const expected = this.#head.number + 1
    const { number, at_ms: atMs, previous, record, hash } = row
    if (!isCount(number)) return altered(expected)
    if (number !== expected) return missing(expected, number)
    if (!isCount(atMs) || !isHash(previous) || !isHash(hash) || !(record instanceof Uint8Array)) return altered(number)
    if (record.length > maxRecordBytes) return altered(number)
    if (!hashOf({ number, atMs, previous, record }).equals(hash)) return altered(number)
    if (Buffer.compare(previous, this.#head.hash) !== 0) return brokenLink(number)
    if (atMs < this.#atMs) return altered(number, 'its time is earlier than that of the previous record')
    this.#head = { number, hash }
    this.#atMs = atMs
    return this.#checkContent(number, record, row.agent) ?? this.#checkNoted(number, hash)
  }

  /** Called after the last row. Checkpoints of later records show that those records are missing. */
  end(): Problem | undefined {
    const { number } = this.#head
    for (const checkpoint of this.#checkpoints.values()) {
      const later = checkpoint.find((one) => one.number > number)
      if (later === undefined) continue
      const message = `the log ends with record ${number}, but ${later.source} names record ${later.number}`
      return { type: 'truncated', number: number + 1, message }
    }
    return undefined
  }

  #checkContent(number: number, record: Uint8Array, agent: unknown): Problem | undefined {
    const event = parse(Buffer.from(record.buffer, record.byteOffset, record.length).toString('utf8'))
    if (event === undefined) return altered(number, 'it is not a record')
    // Searches use this column, so a wrong value would hide a record from them.
    if ((agentOf(event) ?? null) !== agent) return altered(number, 'its agent column names another agent')
    const { detail = {} } = event
    const text = (name: string): string => (typeof detail[name] === 'string' ? detail[name] : '')
    if (event.event === 'log_damaged') {
      const message = `record ${number} reports earlier damage to the log: ${text('reason')}`
      return { type: 'damage_recorded', number, message }
    }
    if (event.event !== 'log_anchored' || this.anchors.length >= maxAnchors) return undefined
    const { transaction = '', address = '' } = event
    const [anchored, round] = [Number(text('number')), Number(text('round'))]
    const place = { transaction, address, network: text('network'), round, recordedAs: number }
    this.anchors.push({ number: anchored, hash: text('hash'), ...place })
    return undefined
  }

  #checkNoted(number: number, hash: Uint8Array): Problem | undefined {
    const wrong = this.#checkpoints.get(number)?.find((noted) => Buffer.compare(noted.hash, hash) !== 0)
    return wrong === undefined ? undefined : replaced(number, wrong.source)
  }
}

export function replaced(number: number, source: string): Problem {
  const message = `record ${number} does not match ${source}: this record or an earlier one was replaced`
  return { type: 'replaced', number, message }
}

function altered(number: number, why = 'its content does not match its hash'): Problem {
  return { type: 'altered', number, message: `record ${number} was altered or moved: ${why}` }
}

function missing(expected: number, found: number): Problem {
  const which = found === expected + 1 ? `record ${expected} is` : `records ${expected} to ${found - 1} are`
  return { type: 'missing', number: expected, message: `${which} missing` }
}

function brokenLink(number: number): Problem {
  const before = number === 1 ? 'is not the first record' : `does not follow record ${number - 1}`
  return {
    type: 'broken_link',
    number,
    message: `record ${number} ${before}: a record was inserted, replaced, moved or removed`,
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
const isHash = (value: unknown): value is Uint8Array => value instanceof Uint8Array && value.length === 32
