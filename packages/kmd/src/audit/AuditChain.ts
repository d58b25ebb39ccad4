/**
 * The records of the audit log, their hash chain, and the check that finds where it is broken. A record says what
 * happened, to what, and by whom, and never contains a secret. Pure: the caller supplies the rows.
 */
import { createHash } from 'node:crypto'
import { Json } from '@latchkey/algorand'
import type { EventName } from '@latchkey/kmd-api'

/** The number and hash of a record. All earlier records are verified against them. */
export type Head = { readonly number: number; readonly hash: Uint8Array }

/** The head of an empty log. */
export const noHead: Head = { number: 0, hash: new Uint8Array(32) }

/** The copy of the head in a separate file. `damaged`: the file exists but contains no head. */
export type CopiedHead = Head | 'missing' | 'damaged'

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

export type { EventName } from '@latchkey/kmd-api'

/** The party that performed the operation. */
export type Actor =
  | { readonly type: 'owner' }
  | { readonly type: 'console' }
  | { readonly type: 'agent'; readonly id: string; readonly name: string }
  | { readonly type: 'daemon' }

/**
 * An event. `event` is one of `eventNames`. `detail` has texts, integers as decimal text, and lists of them.
 * Untrusted text is bounded, and is in members whose name begins with `claimed`.
 */
export type AuditEvent = {
  readonly event: EventName
  readonly actor: Actor
  /** The id of the agent concerned. @default the actor if it is an agent, or `agent_id` in the detail */
  readonly agent?: string | undefined
  /** The wallet's id. */
  readonly wallet?: string | undefined
  readonly address?: string | undefined
  /** The transaction's id. */
  readonly transaction?: string | undefined
  readonly detail?: { readonly [member: string]: string | readonly string[] } | undefined
}

/** The part of an event that an operation determines. */
export type Subject = Partial<Omit<AuditEvent, 'event' | 'actor'>>

/** A record as stored. */
export type AuditRecord = AuditEvent & {
  readonly number: number
  readonly atMs: number
  /** The hash of the previous record, in hexadecimal; 64 zeros for the first. */
  readonly previous: string
  readonly hash: string
}

/**
 * Longer texts and lists are truncated with a marker, because a record is one line, and an untrusted party must not
 * fill the disk.
 */
const maxTextLength = 1024
/** The largest list of a grant has 1,000 payees. The smaller lengths are for records that are still too long. */
const listLengths = [1_024, 64, 8] as const
const maxMembers = 64
/** The maximum size of a record, in bytes of UTF-8. The largest grant takes two thirds of it. */
export const maxRecordBytes = 256 * 1024

/** The bytes that are hashed and stored: JSON with sorted members, so that a record has exactly one form. */
export function canonical(event: AuditEvent): string {
  for (const maxList of listLengths) {
    const text = JSON.stringify(sorted(event, maxList))
    if (Buffer.byteLength(text) <= maxRecordBytes) return text
  }
  const { detail, ...rest } = event
  const agent = detail?.['agent_id']
  const cut = 'the detail was longer than a record may be'
  // Keeps the agent's id, so that the record is still found by agent.
  const kept = { ...(typeof agent === 'string' && { agent_id: agent }), cut }
  return JSON.stringify(sorted({ ...rest, detail: kept }, listLengths[0]))
}

/** The event in a stored text; undefined for any other text. */
export function parse(text: string): AuditEvent | undefined {
  const value = Json.parseObject(text)
  if (value === undefined || typeof value['event'] !== 'string' || !Json.isObject(value['actor'])) return undefined
  return value as AuditEvent
}

/** The id of the agent that a record is about. */
export function agentOf({ actor, agent, detail }: AuditEvent): string | undefined {
  if (agent !== undefined) return agent
  if (actor.type === 'agent') return actor.id
  const named = detail?.['agent_id']
  return typeof named === 'string' ? named : undefined
}

function sorted(value: unknown, maxList: number): unknown {
  if (typeof value === 'string') return bounded(value)
  if (Array.isArray(value)) return boundedList(value, maxList)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, member]) => member !== undefined)
  entries.sort(([a], [b]) => (a < b ? -1 : 1))
  const isCut = entries.length > maxMembers
  const kept = isCut ? entries.slice(0, maxMembers - 1) : entries
  const members = kept.map(([name, member]) => [bounded(name), sorted(member, maxList)] as const)
  if (isCut) members.push(['…', `and ${entries.length - kept.length} more members`])
  return Object.fromEntries(members)
}

function boundedList(list: readonly unknown[], maxList: number): unknown[] {
  if (list.length <= maxList) return list.map((element) => sorted(element, maxList))
  const kept = list.slice(0, maxList - 1).map((element) => sorted(element, maxList))
  return [...kept, `… and ${list.length - kept.length} more`]
}

/** A lone surrogate has no encoding in UTF-8, so a text with one would be read back differently. */
function bounded(text: string): string {
  if (isPlain.test(text)) return text
  const cut = text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - 1)}…`
  return cut.replace(loneSurrogates, '\ufffd')
}

const isPlain = /^[ -~]{0,1024}$/
const loneSurrogates = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/**
 * The setting `audit`: whether signatures of agents only are recorded, or of the owner as well. All other important
 * events are recorded in either mode.
 */
export type AuditMode = 'all' | 'agents'

/** Every {@link AuditMode}. */
export const auditModes: readonly AuditMode[] = ['agents', 'all']
