/** Audit records: what happened, to what, and by whom. A record never contains a secret. */
import { Json } from '@latchkey/algorand'
import type { EventName } from '@latchkey/kmd-api'

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
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!Json.isObject(value) || typeof value['event'] !== 'string' || !Json.isObject(value['actor'])) return undefined
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
