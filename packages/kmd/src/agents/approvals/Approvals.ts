/**
 * Manages the agents' requests for the owner's approval. Every approval is bound to one transaction id, expires with
 * it, and is decided once. An approved request lets the agent sign exactly this transaction against the rules that the
 * owner was shown, and nothing else. A denial holds until the ledger no longer accepts the transaction, and for a while
 * also refuses new transactions for the same payee and URL: otherwise, the agent's next attempt would ask again.
 *
 * Unexpired open and approved requests are also in memory, because every signature of an agent is checked here.
 */
import { Bytes, Transaction } from '@latchkey/algorand'
import { bounds } from '@latchkey/kmd-api/rules'
import type { Actor, EventName } from '../../audit/AuditChain.js'
import type { AuditLog } from '../../audit/AuditLog.js'
import { KmdError } from '../../errors.js'
import type { StateDatabase } from '../../state/StateDatabase.js'
import * as Secret from '../../wallet/Secret.js'
import type { Agent, AgentRefusal } from '../Agent.js'
import type { Claim } from '../AgentsApi.js'
import type { ApprovalAnswer, ApprovalGate, ApprovalRequest as GateRequest } from '../ApprovalGate.js'
import { type Facts, isRefusal } from '../Decision.js'
import {
  type Approval,
  type ApprovalState,
  claimText,
  covers,
  expiryOf,
  reasonOf,
  rulesOf,
  type StoredRefusal,
} from './Approval.js'
import { ApprovalTable, AskCounts, type Validity } from './ApprovalTable.js'
import { contentOf, factsOf, purposeOf, shownId, storedPurpose } from './content.js'
import { type Waiter, Watchers } from './Watchers.js'

export type ApprovalsOptions = {
  database: StateDatabase
  audit: AuditLog
  /** Milliseconds since 1970. */
  now?: () => number
  /** Called after each change to an approval, once it is on disk, and by `resume` for open approvals. */
  onChange?: (approval: Approval) => void
  /** Called if the expiry of an approval could not be recorded. */
  onFailure?: (error: unknown) => void
}

/** An agent's request for approval. */
export type ApprovalRequest = {
  readonly agent: Agent
  readonly transactionId: string
  readonly transaction: Uint8Array
  /** A round that the network has reached. @default the first valid round of the transaction */
  readonly reachedRound?: bigint | undefined
  /** Every rule that asks, at least one. */
  readonly refusals: readonly AgentRefusal[]
  readonly claim: Claim
}

/** Open approvals, and those of the last hour that the owner has not decided. */
const maxPerAgent = 100
/** Decided and expired approvals are listed for the owner; the audit log has all of them. */
const maxListed = 200
const maxOpenListed = 1_000
/** The agent's recent denials that are compared. Each was a decision of the owner, so there are few. */
const maxHeldDenials = 200
const keptMs = 30 * 24 * 3_600_000
/** A node's round is considered final this many rounds later. */
const marginRounds = 10n
const deleteEveryMs = 3_600_000
const idBytes = 10
const longestTimerMs = 3_600_000
/** The delay after a failed write, for example on a full disk. */
const retryMs = 60_000

export class Approvals implements ApprovalGate {
  readonly #options: ApprovalsOptions
  readonly #database: StateDatabase
  readonly #table: ApprovalTable
  readonly #now: () => number
  readonly #watchers = new Watchers()
  readonly #asked = new AskCounts()
  /**
   * Unexpired approvals, and those whose expiry is not recorded yet, by agent and transaction id. Never denied ones.
   */
  #live: Map<string, Approval> | undefined
  /** The agents with a denied transaction. For all others, no lookup is needed. */
  #deniedAgents: Set<string> | undefined
  /** Approvals changed by the current transaction. */
  #changed: Approval[] = []
  #sweeper: NodeJS.Timeout | undefined
  /** By network: when denials were last deleted. */
  readonly #deletedAtMs = new Map<string, number>()

  constructor(options: ApprovalsOptions) {
    this.#options = options
    this.#database = options.database
    this.#table = new ApprovalTable(options.database)
    this.#now = options.now ?? Date.now
    const forget = (): void => {
      this.#changed = []
      this.#live = undefined
      this.#deniedAgents = undefined
    }
    this.#database.listen({ onCommit: () => this.#tell(), onRollback: forget, onReopen: forget })
  }

