/** The hash chain of the audit log, and the check that finds where it is broken. Pure: the rows come from elsewhere. */
import { createHash } from 'node:crypto'
import { agentOf, maxRecordBytes, parse } from './AuditRecord.js'

/** The number and the hash of a record: what everything before it is checked against. */
export type Head = { readonly number: number; readonly hash: Uint8Array }

/** The head of a log without records. */
export const noHead: Head = { number: 0, hash: new Uint8Array(32) }

/** A row as the table has it; nothing of it is trusted. */
export type Row = {
  readonly number: unknown
  readonly at_ms: unknown
  readonly previous: unknown
  /** The bytes of the text, and one more at most than a record may have. */
  readonly record: unknown
  readonly hash: unknown
  readonly agent: unknown
}

/** Why a log does not verify, for programs. */
export type ProblemType =
  /** The content of a record is not what its hash says. */
  | 'altered'
  /** One or more records are not there. */
  | 'missing'
  /** A record does not follow the one before it: one of them was inserted, replaced or moved. */
  | 'broken_link'
  /** Records at the end are not there. */
  | 'truncated'
  /** A record is another than the one that was noted elsewhere: the head, its copy, or an anchor. */
  | 'replaced'
  /** The daemon found the log damaged when it started, and recorded that. */
  | 'damage_recorded'
  /** The file cannot be read as a log. */
  | 'unreadable'

/** What is wrong with a log, and where it shows first. */
export type Problem = {
  readonly type: ProblemType
  /** The record where it shows first; 0 if it concerns the whole. */
  readonly number: number
  readonly message: string
}

/** A hash that was noted outside of the records. */
export type Checkpoint = Head & { /** In words: `the copy of the head`. */ readonly source: string }

/** An anchor as the log has it. */
export type Anchor = {
  readonly number: number
  readonly hash: string
  readonly transaction: string
  readonly address: string
  /** The genesis hash of its network, in base64. */
  readonly network: string
  readonly round: number
  /** The record that has it. */
  readonly recordedAs: number
}

/** More are counted only: their hashes would be looked up one by one. */
const maxAnchors = 10_000

/** The hash of a record: over its number, time, the hash before it, and its text, each with a fixed length or at the end. */
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

/** As an unsigned integer of 64 bits, which costs less than through a BigInt. */
function writeInteger(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / 2 ** 32), at)
  bytes.writeUInt32BE(value % 2 ** 32, at + 4)
}

/** Takes the rows of a log in their order, and stops at the first that is wrong. */
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

  /** The last record that was taken. */
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
    if (atMs < this.#atMs) return altered(number, 'its time is before that of the record before it')
    this.#head = { number, hash }
    this.#atMs = atMs
    return this.#checkContent(number, record, row.agent) ?? this.#checkNoted(number, hash)
  }

  /** After the last row: what was noted of later records shows that they are gone. */
  end(): Problem | undefined {
    const { number } = this.#head
    for (const checkpoint of this.#checkpoints.values()) {
      const later = checkpoint.find((one) => one.number > number)
      if (later === undefined) continue
      const message = `the log ends with record ${number}, and ${later.source} says that there was record ${later.number}`
      return { type: 'truncated', number: number + 1, message }
    }
    return undefined
  }

  #checkContent(number: number, record: Uint8Array, agent: unknown): Problem | undefined {
    const event = parse(Buffer.from(record.buffer, record.byteOffset, record.length).toString('utf8'))
    if (event === undefined) return altered(number, 'it is not a record')
    // The column is what searches use: a wrong one hides a record from them.
    if ((agentOf(event) ?? null) !== agent) return altered(number, 'it is filed under another agent')
    const { detail = {} } = event
    const text = (name: string): string => (typeof detail[name] === 'string' ? detail[name] : '')
    if (event.event === 'log_damaged') {
      const message = `record ${number} says that the log was damaged before it: ${text('reason')}`
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
  const message = `record ${number} is not the one that ${source} was made of: it, or records before it, were replaced`
  return { type: 'replaced', number, message }
}

function altered(number: number, why = 'its content is not what its hash says'): Problem {
  return { type: 'altered', number, message: `record ${number} was altered, or is not where it was written: ${why}` }
}

function missing(expected: number, found: number): Problem {
  const which = found === expected + 1 ? `record ${expected} is` : `records ${expected} to ${found - 1} are`
  return { type: 'missing', number: expected, message: `${which} missing` }
}

function brokenLink(number: number): Problem {
  const before = number === 1 ? 'is not a first record' : `does not follow record ${number - 1}`
  return {
    type: 'broken_link',
    number,
    message: `record ${number} ${before}: one was inserted, replaced, moved or taken away`,
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
const isHash = (value: unknown): value is Uint8Array => value instanceof Uint8Array && value.length === 32
