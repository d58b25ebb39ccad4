/** Searches the daemon's audit log. */
import { Json } from '@latchkey/algorand'
import { auditOperations } from '@latchkey/kmd-api/operations'
import type { Daemon, RequestFor, ResponseFor } from './daemon.js'

/** The search criteria. Every member that is neither absent, blank nor 0 must match. */
export type AuditQuery = RequestFor<typeof auditOperations.SearchAudit>

/** A record of the audit log. Texts in `detail` whose names begin with `claimed` are untrusted. */
export type AuditRecord = {
  number: number
  atMs: number
  event: string
  /** `id` and `name` identify an agent; empty for other actors. */
  actor: { type: string; id: string; name: string }
  /** Ids, empty if not applicable. */
  agent: string
  wallet: string
  address: string
  transaction: string
  /** The current name of the wallet, or empty if it was deleted. */
  walletName: string
  detail: { readonly [member: string]: string | readonly string[] }
  previous: string
  hash: string
  /** The JSON that the hash covers. */
  text: string
}

export type AuditPage = {
  records: readonly AuditRecord[]
  /** Where the next page of older records begins; 0 if there are none. */
  continueFrom: number
}

/** Returns records newest first. */
export async function searchAudit(daemon: Daemon, query: AuditQuery): Promise<AuditPage> {
  const { records, continueFrom } = await daemon.call(auditOperations.SearchAudit, query)
  return { records: records.map(toRecord), continueFrom }
}

type Written = ResponseFor<typeof auditOperations.SearchAudit>['records'][number]

/** A damaged record is still shown, as far as it can be parsed. */
function toRecord({ record: text, event, ...written }: Written): AuditRecord {
  const parsed = Json.parseObject(text) ?? {}
  const actor = Json.isObject(parsed['actor']) ? parsed['actor'] : {}
  const detail = Json.isObject(parsed['detail']) ? parsed['detail'] : {}
  return {
    ...written,
    event: textOf(parsed['event']) || event,
    actor: { type: textOf(actor['type']), id: textOf(actor['id']), name: textOf(actor['name']) },
    agent: textOf(parsed['agent']) || textOf(actor['id']),
    wallet: textOf(parsed['wallet']),
    address: textOf(parsed['address']),
    transaction: textOf(parsed['transaction']),
    detail: Object.fromEntries(
      Object.entries(detail).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.filter(isText) : textOf(value),
      ]),
    ),
    text,
  }
}

function textOf(value: unknown): string {
  return isText(value) ? value : ''
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
