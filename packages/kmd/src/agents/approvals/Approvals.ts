/**
 * What agents ask the owner. Every approval is bound to one transaction id and expires with it. It is decided once; an
 * approved one lets the agent sign this very transaction, beyond a limit or to a payee that is not listed, and nothing else.
 *
 * The open and the decided ones that have not expired are in memory too: each signature of an agent looks here.
 */
import { Transaction } from '@latchkey/algorand'
import type { AuditLog } from '../../audit/AuditLog.js'
import type { Actor, EventName } from '../../audit/AuditRecord.js'
import { KmdError } from '../../errors.js'
import type { StateDatabase } from '../../state/StateDatabase.js'
import * as Secret from '../../wallet/Secret.js'
import type { Agent, Refusal } from '../Agent.js'
import type { Claim } from '../AgentsApi.js'
import type { ApprovalAnswer, ApprovalGate, ApprovalRequest as GateRequest } from '../ApprovalGate.js'
import type { Approval, ApprovalState, StoredRefusal } from './Approval.js'
import { type ApprovalRow, approvalOf } from './approvalRow.js'
import { claimText } from './claimText.js'
import { expiryOf } from './expiry.js'
import { Watchers } from './Watchers.js'

export type ApprovalsOptions = {
  database: StateDatabase
  audit: AuditLog
  /** Milliseconds since 1970. */
  now?: () => number
  /** Called after each approval that was asked for or decided, once it is on the disk. */
  onChange?: (approval: Approval) => void
  /** Called when an approval that expired could not be recorded. */
  onFailure?: (error: unknown) => void
}

/** What an agent asks the owner for. */
export type ApprovalRequest = {
  readonly agent: Agent
  readonly transactionId: string
  readonly transaction: Uint8Array
  readonly refusal: Refusal
  readonly claim: Claim
}

const maxOpenPerAgent = 100
/** Decided and expired ones are listed for the owner; the audit log has all. */
const maxListed = 200
const idBytes = 10
const base32 = 'abcdefghijklmnopqrstuvwxyz234567'
const longestTimerMs = 3_600_000

export class Approvals implements ApprovalGate {
  readonly #options: ApprovalsOptions
  readonly #database: StateDatabase
  readonly #now: () => number
  readonly #watchers = new Watchers()
  /** Those that have not expired, by agent and transaction id. */
  #live: Map<string, Approval> | undefined
  /** Those that the transaction under way has changed. */
  #changed: Approval[] = []
  #sweeper: NodeJS.Timeout | undefined

  constructor(options: ApprovalsOptions) {
    this.#options = options
    this.#database = options.database
    this.#now = options.now ?? Date.now
    const forget = (): void => {
      this.#changed = []
      this.#live = undefined
    }
    this.#database.listen({ onCommit: () => this.#tell(), onRollback: forget, onReopen: forget })
  }

  /** The approval of a transaction that can still enter the ledger. */
  find(agentId: string, transactionId: string): Approval | undefined {
    const live = this.#load()
    if (live.size === 0) return undefined
    const found = live.get(keyOf(agentId, transactionId))
    return found === undefined || this.#now() > found.expiresAtMs ? undefined : found
  }

  /**
   * Asks the owner; the same transaction again is the same approval. Only within `StateDatabase.change`.
   *
   * @throws KmdError `too_many_approvals`, before anything is written.
   */
  request(request: ApprovalRequest): Approval {
    const { agent, transactionId, refusal } = request
    const known = this.find(agent.id, transactionId)
    if (known !== undefined) return known
    this.#checkCount(agent.id)
    const approval = this.#create(request)
    this.#insert(approval)
    this.#record('approval_requested', approval, { type: 'agent', id: agent.id, name: agent.name }, refusal.message)
    this.#keep(approval)
    return approval
  }

  answer({ agent, transactionId, bytes, refusal, claim }: GateRequest): ApprovalAnswer {
    const approval = this.request({ agent, transactionId, transaction: bytes, refusal, claim })
    if (approval.state === 'denied') return { type: 'denied' }
    if (approval.state === 'open') return { type: 'open', approvalId: approval.id }
    // The reservation is in the same transaction: from now on it lets the same transaction be signed again.
    this.#setState(approval, 'used', approval.decidedAtMs)
    return { type: 'approved', rule: `approval ${approval.id}` }
  }

