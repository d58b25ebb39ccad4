/** The approvals in the file. What writes is called within `StateDatabase.change` only. */
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

  /** Newest first. */
  latest(count: number): Approval[] {
    return this.#all(`${select} ORDER BY created_ms DESC, rowid DESC LIMIT ?`, count)
  }

  /** Those that decide about a transaction, oldest first: not expired, and those whose end is not recorded yet. */
  live(nowMs: number): Approval[] {
    const isLive = "state IN ('open', 'approved') OR (state <> 'expired' AND expires_ms >= ?)"
    return this.#all(`${select} WHERE ${isLive} ORDER BY created_ms, rowid`, nowMs)
  }

  /** In the place of one for the same transaction that has expired. */
  insert(one: Approval): void {
    this.#database
      .statement('INSERT OR REPLACE INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)')
      .run(
        one.id,
        one.agentId,
        one.agentName,
        one.state,
        one.transactionId,
        one.transaction,
        JSON.stringify(one.refusal),
        one.claimedUrl,
        one.claimedDescription,
        one.createdAtMs,
        one.expiresAtMs,
      )
  }

  setState(id: string, state: ApprovalState, decidedAtMs: number | undefined): void {
    this.#database
      .statement('UPDATE approvals SET state = ?, decided_ms = ? WHERE id = ?')
      .run(state, decidedAtMs ?? null, id)
  }

  /** The audit log has them still. */
  deleteBefore(createdMs: number): void {
    const isOver = "created_ms < ? AND state NOT IN ('open', 'approved')"
    this.#database.statement(`DELETE FROM approvals WHERE ${isOver}`).run(createdMs)
  }

  #all(sql: string, value: number): Approval[] {
    if (!this.#database.exists) return []
    return (this.#database.statement(sql).all(value) as ApprovalRow[]).map(approvalOf)
  }
}

const select = 'SELECT * FROM approvals'
