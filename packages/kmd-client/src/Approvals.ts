/** Lists, watches and decides agent payments that wait for the owner's approval. */
import type { CallOptions, Connection } from './Connection.js'
import type { ResponseTo } from './operations.js'

/** `open`: waiting for the owner. `approved`: waiting for the agent to send the transaction again. */
export type ApprovalState = 'open' | 'approved' | 'denied' | 'expired' | 'used'

const states: readonly string[] = ['open', 'approved', 'denied', 'expired', 'used'] satisfies ApprovalState[]

/** An agent's transaction that needs the owner's approval. */
export type Approval = {
  id: string
  agentId: string
  agentName: string
  state: ApprovalState
  transactionId: string
  /** The canonical bytes of the transaction. */
  transaction: Uint8Array
  /**
   * One sentence that leads with the money: `shopper wants to pay $0.01 to ADDRESS for URL (not checked)`. Blank
   * from an older daemon.
   */
  summary: string
  /** A plain-language description of the transaction. */
  description: string[]
  warnings: string[]
  /** Why the owner is asked: one sentence per rule. */
  reason: string
  /** Every rule that requires this approval, such as `$5/day`. The approval lifts only these rules. */
  rules: string[]
  /** The first of `rules`. */
  rule: string
  /** The unit of `asked` and `left`: `USDC`, `ALGO`, `asset 123` or `payments`. Blank if the rule has no amount. */
  unit: string
  /** In the smallest unit; undefined if the rule has no amount. */
  asked: bigint | undefined
  left: bigint | undefined
  /** The agent's own claim about the payment. Not verified. */
  claimedUrl: string
  claimedDescription: string
  createdAtMs: number
  expiresAtMs: number
  decidedAtMs: number | undefined
}

/** A list of approvals and its revision. */
export type ApprovalList = {
  approvals: Approval[]
  /** The number of older approvals that the daemon did not list. */
  leftOut: number
  /** Changes whenever an approval is requested, decided, used or expires. */
  revision: string
}

type ListOptions = CallOptions & {
  /** Also lists the latest 200 decided and expired approvals. @default false */
  all?: boolean | undefined
}

/**
 * Manages agents' approval requests: `kmd.approvals`. Latchkey's daemon only. Every method throws {@link
 * KmdClientError}.
 */
export class Approvals {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Lists the payments waiting for the owner, newest first. */
  async list({ all = false, ...options }: ListOptions = {}): Promise<ApprovalList> {
    return readList(await this.#connection.call('ListApprovals', { ...options, members: { all } }))
  }

  /**
   * Waits for a change since `revision`, for at most 30 seconds, and lists the approvals.
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

  /** Lets the agent sign exactly this transaction. */
  async approve({ id, ...options }: { id: string } & CallOptions): Promise<Approval> {
    const response = await this.#connection.call('ApprovePayment', { ...options, members: { approval_id: id } })
    return readApproval(response.approval)
  }

  /**
   * Refuses this transaction for as long as the ledger would accept it. For ten minutes, new payments of the agent to
   * the same payee for the same URL are refused too.
   */
  async deny({ id, ...options }: { id: string } & CallOptions): Promise<Approval> {
    const response = await this.#connection.call('DenyPayment', { ...options, members: { approval_id: id } })
    return readApproval(response.approval)
  }
}

function readList({ approvals, leftOut, revision }: ResponseTo<'ListApprovals'>): ApprovalList {
  return { approvals: approvals.map(readApproval), leftOut, revision }
}

export function readApproval(approval: ResponseTo<'ApprovePayment'>['approval']): Approval {
  return {
    ...approval,
    // A newer daemon may send an unknown state. `expired` ensures that nothing is signed because of it.
    state: states.includes(approval.state) ? approval.state : 'expired',
    asked: amountOf(approval.asked),
    left: amountOf(approval.left),
    decidedAtMs: approval.decidedAtMs || undefined,
  }
}

function amountOf(text: string): bigint | undefined {
  return /^[0-9]{1,20}$/.test(text) ? BigInt(text) : undefined
}
