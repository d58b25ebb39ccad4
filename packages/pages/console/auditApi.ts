/** The daemon's operations on the audit log. */
import { Json } from '@latchkey/algorand'
import type { Api } from './api.js'
import * as Fields from './fields.js'

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

/** The search criteria. Every non-empty member must match. */
export type AuditQuery = {
  events: readonly string[]
  agentId: string
  walletId: string
  address: string
  transactionId: string
  text: string
  afterMs: number
  /** 0 for no bound. */
  beforeMs: number
}

export const anything: AuditQuery = {
  ...{ events: [], agentId: '', walletId: '', address: '', transactionId: '', text: '', afterMs: 0, beforeMs: 0 },
}

export type AuditPage = {
  records: readonly AuditRecord[]
  /** Where the next page of older records begins; 0 if there are none. */
  continueFrom: number
  headNumber: number
}

export type AuditVerification = { isOk: boolean; records: number; headHash: string; problem: string; anchors: number }

/** Verifying a million records takes several seconds. */
const verifyTimeoutMs = 600_000
const prefix = '/latchkey/v1/audit'

export class AuditApi {
  readonly #api: Api

  constructor(api: Api) {
    this.#api = api
  }

  /** Returns records newest first, starting below `beforeNumber`; 0 starts with the newest. */
  async search(query: AuditQuery, options: { beforeNumber?: number; count: number }): Promise<AuditPage> {
    const body = {
      ...(query.events.length > 0 && { events: query.events }),
      ...(query.agentId !== '' && { agent_id: query.agentId }),
      ...(query.walletId !== '' && { wallet: query.walletId }),
      ...(query.address !== '' && { address: query.address }),
      ...(query.transactionId !== '' && { transaction_id: query.transactionId }),
      ...(query.text !== '' && { text: query.text }),
      after_ms: query.afterMs,
      before_ms: query.beforeMs,
      before_number: options.beforeNumber ?? 0,
      count: options.count,
    }
    const response = await this.#api.send({ method: 'POST', path: `${prefix}/search`, body })
    return {
      records: Fields.objects(response, 'records').map(toRecord),
      continueFrom: Fields.number(response, 'continue_from'),
      headNumber: Fields.number(response, 'head_number'),
    }
  }

  async verify(): Promise<AuditVerification> {
    const path = `${prefix}/verify`
    const response = await this.#api.send({ method: 'POST', path, body: {}, timeoutMs: verifyTimeoutMs })
    return {
      isOk: Fields.boolean(response, 'ok'),
      records: Fields.number(response, 'records'),
      headHash: Fields.string(response, 'head_hash'),
      problem: Fields.string(response, 'problem'),
      anchors: Fields.array(response, 'anchors').length,
    }
  }
}

function toRecord(response: Fields.JsonObject): AuditRecord {
  const text = Fields.string(response, 'record')
  const event = parse(text)
  const actor = Fields.object(event, 'actor')
  return {
    number: Fields.number(response, 'number'),
    atMs: Fields.number(response, 'at_ms'),
    event: Fields.string(event, 'event') || Fields.string(response, 'event'),
    actor: { type: Fields.string(actor, 'type'), id: Fields.string(actor, 'id'), name: Fields.string(actor, 'name') },
    agent: Fields.string(event, 'agent') || Fields.string(actor, 'id'),
    wallet: Fields.string(event, 'wallet'),
    address: Fields.string(event, 'address'),
    transaction: Fields.string(event, 'transaction'),
    walletName: Fields.string(response, 'wallet_name'),
    detail: toDetail(Fields.object(event, 'detail')),
    previous: Fields.string(response, 'previous'),
    hash: Fields.string(response, 'hash'),
    text,
  }
}

/** A damaged record is still shown, as far as it can be parsed. */
function parse(text: string): Fields.JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    return Json.isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function toDetail(detail: Fields.JsonObject): AuditRecord['detail'] {
  const entries = Object.keys(detail).map((name) => {
    const value = detail[name]
    return [name, Array.isArray(value) ? Fields.strings(detail, name) : Fields.string(detail, name)] as const
  })
  return Object.fromEntries(entries)
}