  /** Lets the agent sign the transaction. @throws KmdError `approval_not_found`, `approval_decided` */
  approve(id: string, actor: Actor): Promise<Approval> {
    return this.#decide(id, 'approved', actor)
  }

  /** Refuses the transaction for good. @throws KmdError `approval_not_found`, `approval_decided` */
  deny(id: string, actor: Actor): Promise<Approval> {
    return this.#decide(id, 'denied', actor)
  }

  /** @throws KmdError `approval_not_found` */
  get(id: string): Approval {
    const row = this.#database.exists
      ? this.#database.statement(`${select} WHERE id = ?`).get(id.toLowerCase())
      : undefined
    if (row === undefined) throw new KmdError('approval_not_found')
    return this.#current(approvalOf(row as ApprovalRow))
  }

  /** Newest first: those that wait for the owner, or all of the latest. */
  list({ onlyOpen }: { onlyOpen: boolean }): readonly Approval[] {
    if (!this.#database.exists) return []
    if (onlyOpen) return [...this.#load().values()].filter((one) => this.#isOpen(one)).reverse()
    const rows = this.#database.statement(`${select} ORDER BY created_ms DESC, rowid DESC LIMIT ?`).all(maxListed)
    return (rows as ApprovalRow[]).map((row) => this.#current(approvalOf(row)))
  }

  /** Changes with every approval that is asked for, decided, used or expires. */
  get revision(): string {
    return this.#watchers.revision
  }

  /** Resolves when something changed since the revision, or after the time. */
  changed(revision: string, waitMs: number): Promise<void> {
    return this.#watchers.changed(revision, waitMs)
  }

  /** Resolves with an approval once it is decided, or after the time. @throws KmdError `approval_not_found` */
  async decided(id: string, waitMs: number): Promise<Approval> {
    const giveUpAtMs = performance.now() + waitMs
    for (;;) {
      const { revision } = this
      const approval = this.get(id)
      const leftMs = giveUpAtMs - performance.now()
      if (approval.state !== 'open' || leftMs <= 0) return approval
      await this.changed(revision, Math.min(leftMs, Math.max(0, approval.expiresAtMs - this.#now()) + 1))
    }
  }

  /** Ends what the agent asked for: it has ended, or has another token. */
  async endAgent(agentId: string): Promise<void> {
    const isLive = (one: Approval): boolean =>
      one.agentId === agentId && (one.state === 'open' || one.state === 'approved')
    if (![...this.#load().values()].some(isLive)) return
    await this.#database.change(() => {
      for (const approval of [...this.#load().values()].filter(isLive)) {
        this.#setState(approval, 'expired', approval.decidedAtMs)
      }
    })
  }

  close(): void {
    clearTimeout(this.#sweeper)
    this.#watchers.close()
  }

  #decide(id: string, state: 'approved' | 'denied', actor: Actor): Promise<Approval> {
    return this.#database.change(() => {
      const found = this.get(id)
      if (found.state !== 'open') throw new KmdError('approval_decided', { message: decidedText(found.state) })
      this.#record(state === 'approved' ? 'approval_approved' : 'approval_denied', found, actor)
      return this.#setState(found, state, this.#now())
    })
  }

  #create({ agent, transactionId, transaction, refusal, claim }: ApprovalRequest): Approval {
    const createdAtMs = this.#now()
    return {
      id: createId(),
      agentId: agent.id,
      agentName: agent.name,
      state: 'open',
      transactionId,
      transaction,
      refusal: storedRefusal(refusal),
      claimedUrl: claimText(claim.url, maxUrlLength),
      claimedDescription: claimText(claim.description, maxDescriptionLength),
      createdAtMs,
      expiresAtMs: expiryOf(Transaction.decode(transaction), createdAtMs),
      decidedAtMs: undefined,
    }
  }

  #insert(one: Approval): void {
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

  #setState(approval: Approval, state: ApprovalState, decidedAtMs: number | undefined): Approval {
    this.#database
      .statement('UPDATE approvals SET state = ?, decided_ms = ? WHERE id = ?')
      .run(state, decidedAtMs ?? null, approval.id)
    const changed = { ...approval, state, decidedAtMs }
    this.#keep(changed)
    return changed
  }

  /** In memory at once, so that what follows in the same transaction sees it; told to others when it is on the disk. */
  #keep(approval: Approval): void {
    const key = keyOf(approval.agentId, approval.transactionId)
    if (approval.state === 'expired') this.#load().delete(key)
    else this.#load().set(key, approval)
    this.#changed.push(approval)
  }

  #tell(): void {
    if (this.#changed.length === 0) return
    const changed = this.#changed.splice(0)
    this.#watchers.notify()
    for (const approval of changed) this.#options.onChange?.(approval)
    this.#sweepLater()
  }

  #record(event: EventName, approval: Approval, actor: Actor, reason = approval.refusal.message): void {
    const { id, agentId, agentName, transactionId, claimedUrl, claimedDescription } = approval
    const claims = { ...(claimedUrl && { claimedUrl }), ...(claimedDescription && { claimedDescription }) }
    const detail = { approval: id, agent: agentName, agentId, reason, ...claims }
    this.#options.audit.append({ event, actor, transaction: transactionId, detail })
  }

  #checkCount(agentId: string): void {
    let open = 0
    for (const one of this.#load().values()) if (one.agentId === agentId && this.#isOpen(one)) open++
    if (open >= maxOpenPerAgent) throw new KmdError('too_many_approvals')
  }

  #isOpen({ state, expiresAtMs }: Approval): boolean {
    return state === 'open' && this.#now() <= expiresAtMs
  }