  /** The approval of a transaction: a denied or an unexpired one. */
  find(agentId: string, transactionId: string): Approval | undefined {
    const found = this.#load().get(keyOf(agentId, transactionId))
    if (found !== undefined && this.#now() <= found.expiresAtMs) return found
    return this.#hasDenials(agentId) ? this.#table.denied(agentId, transactionId) : undefined
  }

  denies(agentId: string, transactionId: Uint8Array): boolean {
    if (!this.#hasDenials(agentId)) return false
    return this.#table.denied(agentId, Transaction.encodeId(transactionId)) !== undefined
  }

  /**
   * Asks the owner. A repeated request for the same transaction returns the same approval. Call only within
   * `StateDatabase.change`.
   *
   * @throws KmdError `too_many_approvals`, before anything is written.
   */
  request(request: ApprovalRequest): Approval {
    const { agent, transactionId } = request
    const known = this.find(agent.id, transactionId)
    if (known !== undefined && (isKept(known) || covers(known, request.refusals))) return known
    this.#checkCount(agent.id)
    // An expired approval for the same transaction whose expiry is not recorded yet, or one that does not show every
    // rule.
    const over = this.#load().get(keyOf(agent.id, transactionId))
    if (known !== undefined) this.#replace(known)
    else if (over !== undefined) this.#expire(over)
    const approval = this.#create(request)
    this.#table.insert(approval, validityOf(request.transaction))
    this.#record('approval_requested', approval, { type: 'agent', id: agent.id, name: agent.name })
    this.#keep(approval)
    return approval
  }

  answer({ agent, transactionId, bytes, facts, refusals, claim }: GateRequest): ApprovalAnswer {
    const deniedUntilMs = this.#deniedUntil(agent.id, transactionId, facts, claim)
    if (deniedUntilMs !== undefined) return { type: 'denied', untilMs: deniedUntilMs }
    const reachedRound = facts.isUpTo ? facts.firstValid : undefined
    const approval = this.request({ agent, transactionId, transaction: bytes, reachedRound, refusals, claim })
    if (approval.state === 'denied') return { type: 'denied' }
    if (approval.state === 'open') return { type: 'open', approvalId: approval.id }
    // The reservation is in the same transaction. From now on, the reservation allows signing the same transaction
    // again.
    this.#setState(approval, 'used', approval.decidedAtMs)
    return { type: 'approved', rule: `approval ${approval.id}` }
  }

  signedWithout(agentId: string, transactionId: Uint8Array): void {
    const live = this.#load()
    if (live.size === 0) return
    const found = live.get(keyOf(agentId, Transaction.encodeId(transactionId)))
    if (found?.state === 'approved') this.#setState(found, 'used', found.decidedAtMs)
    else if (found !== undefined) this.#expire(found)
  }

  /**
   * Returns until when a recent denial for the same payee and URL also refuses this transaction. An approval of exactly
   * this transaction is decided on its own.
   */
  #deniedUntil(agentId: string, transactionId: string, facts: Facts, claim: Claim): number | undefined {
    if (!this.#hasDenials(agentId) || this.find(agentId, transactionId) !== undefined) return undefined
    const purpose = purposeOf(facts, claimText(claim.url, maxUrlLength))
    // Denials with a future time count too: the clock may have been set back.
    const recent = this.#table.deniedSince(agentId, this.#now() - bounds.denialHoldMs, maxHeldDenials)
    const found = recent.find((one) => storedPurpose(one) === purpose)
    return found === undefined ? undefined : found.decidedAtMs! + bounds.denialHoldMs
  }

  /**
   * Deletes denials of transactions that a network no longer accepts, after the retention time of all other approvals.
   */
  async noteRound(network: string, round: bigint): Promise<void> {
    const nowMs = this.#now()
    const lastMs = this.#deletedAtMs.get(network) ?? Number.NEGATIVE_INFINITY
    if (Math.abs(nowMs - lastMs) < deleteEveryMs || !this.#database.exists || this.#denied().size === 0) return
    this.#deletedAtMs.set(network, nowMs)
    await this.#database.change(() => {
      this.#table.deleteDenied(nowMs - keptMs, network, round - marginRounds)
      this.#deniedAgents = undefined
    })
  }

  /** Lets the agent sign the transaction. @throws KmdError `approval_not_found`, `approval_decided` */
  approve(id: string, actor: Actor): Promise<Approval> {
    return this.#decide(id, 'approved', actor)
  }

  /**
   * Refuses the transaction for as long as the ledger would accept it.
   *
   * @throws KmdError `approval_not_found`, `approval_decided`
   */
  deny(id: string, actor: Actor): Promise<Approval> {
    return this.#decide(id, 'denied', actor)
  }

  /** @throws KmdError `approval_not_found` */
  get(id: string): Approval {
    const found = this.#table.get(id.toLowerCase())
    if (found === undefined) throw new KmdError('approval_not_found')
    return this.#current(found)
  }

  /**
   * Lists approvals newest first: the open ones, or these and the latest of the others. If there are very many, only
   * the newest.
   */
  list({ onlyOpen }: { onlyOpen: boolean }): readonly Approval[] {
    const open = this.#open().slice(-maxOpenListed).reverse()
    if (onlyOpen) return open
    const latest = this.#table.latest(maxListed, this.#now()).map((one) => this.#current(one))
    return [...open, ...latest].sort((a, b) => b.createdAtMs - a.createdAtMs)
  }

  /** The number of approvals that `list` would return without a bound. */
  count({ onlyOpen }: { onlyOpen: boolean }): number {
    return onlyOpen ? this.#open().length : this.#table.count()
  }

  #open(): Approval[] {
    return [...this.#load().values()].filter((one) => this.#isOpen(one))
  }

  /** Changes whenever an approval is requested, decided, used or expires. */
  get revision(): string {
    return this.#watchers.revision
  }

  /** Resolves after a change since the revision, or after the time. @throws KmdError `too_many_approvals` */
  changed(revision: string, waitMs: number, waiter?: Waiter): Promise<void> {
    return this.#watchers.changed(revision, waitMs, waiter)
  }

  /**
   * Resolves with the approval once it is decided, or after the time.
   *
   * @throws KmdError `approval_not_found`; `too_many_approvals` if too many requests are waiting
   */
  async decided(id: string, waitMs: number, waiter?: Waiter): Promise<Approval> {
    const giveUpAtMs = performance.now() + waitMs
    for (;;) {
      const { revision } = this
      const approval = this.get(id)
      const leftMs = giveUpAtMs - performance.now()
      if (approval.state !== 'open' || leftMs <= 0 || this.#watchers.isClosed) return approval
      await this.changed(revision, Math.min(leftMs, Math.max(0, approval.expiresAtMs - this.#now()) + 1), waiter)
    }
  }

  endAgent(agentId: string): void {
    for (const approval of [...this.#load().values()]) if (approval.agentId === agentId) this.#expire(approval)
  }

  /** After a start: expires approvals whose time has passed, and reports the open ones again. */
  async resume(): Promise<void> {
    if (!this.#database.exists) return
    await this.#sweep()
    if (this.#watchers.isClosed) return
    for (const approval of this.list({ onlyOpen: true })) {
      this.#asked.add(approval)
      this.#options.onChange?.(approval)
    }
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

  /** Another approval replaces it. */
  #replace(approval: Approval): void {
    this.#record('approval_expired', approval, { type: 'daemon' })
    this.#setState(approval, 'expired', approval.decidedAtMs)
  }

  #create({ agent, transactionId, transaction, reachedRound, refusals, claim }: ApprovalRequest): Approval {
    const createdAtMs = this.#now()
    const { fv, lv } = contentOf(transaction).transaction
    return {
      id: createId(),
      agentId: agent.id,
      agentName: agent.name,
      state: 'open',
      transactionId,
      transaction,
      refusals: refusals.map(storedRefusal),
      claimedUrl: claimText(claim.url, maxUrlLength),
      claimedDescription: claimText(claim.description, maxDescriptionLength),
      createdAtMs,
      expiresAtMs: expiryOf({ fv: reachedRound ?? fv, lv }, createdAtMs),
      decidedAtMs: undefined,
    }
  }

  #setState(approval: Approval, state: ApprovalState, decidedAtMs: number | undefined): Approval {
    this.#table.setState(approval.id, state, decidedAtMs)
    const changed = { ...approval, state, decidedAtMs }
    this.#keep(changed)
    return changed
  }

  /**
   * Updates memory at once, so that the rest of the transaction sees the change. Listeners are notified once it is on
   * disk.
   */
  #keep(approval: Approval): void {
    const key = keyOf(approval.agentId, approval.transactionId)
    if (approval.state === 'denied') this.#denied().add(approval.agentId)
    if (approval.state === 'expired' || approval.state === 'denied') this.#load().delete(key)
    else this.#load().set(key, approval)
    this.#changed.push(approval)
  }

  #tell(): void {
    if (this.#changed.length === 0) return
    const changed = this.#changed.splice(0)
    for (const approval of changed) {
      if (approval.state === 'open') this.#asked.add(approval)
      else if (approval.decidedAtMs !== undefined) this.#asked.remove(approval)
    }
    this.#watchers.notify()
    for (const approval of changed) this.#options.onChange?.(approval)
    this.#sweepLater()
  }

  #record(event: EventName, approval: Approval, actor: Actor): void {
    const { id, agentId, agentName, claimedUrl, claimedDescription } = approval
    const claims = {
      ...(claimedUrl && { claimed_url: claimedUrl }),
      ...(claimedDescription && { claimed_description: claimedDescription }),
    }
    const subject = { approval: id, agent_id: agentId, agent_name: agentName }
    const detail = { ...subject, ...paidIn(approval), reason: reasonOf(approval), rules: rulesOf(approval), ...claims }
    this.#options.audit.append({ event, actor, transaction: shownId(approval), detail })
  }

  #checkCount(agentId: string): void {
    let open = 0
    for (const one of this.#load().values()) if (one.agentId === agentId && this.#isOpen(one)) open++
    if (Math.max(open, this.#asked.count(agentId, this.#now())) >= maxPerAgent) throw new KmdError('too_many_approvals')
  }

  #isOpen({ state, expiresAtMs }: Approval): boolean {
    return state === 'open' && this.#now() <= expiresAtMs
  }

  /** The current state. The expiry of an approval may not be recorded yet. */
  #current(approval: Approval): Approval {
    const canExpire = approval.state === 'open' || approval.state === 'approved'
    return canExpire && this.#now() > approval.expiresAtMs ? { ...approval, state: 'expired' } : approval
  }

  #load(): Map<string, Approval> {
    this.#live ??= new Map(this.#table.live(this.#now()).map((one) => [keyOf(one.agentId, one.transactionId), one]))
    return this.#live
  }

  #hasDenials(agentId: string): boolean {
    return this.#denied().has(agentId)
  }

  #denied(): Set<string> {
    this.#deniedAgents ??= this.#table.deniedAgents()
    return this.#deniedAgents
  }

  #sweepLater(leastMs = 0): void {
    clearTimeout(this.#sweeper)
    if (this.#watchers.isClosed) return
    let next = Number.POSITIVE_INFINITY
    for (const { expiresAtMs } of this.#load().values()) next = Math.min(next, expiresAtMs)
    if (next === Number.POSITIVE_INFINITY) return
    const delayMs = Math.min(longestTimerMs, Math.max(leastMs, next - this.#now() + 1, 1))
    this.#sweeper = setTimeout(() => void this.#sweep(), delayMs).unref()
  }

  async #sweep(): Promise<void> {
    if (this.#watchers.isClosed) return
    try {
      await this.#database.change(() => {
        for (const approval of [...this.#load().values()]) {
          if (this.#now() > approval.expiresAtMs) this.#expire(approval)
        }
        this.#table.deleteBefore(this.#now() - keptMs)
      })
      this.#sweepLater()
    } catch (error) {
      if (this.#watchers.isClosed) return
      this.#options.onFailure?.(error)
      this.#sweepLater(retryMs)
    }
  }

  /** Records the expiry of an undecided approval. A used approval stays unchanged. */
  #expire(approval: Approval): void {
    const { state, agentId, transactionId, decidedAtMs, expiresAtMs } = approval
    if (state === 'open') this.#record('approval_expired', approval, { type: 'daemon' })
    if (state === 'open' || state === 'approved') this.#setState(approval, 'expired', decidedAtMs)
    else if (this.#now() > expiresAtMs) this.#load().delete(keyOf(agentId, transactionId))
  }
}

const maxUrlLength = 300
const maxDescriptionLength = 300

function keyOf(agentId: string, transactionId: string): string {
  return `${agentId} ${transactionId}`
}

/** An open approval is asked about again once it is decided, and a denied one is final. */
function isKept({ state }: Approval): boolean {
  return state === 'open' || state === 'denied'
}

function validityOf(transaction: Uint8Array): Validity {
  const { gh, lv = 0n } = contentOf(transaction).transaction
  return { network: gh === undefined ? '' : Bytes.toBase64(gh), lastValid: lv }
}

function createId(): string {
  return Bytes.toBase32(Secret.randomBytes(idBytes)).toLowerCase()
}

function storedRefusal({ code, rule, unit, asked, left, message }: AgentRefusal): StoredRefusal {
  const amounts = { ...(asked !== undefined && { asked: `${asked}` }), ...(left !== undefined && { left: `${left}` }) }
  return { code, rule, ...(unit !== undefined && { unit }), ...amounts, message }
}

function decidedText(state: ApprovalState): string {
  return state === 'expired' ? 'this approval has expired' : `this approval was already decided: it is ${state}`
}

/** Returns the amount and payee of a payment, under the names of a signature's record; empty for other transactions. */
function paidIn({ transaction }: Approval): { [member: string]: string } {
  const facts = factsOf(transaction)
  if (isRefusal(facts) || facts.kind !== 'payment') return {}
  const { network, assetId, amount, payee, isUpTo } = facts
  const paid = { network, asset: `${assetId}`, amount: `${amount}`, payee: payee! }
  return isUpTo ? { ...paid, scheme: 'upto' } : paid
}
