/** Stores approvals in the state file. Call writing methods only within `StateDatabase.change`. */
import type { StateDatabase } from '../../state/StateDatabase.js'
import type { Approval, ApprovalState } from './Approval.js'
import { type ApprovalRow, approvalOf } from './approvalRow.js'

export class ApprovalTable {
  readonly #database: StateDatabase

  constructor(database: StateDatabase) {
    this.#database = database
  }

  get(id: string): Approval | undefined {
    if (!this.#database.exists) return undefined
    const row = this.#database.statement(`${select} WHERE id = ?`).get(id)
    return row === undefined ? undefined : approvalOf(row as ApprovalRow)
  }

  /** Approvals that do not wait for the owner, newest first. */
  latest(count: number, nowMs: number): Approval[] {
    const isOver = "(state <> 'open' OR expires_ms < ?)"
    return this.#all(`${select} WHERE ${isOver} ORDER BY created_ms DESC, rowid DESC LIMIT ?`, nowMs, count)
  }

  count(): number {
    if (!this.#database.exists) return 0
    return (this.#database.statement('SELECT count(*) AS count FROM approvals').get() as { count: number }).count
  }

  /** Open, approved and used approvals, oldest first: unexpired ones, and those whose expiry is not recorded yet. */
  live(nowMs: number): Approval[] {
    const isLive = "state IN ('open', 'approved') OR (state = 'used' AND expires_ms >= ?)"
    return this.#all(`${select} WHERE ${isLive} ORDER BY created_ms, rowid`, nowMs)
  }

  /** The agents with a denied transaction. */
  deniedAgents(): Set<string> {
    if (!this.#database.exists) return new Set()
    const rows = this.#database.statement("SELECT DISTINCT agent_id FROM approvals WHERE state = 'denied'").all()
    return new Set((rows as { agent_id: string }[]).map(({ agent_id: id }) => id))
  }

  denied(agentId: string, transactionId: string): Approval | undefined {
    const sql = `${select} WHERE agent_id = ? AND transaction_id = ? AND state = 'denied'`
    const row = this.#database.statement(sql).get(agentId, transactionId)
    return row === undefined ? undefined : approvalOf(row as ApprovalRow)
  }

  /** The agent's denials that were decided since a time, newest first. */
  deniedSince(agentId: string, decidedMs: number, count: number): Approval[] {
    const isRecent = "agent_id = ? AND state = 'denied' AND decided_ms >= ?"
    return this.#all(`${select} WHERE ${isRecent} ORDER BY decided_ms DESC LIMIT ?`, agentId, decidedMs, count)
  }

  /** Replaces an expired approval for the same transaction. */
  insert(one: Approval, { network, lastValid }: Validity): void {
    this.#database
      .statement('INSERT OR REPLACE INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?)')
      .run(
        one.id,
        one.agentId,
        one.agentName,
        one.state,
        one.transactionId,
        one.transaction,
        JSON.stringify(one.refusals),
        one.claimedUrl,
        one.claimedDescription,
        one.createdAtMs,
        one.expiresAtMs,
        network,
        lastValid,
      )
  }

  setState(id: string, state: ApprovalState, decidedAtMs: number | undefined): void {
    this.#database
      .statement('UPDATE approvals SET state = ?, decided_ms = ? WHERE id = ?')
      .run(state, decidedAtMs ?? null, id)
  }

  /**
   * The audit log keeps a record of them. Denied approvals are kept for as long as the ledger could accept their
   * transactions.
   */
  deleteBefore(createdMs: number): void {
    const isOver = "created_ms < ? AND state NOT IN ('open', 'approved', 'denied')"
    this.#database.statement(`DELETE FROM approvals WHERE ${isOver}`).run(createdMs)
  }

  /** Deletes denials of transactions that the network no longer accepts after a round. */
  deleteDenied(createdMs: number, network: string, round: bigint): void {
    const isOver = "state = 'denied' AND created_ms < ? AND network = ? AND last_valid < ?"
    this.#database.statement(`DELETE FROM approvals WHERE ${isOver}`).run(createdMs, network, round)
  }

  #all(sql: string, ...values: readonly (number | string)[]): Approval[] {
    if (!this.#database.exists) return []
    return (this.#database.statement(sql).all(...values) as ApprovalRow[]).map(approvalOf)
  }
}

/** The transaction's network, by genesis hash, and the last round in which its ledger accepts the transaction. */
export type Validity = { readonly network: string; readonly lastValid: bigint }

const select = 'SELECT * FROM approvals'

const windowMs = 3_600_000

/**
 * Counts how many requests of an agent within an hour the owner has not decided. This keeps an agent from filling the
 * disk, and the owner's attention, with payments that expire one after another.
 */
export class AskCounts {
  /** By agent: the request times by approval id. */
  readonly #asked = new Map<string, Map<string, number>>()

  add({ agentId, id, createdAtMs }: Approval): void {
    const asked = this.#asked.get(agentId) ?? new Map<string, number>()
    this.#asked.set(agentId, asked.set(id, createdAtMs))
  }

  /** Called when the owner has decided. */
  remove({ agentId, id }: Approval): void {
    this.#asked.get(agentId)?.delete(id)
  }

  count(agentId: string, nowMs: number): number {
    const asked = this.#asked.get(agentId)
    if (asked === undefined) return 0
    // If the clock was set back, requests with a future time are dropped.
    for (const [id, atMs] of asked) if (atMs <= nowMs - windowMs || atMs > nowMs) asked.delete(id)
    if (asked.size === 0) this.#asked.delete(agentId)
    return asked.size
  }
}
