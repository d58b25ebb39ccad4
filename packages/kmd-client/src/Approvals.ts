/** Payments of agents that wait for the owner: listed, watched and decided. */
import type { CallOptions, Connection } from './Connection.js'
import type { ResponseBody } from './ResponseBody.js'

/** `open` waits for the owner; `approved` waits for the agent to send the transaction again. */
export type ApprovalState = 'open' | 'approved' | 'denied' | 'expired' | 'used'

const states: readonly string[] = ['open', 'approved', 'denied', 'expired', 'used'] satisfies ApprovalState[]

/** One transaction of one agent that needs the owner. */
export type Approval = {
  id: string
  agentId: string
  agentName: string
  state: ApprovalState
  transactionId: string
  /** The canonical bytes of the transaction. */
  transaction: Uint8Array
  /** What the transaction does, in words. */
  description: string[]
  warnings: string[]
  /** Why the owner is asked: a sentence for each rule. */
  reason: string
  /** Every rule that asks, such as `$5/day`. The approval lifts these, and no other. */
  rules: string[]
  /** The first of the rules. */
  rule: string
  /** The unit of `asked` and `left`: `USDC`, `ALGO`, `asset 123` or `payments`. Blank where the rule has no amount. */
  unit: string
  /** In the smallest unit; undefined where the rule has no amount. */
  asked: bigint | undefined
  left: bigint | undefined
  /** What the caller says it pays for. Not checked by anything. */
  claimedUrl: string
  claimedDescription: string
  createdAtMs: number
  expiresAtMs: number
  decidedAtMs: number | undefined
}

/** Approvals at one time. */
export type ApprovalList = {
  approvals: Approval[]
  /** How many more the daemon has than it lists: older ones. */
  leftOut: number
  /** Changes with every one that is asked for, decided, used or expires. */
  revision: string
}

type ListOptions = CallOptions & {
  /** Lists the latest 200 decided and expired ones, too. @default false */
  all?: boolean | undefined
}

/** What agents ask the owner: `kmd.approvals`. Latchkey's daemon only. Every method throws {@link KmdClientError}. */
export class Approvals {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Lists the payments that wait for the owner, newest first. */
  async list({ all = false, ...options }: ListOptions = {}): Promise<ApprovalList> {
    return readList(await this.#connection.call('ListApprovals', { ...options, members: { all } }))
  }

  /**
   * Lists them once something has changed since the revision, or after 30 seconds at most.
   *
   * @example
   * let { approvals, revision } = await kmd.approvals.list()
   * for (;;) ({ approvals, revision } = await kmd.approvals.watch({ revision }))
   */
  async watch({
    revision,
    waitSeconds = 25,
    all = false,
    ...options
  }: ListOptions & { revision: string; waitSeconds?: number | undefined }): Promise<ApprovalList> {
    const members = { revision, wait_seconds: waitSeconds, all }
    return readList(await this.#connection.call('WatchApprovals', { ...options, members }))
  }

  /** Lets the agent sign this very transaction. */
  async approve({ id, ...options }: { id: string } & CallOptions): Promise<Approval> {
    const response = await this.#connection.call('ApprovePayment', { ...options, members: { approval_id: id } })
    return readApproval(response.object('approval'))
  }

  /** Refuses this transaction for as long as the ledger may take it. */
  async deny({ id, ...options }: { id: string } & CallOptions): Promise<Approval> {
    const response = await this.#connection.call('DenyPayment', { ...options, members: { approval_id: id } })
    return readApproval(response.object('approval'))
  }
}

function readList(response: ResponseBody): ApprovalList {
  const approvals = response.objects('approvals').map(readApproval)
  return { approvals, leftOut: response.integer('left_out'), revision: response.text('revision') }
}

/** An approval in a response. */
export function readApproval(body: ResponseBody): Approval {
  const text = (name: string): string => (body.members[name] === undefined ? '' : body.text(name))
  const amount = (name: string): bigint | undefined =>
    /^[0-9]{1,20}$/.test(text(name)) ? BigInt(text(name)) : undefined
  const state = text('state')
  return {
    id: body.text('id'),
    agentId: body.text('agent_id'),
    agentName: text('agent_name'),
    // A later daemon may have another; nothing may be signed by it.
    state: (states.includes(state) ? state : 'expired') as ApprovalState,
    transactionId: body.text('transaction_id'),
    transaction: body.bytes('transaction'),
    description: body.texts('description'),
    warnings: body.texts('warnings'),
    reason: text('reason'),
    rules: body.texts('rules'),
    rule: text('rule'),
    unit: text('unit'),
    asked: amount('asked'),
    left: amount('left'),
    claimedUrl: text('claimed_url'),
    claimedDescription: text('claimed_description'),
    createdAtMs: body.integer('created_at_ms'),
    expiresAtMs: body.integer('expires_at_ms'),
    decidedAtMs: body.integer('decided_at_ms') || undefined,
  }
}
