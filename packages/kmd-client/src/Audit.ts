/** The audit log of a daemon: what happened, in a chain of hashes. */
import { Json } from '@latchkey/algorand'
import type { CallOptions, Connection } from './Connection.js'
import { KmdClientError } from './KmdClientError.js'
import type { ResponseBody } from './ResponseBody.js'

/** Who did something. `id` and `name` are those of an agent. */
export type AuditActor = { type: string; id?: string | undefined; name?: string | undefined }

/** A record of the audit log. Texts in `detail` whose names begin with `claimed` come from strangers. */
export type AuditRecord = {
  number: number
  atMs: number
  event: string
  actor: AuditActor
  /** The ids of what it is about. */
  agent?: string | undefined
  wallet?: string | undefined
  address?: string | undefined
  transaction?: string | undefined
  /** As the wallet is called now; blank if it is gone, or the record is about none. */
  walletName: string
  detail: { readonly [member: string]: string | readonly string[] }
  /** In hexadecimal. */
  previous: string
  hash: string
  /** The JSON that the hash is over. */
  text: string
}

/** What is searched for: every member that is given has to match. */
export type AuditQuery = {
  events?: readonly string[] | undefined
  /** `owner`, `console`, `agent` or `daemon`; or the name or the id of an agent. */
  actor?: string | undefined
  /** The id of an agent: what it did, and what was done to it. */
  agent?: string | undefined
  /** The id of a wallet. */
  wallet?: string | undefined
  address?: string | undefined
  transaction?: string | undefined
  /** Anywhere in the record, in either case. */
  text?: string | undefined
  afterMs?: number | undefined
  beforeMs?: number | undefined
  /** Records below this number, newest first. */
  beforeNumber?: number | undefined
  /** Records above this number, oldest first; not together with `beforeNumber`. */
  afterNumber?: number | undefined
  /** @default 100 */
  count?: number | undefined
}

/** What a search found. */
export type AuditPage = {
  records: AuditRecord[]
  /** The next `beforeNumber` or `afterNumber`; undefined if there is no more. A page may have fewer records than asked for. */
  continueFrom: number | undefined
  /** The last record of the log; 0 for an empty one. */
  headNumber: number
  headHash: string
}

/** An anchor that the log has. */
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

/** Whether the log is as it was written. */
export type AuditVerification = {
  ok: boolean
  /** How many records were found to be right, from the first on. */
  records: number
  headHash: string
  problem: { type: string; number: number; message: string } | undefined
  anchors: AuditAnchor[]
}

/** The note of a transaction that anchors the log. */
export type PreparedAnchor = { number: number; hash: string; note: string }

/** Options of `kmd.audit.recordAnchor`. */
export type RecordAnchorOptions = CallOptions & {
  note: string
  transaction: string
  address: string
  network: string
  round: number
}

/** A million records take some seconds. */
const verifyTimeoutMs = 600_000

/** The audit log: `kmd.audit`. Latchkey's daemon only. Every method throws {@link KmdClientError}. */
export class Audit {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Finds records, newest first, or from `afterNumber` on.
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
      records: response.objects('records').map(readRecord),
      continueFrom: response.integer('continue_from') || undefined,
      headNumber: response.integer('head_number'),
      headHash: response.text('head_hash'),
    }
  }

  /** Lets the daemon recompute the whole log. */
  async verify({ timeoutMs = verifyTimeoutMs, ...options }: CallOptions = {}): Promise<AuditVerification> {
    const response = await this.#connection.call('VerifyAudit', { ...options, timeoutMs })
    const ok = response.bool('ok')
    return {
      ok,
      records: response.integer('records'),
      headHash: response.text('head_hash'),
      problem: ok
        ? undefined
        : {
            type: response.text('problem_type'),
            number: response.integer('problem_number'),
            message: response.text('problem'),
          },
      anchors: response.objects('anchors').map((one) => ({
        ...{ number: one.integer('number'), hash: one.text('hash'), transaction: one.text('transaction_id') },
        ...{ address: one.text('address'), network: one.text('network'), round: one.integer('round') },
        recordedAs: one.integer('recorded_as'),
      })),
    }
  }

  /** Returns the note for a transaction that anchors the log as it is now. */
  async prepareAnchor(options: CallOptions = {}): Promise<PreparedAnchor> {
    const response = await this.#connection.call('PrepareAnchor', options)
    return { number: response.integer('number'), hash: response.text('hash'), note: response.text('note') }
  }

  /** Records an anchor that is in the ledger. Returns the number of the record. */
  async recordAnchor({ note, transaction, address, network, round, ...options }: RecordAnchorOptions): Promise<number> {
    const members = { note, transaction_id: transaction, address, network, round }
    const response = await this.#connection.call('RecordAnchor', { ...options, members })
    return response.integer('recorded_as')
  }
}

/** A record as the daemon sends it. */
export function readRecord(response: ResponseBody): AuditRecord {
  const text = response.text('record')
  const event = parse(text)
  const actor = event?.['actor']
  if (event === undefined || typeof event['event'] !== 'string' || !Json.isObject(actor)) return fail()
  const optional = (from: Json.Members, name: string): string | undefined => {
    const value = from[name]
    return typeof value === 'string' ? value : undefined
  }
  return {
    number: response.integer('number'),
    atMs: response.integer('at_ms'),
    event: event['event'],
    actor: { type: optional(actor, 'type') ?? fail(), id: optional(actor, 'id'), name: optional(actor, 'name') },
    ...{ agent: optional(event, 'agent'), wallet: optional(event, 'wallet'), address: optional(event, 'address') },
    transaction: optional(event, 'transaction'),
    walletName: response.members['wallet_name'] === undefined ? '' : response.text('wallet_name'),
    detail: readDetail(event['detail']),
    ...{ previous: response.text('previous'), hash: response.text('hash'), text },
  }
}

function readDetail(value: unknown): AuditRecord['detail'] {
  if (value === undefined) return {}
  if (!Json.isObject(value)) return fail()
  const isText = (one: unknown): boolean =>
    typeof one === 'string' || (Array.isArray(one) && one.every((element) => typeof element === 'string'))
  return Object.values(value).every(isText) ? (value as AuditRecord['detail']) : fail()
}

function parse(text: string): Json.Members | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return Json.isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function fail(): never {
  const message = 'the response has a record of the audit log that cannot be read'
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
