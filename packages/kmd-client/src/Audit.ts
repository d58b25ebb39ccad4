/** Searches and verifies a daemon's audit log, which is a hash chain of records. */
import { Json } from '@latchkey/algorand'
import type { CallOptions, Connection } from './Connection.js'
import { KmdClientError } from './KmdClientError.js'
import type { ResponseTo } from './operations.js'

/** The party that performed the operation. `id` and `name` are set for agents. */
export type AuditActor = { type: string; id?: string | undefined; name?: string | undefined }

/** An audit record. Texts in `detail` whose names begin with `claimed` come from untrusted parties. */
export type AuditRecord = {
  number: number
  atMs: number
  event: string
  actor: AuditActor
  /** The ids of the record's subjects. */
  agent?: string | undefined
  wallet?: string | undefined
  address?: string | undefined
  transaction?: string | undefined
  /** The wallet's current name; blank if the wallet is gone or the record is not about a wallet. */
  walletName: string
  detail: { readonly [member: string]: string | readonly string[] }
  /** In hexadecimal. */
  previous: string
  hash: string
  /** The JSON that is hashed. */
  text: string
}

/** A search filter: every member that is set must match. */
export type AuditQuery = {
  events?: readonly string[] | undefined
  /** `owner`, `console`, `agent` or `daemon`; or an agent's name or id. */
  actor?: string | undefined
  /** An agent id: matches operations by the agent and operations on the agent. */
  agent?: string | undefined
  /** A wallet id. */
  wallet?: string | undefined
  address?: string | undefined
  transaction?: string | undefined
  /** Matches anywhere in the record, case-insensitively. */
  text?: string | undefined
  afterMs?: number | undefined
  beforeMs?: number | undefined
  /** Returns records below this number, newest first. */
  beforeNumber?: number | undefined
  /** Returns records above this number, oldest first. Cannot be combined with `beforeNumber`. */
  afterNumber?: number | undefined
  /** @default 100 */
  count?: number | undefined
}

/** A page of search results. */
export type AuditPage = {
  records: AuditRecord[]
  /**
   * The next `beforeNumber` or `afterNumber`; undefined on the last page. A page may have fewer records than requested.
   */
  continueFrom: number | undefined
  /** The number of the last record; 0 if the log is empty. */
  headNumber: number
  headHash: string
}

/** An anchor recorded in the log. */
export type AuditAnchor = {
  number: number
  hash: string
  transaction: string
  address: string
  /** The genesis hash, in base64. */
  network: string
  round: number
  recordedAs: number
}

/** The result of verifying the log. */
export type AuditVerification = {
  ok: boolean
  /** The number of valid records, counted from the first. */
  records: number
  headHash: string
  problem: { type: string; number: number; message: string } | undefined
  anchors: AuditAnchor[]
}

/** The transaction note that anchors the log. */
export type PreparedAnchor = { number: number; hash: string; note: string }

/** Options of `kmd.audit.recordAnchor`. */
export type RecordAnchorOptions = CallOptions & {
  note: string
  transaction: string
  address: string
  network: string
  round: number
}

/** Verifying a million records takes some seconds. */
const verifyTimeoutMs = 600_000

/** The audit log: `kmd.audit`. Latchkey's daemon only. Every method throws {@link KmdClientError}. */
export class Audit {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Finds records, newest first, or oldest first if `afterNumber` is set.
   *
   * @example
   * const { records } = await kmd.audit.search({ events: ['key_exported'], count: 10 })
   */
  async search({ signal, timeoutMs, ...query }: AuditQuery & CallOptions = {}): Promise<AuditPage> {
    const members = {
      ...(query.events !== undefined && { events: query.events }),
      ...texts({ actor: query.actor, agent_id: query.agent, wallet: query.wallet, address: query.address }),
      ...texts({ transaction_id: query.transaction, text: query.text }),
      ...integers({ after_ms: query.afterMs, before_ms: query.beforeMs, before_number: query.beforeNumber }),
      ...integers({ after_number: query.afterNumber, count: query.count }),
      ...(query.afterNumber !== undefined && { is_oldest_first: true }),
    }
    const response = await this.#connection.call('SearchAudit', { signal, timeoutMs, members })
    return {
      ...response,
      records: response.records.map(readRecord),
      continueFrom: response.continueFrom || undefined,
    }
  }

  /** Makes the daemon recompute and verify the whole log. */
  async verify({ timeoutMs = verifyTimeoutMs, ...options }: CallOptions = {}): Promise<AuditVerification> {
    const response = await this.#connection.call('VerifyAudit', { ...options, timeoutMs })
    const { ok, records, headHash, problemType, problemNumber, problem, anchors } = response
    return {
      ok,
      records,
      headHash,
      problem: ok ? undefined : { type: problemType, number: problemNumber, message: problem },
      anchors: anchors.map(({ transactionId, ...anchor }) => ({ ...anchor, transaction: transactionId })),
    }
  }

  /** Returns the note for a transaction that anchors the current log. */
  async prepareAnchor(options: CallOptions = {}): Promise<PreparedAnchor> {
    return this.#connection.call('PrepareAnchor', options)
  }

  /** Records an anchor that is in the ledger, and returns the number of the new record. */
  async recordAnchor({ note, transaction, address, network, round, ...options }: RecordAnchorOptions): Promise<number> {
    const members = { note, transaction_id: transaction, address, network, round }
    const response = await this.#connection.call('RecordAnchor', { ...options, members })
    return response.recordedAs
  }
}

export function readRecord({ record: text, ...written }: ResponseTo<'SearchAudit'>['records'][number]): AuditRecord {
  const event = Json.parseObject(text)
  const actor = event?.['actor']
  if (event === undefined || typeof event['event'] !== 'string' || !Json.isObject(actor)) return fail()
  const optional = (from: Json.Members, name: string): string | undefined => {
    const value = from[name]
    return typeof value === 'string' ? value : undefined
  }
  return {
    ...written,
    event: event['event'],
    actor: { type: optional(actor, 'type') ?? fail(), id: optional(actor, 'id'), name: optional(actor, 'name') },
    agent: optional(event, 'agent'),
    wallet: optional(event, 'wallet'),
    address: optional(event, 'address'),
    transaction: optional(event, 'transaction'),
    detail: readDetail(event['detail']),
    text,
  }
}

function readDetail(value: unknown): AuditRecord['detail'] {
  if (value === undefined) return {}
  if (!Json.isObject(value)) return fail()
  const isText = (one: unknown): boolean =>
    typeof one === 'string' || (Array.isArray(one) && one.every((element) => typeof element === 'string'))
  return Object.values(value).every(isText) ? (value as AuditRecord['detail']) : fail()
}

function fail(): never {
  const message = 'the response contains an audit record that cannot be read'
  throw new KmdClientError('invalid_response', message, { operation: 'SearchAudit', status: 200 })
}

type Given<T> = { readonly [name: string]: T | undefined }

function texts(given: Given<string>): { [name: string]: string } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [name: string]: string
  }
}

function integers(given: Given<number>): { [name: string]: number } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [name: string]: number
  }
}