  /** As it is now: the record of one that expired may not be written yet. */
  #current(approval: Approval): Approval {
    const canExpire = approval.state === 'open' || approval.state === 'approved'
    return canExpire && this.#now() > approval.expiresAtMs ? { ...approval, state: 'expired' } : approval
  }

  #load(): Map<string, Approval> {
    if (this.#live !== undefined) return this.#live
    this.#live = new Map()
    if (!this.#database.exists) return this.#live
    const rows = this.#database
      .statement(`${select} WHERE state <> 'expired' AND expires_ms >= ? ORDER BY created_ms, rowid`)
      .all(this.#now()) as ApprovalRow[]
    for (const row of rows) this.#live.set(keyOf(row.agent_id, row.transaction_id), approvalOf(row))
    return this.#live
  }

  #sweepLater(): void {
    clearTimeout(this.#sweeper)
    const next = Math.min(...[...this.#load().values()].map(({ expiresAtMs }) => expiresAtMs))
    if (!Number.isFinite(next)) return
    const delayMs = Math.min(longestTimerMs, Math.max(0, next - this.#now()) + 1)
    this.#sweeper = setTimeout(() => void this.#sweep(), delayMs).unref()
  }

  /** Ends those that have expired, with a record for each that was never decided. */
  async #sweep(): Promise<void> {
    try {
      await this.#database.change(() => {
        for (const approval of [...this.#load().values()].filter(({ expiresAtMs }) => this.#now() > expiresAtMs)) {
          if (approval.state === 'open') this.#record('approval_expired', approval, { type: 'daemon' })
          if (approval.state === 'open' || approval.state === 'approved') {
            this.#setState(approval, 'expired', approval.decidedAtMs)
          } else this.#load().delete(keyOf(approval.agentId, approval.transactionId))
        }
      })
    } catch (error) {
      this.#options.onFailure?.(error)
    }
    this.#sweepLater()
  }
}

const select = 'SELECT * FROM approvals'
const maxUrlLength = 300
const maxDescriptionLength = 300

function keyOf(agentId: string, transactionId: string): string {
  return `${agentId} ${transactionId}`
}

function createId(): string {
  let bits = Secret.randomBytes(idBytes).reduce((all, byte) => (all << 8n) | BigInt(byte), 0n)
  let id = ''
  for (let at = 0; at < (idBytes * 8) / 5; at++) {
    id += base32[Number(bits & 31n)]
    bits >>= 5n
  }
  return id
}

function storedRefusal({ code, rule, unit, asked, left, message }: Refusal): StoredRefusal {
  const amounts = { ...(asked !== undefined && { asked: `${asked}` }), ...(left !== undefined && { left: `${left}` }) }
  return { code, rule, ...(unit !== undefined && { unit }), ...amounts, message }
}

function decidedText(state: ApprovalState): string {
  return state === 'expired' ? 'this approval has expired' : `this approval is decided already: it is ${state}`
}
