/**
 * Reserves before signing: the decision, the reservation and its audit record are one transaction in the file, and only
 * then is a signature made. Sums are in memory, and match the file at the end of each transaction.
 */
import { Readable, Transaction, UptoProgram } from '@latchkey/algorand'
import type { Rules } from '@latchkey/kmd-api/rules'
import type { AuditLog } from '../audit/AuditLog.js'
import type { KmdError } from '../errors.js'
import type { StateDatabase } from '../state/StateDatabase.js'
import type { AgentRefusal } from './Agent.js'
import type { StoredAgent } from './AgentStore.js'
import type { AgentSums } from './AgentSums.js'
import type { Claim, LimitUse } from './AgentsApi.js'
import type { ApprovalGate } from './ApprovalGate.js'
import * as AuditEvents from './auditEvents.js'
import { type Decision, decide, type Facts, isRefusal } from './Decision.js'
import {
  type Charge,
  countedOf,
  type OpenReservation,
  type OverQuery,
  outcomes,
  Reservations,
  SumsCache,
  type UptoQuery,
} from './Reservations.js'
import type { Rounds, SpendingClock } from './Rounds.js'
import { refusalError } from './refusalError.js'

export type SpendingRequest = {
  readonly facts: Facts | AgentRefusal
  /** The transaction's canonical bytes; for an authorization, its program. */
  readonly bytes: Uint8Array
  readonly sender: string
  /** The address of the signing key. */
  readonly signer: string
  /** The 32 bytes of the transaction id; for an authorization, of its lease. */
  readonly digest: Uint8Array
  readonly claim: Claim
  /** Whether an authorization for a price by usage is signed. @default false */
  readonly isUpTo?: boolean | undefined
}

type Outcome = { readonly type: 'reserved' } | { readonly type: 'refused'; readonly error: KmdError }

const reserved: Outcome = { type: 'reserved' }
/** If the agent's rules keep changing, the last attempt reads the sums within the transaction. */
const maxAttempts = 3
const prunedTogether = 500

export type SpendingOptions = { database: StateDatabase; audit: AuditLog; clock: SpendingClock; rounds: Rounds }

export class Spending {
  readonly #database: StateDatabase
  readonly #audit: AuditLog
  readonly #clock: SpendingClock
  readonly #reservations: Reservations
  readonly #flood = new RefusalFlood()
  readonly #sums: SumsCache
  /** By agent number. */
  readonly #lastAtMs = new Map<number, number>()
  readonly #rounds: Rounds
  /** Functions that undo the sums of the current transaction, run last to first. */
  #undo: (() => void)[] = []
  #approvals: ApprovalGate | undefined

  constructor({ database, audit, clock, rounds }: SpendingOptions) {
    this.#rounds = rounds
    this.#database = database
    this.#audit = audit
    this.#clock = clock
    this.#reservations = new Reservations(database)
    this.#sums = new SumsCache(this.#reservations)
    database.listen({
      onBegin: () => {
        this.#undo = []
      },
      onRollback: () => this.#rollBack(),
      onReopen: () => this.#forgetAll(),
    })
  }

  useApprovals(gate: ApprovalGate): void {
    this.#approvals = gate
  }

  /**
   * Resolves once the transaction is reserved and recorded on disk.
   *
   * @param find returns the agent, or throws if it may no longer sign
   * @throws KmdError with the code of the refusal; `state_not_written`
   */
  async reserve(find: () => StoredAgent, request: SpendingRequest): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      if (!this.#sums.has(find().number)) await this.prepare(find)
      this.#refuseInFlood(find(), request)
      const outcome = await this.#database.change(() => {
        const stored = find()
        // The rules were changed in the meantime. The sums they need are read before the next transaction, not within
        // one.
        if (!this.#sums.has(stored.number) && attempt < maxAttempts) return undefined
        return this.#reserveNow(stored, request)
      })
      if (outcome?.type === 'refused') throw outcome.error
      if (outcome !== undefined) return
    }
  }

  /**
   * Resolves once the agent's sums are in memory, so that `test`, `budget` and `reserve` need not read them all at
   * once.
   */
  prepare(find: () => StoredAgent): Promise<void> {
    return this.#sums.prepare(find, () => this.#clock.now())
  }

  /**
   * Deletes the reservations of an ended agent in pieces. The agent spends no more, and the audit log has them. The
   * last one is kept, because it shows when the agent was last used.
   */
  async prune(agent: number, pieces: number): Promise<boolean> {
    for (let piece = 0; piece < pieces; piece++) {
      const pruned = await this.#database.change(() => {
        // Sums in memory refer to the reservations in the file.
        this.#sums.forget(agent)
        return this.#reservations.prune(agent, prunedTogether)
      })
      if (pruned < prunedTogether) return true
    }
    return false
  }

  /** Returns the decision that `reserve` would make. */
  test(stored: StoredAgent, { facts, digest }: Pick<SpendingRequest, 'facts' | 'digest'>): Decision {
    if (this.#isReserved(stored, { facts, digest })) return { type: 'allowed', rule: 'signed before' }
    return this.#decide(stored, { facts, digest }, this.#clock.now())
  }

  budget(stored: StoredAgent): readonly LimitUse[] {
    const nowMs = this.#clock.now()
    const sums = this.#sumsOf(stored, nowMs)
    return stored.agent.rules.limits.map((limit) => sums.use(limit, nowMs))
  }

  lastAtMs(agent: number): number | undefined {
    const known = this.#lastAtMs.get(agent)
    if (known !== undefined) return known
    const read = this.#reservations.lastAtMs(agent)
    if (read !== undefined) this.#lastAtMs.set(agent, read)
    return read
  }

  /** Called when an agent's limits have changed. */
  rulesChanged(agent: number, rules: Rules): void {
    this.#sums.rulesChanged(agent, rules)
  }

  /** Reservations whose transaction has an unknown outcome and is no longer valid. */
  over(agent: number, query: OverQuery): OpenReservation[] {
    return this.#reservations.over(agent, query)
  }

  /** The number of the first reservation whose transaction may still be valid, or else of the next reservation. */
  firstValid(agent: number, query: OverQuery): number {
    return this.#reservations.firstValid(agent, query)
  }

  /** Records that the transactions are in the ledger. */
  async confirm(stored: StoredAgent, numbers: readonly number[]): Promise<void> {
    await this.#database.change(() => {
      for (const number of numbers) this.#reservations.setOutcome(stored.number, number, outcomes.confirmed)
    })
  }

  /** Returns reservations whose transactions can never enter the ledger. Their amounts are available again. */
  async giveBack(stored: StoredAgent, reservations: readonly OpenReservation[]): Promise<void> {
    await this.#database.change(() => {
      // Undone by reading the sums again from the file, because a rollback here is rare.
      this.#undo.push(() => this.#sums.forget(stored.number))
      this.#sums.outdate(stored.number)
      const returned = reservations.filter(({ number }) =>
        this.#reservations.setOutcome(stored.number, number, outcomes.returned),
      )
      for (const reservation of returned) this.#audit.append(AuditEvents.returned(stored.agent, reservation))
      this.#sums.get(stored.number)?.giveBack(returned)
    })
  }

  /** Authorizations of unknown outcome, valid or not. */
  openUpto(agent: number, query: UptoQuery): OpenReservation[] {
    return this.#reservations.openUpto(agent, query)
  }

  /** Counts the charge of an authorization in place of its maximum. The rest is available again. */
  async settle(stored: StoredAgent, reservation: OpenReservation, charge: Charge): Promise<void> {
    await this.#database.change(() => {
      if (!this.#reservations.settle(stored.number, reservation.number, charge.amount)) return
      // Undone by reading the sums again from the file, because a rollback here is rare.
      this.#undo.push(() => this.#sums.forget(stored.number))
      this.#sums.outdate(stored.number)
      this.#audit.append(AuditEvents.settled(stored.agent, reservation, charge))
      this.#sums.get(stored.number)?.reduce(reservation, { ...reservation, assetAmount: charge.amount })
    })
  }

  /** Records how many refusals were omitted from the log, for agents that have stopped. */
  async recordLeftOut(agents: readonly StoredAgent[]): Promise<void> {
    const nowMs = this.#clock.now()
    const waiting = this.#flood.waiting(nowMs)
    if (waiting.length === 0) return
    const byId = new Map(agents.map(({ agent }) => [agent.id, agent]))
    await this.#database.change(() => {
      for (const { agentId } of waiting) {
        const leftOut = this.#flood.record(agentId, nowMs)
        const agent = byId.get(agentId)
        if (agent !== undefined && leftOut > 0) this.#audit.append(AuditEvents.leftOut(agent, leftOut))
      }
    })
  }

  /** During a flood, refuses without a record if the decision would be a refusal again. */
  #refuseInFlood(stored: StoredAgent, request: SpendingRequest): void {
    const nowMs = this.#clock.now()
    const { id } = stored.agent
    if (!this.#flood.isFull(id, nowMs) || this.#isReserved(stored, request)) return
    const decision = this.#decide(stored, request, nowMs)
    if (decision.type !== 'refused') return
    this.#flood.leaveOut(id)
    throw refusalError(decision.refusal)
  }

  #reserveNow(stored: StoredAgent, request: SpendingRequest): Outcome {
    const nowMs = this.#clock.now()
    if (this.#isReserved(stored, request)) {
      this.#recordBounded(stored, request, nowMs, (signature) => AuditEvents.repeated(signature))
      return reserved
    }
    const decision = this.#decide(stored, request, nowMs)
    if (decision.type === 'ask') return this.#ask(stored, request, decision.refusals, nowMs)
    if (decision.type === 'refused') return this.#refuse(stored, request, decision.refusal, nowMs)
    this.#approvals?.signedWithout(stored.agent.id, request.digest)
    return this.#count(stored, request, decision.rule, nowMs)
  }

  #count(stored: StoredAgent, request: SpendingRequest, rule: string, nowMs: number): Outcome {
    const facts = request.facts as Facts
    const sums = this.#sumsOf(stored, nowMs)
    const counted = this.#reservations.insert(stored.number, request.digest, facts, nowMs)
    this.#undo.push(sums.add(counted))
    this.#lastAtMs.set(stored.number, nowMs)
    this.#clock.write(nowMs)
    this.#audit.append(AuditEvents.signed(signatureOf(stored, request, 0), rule))
    return reserved
  }

  #ask(stored: StoredAgent, request: SpendingRequest, refusals: readonly AgentRefusal[], nowMs: number): Outcome {
    const refusal = refusals[0]!
    const answer = this.#approvals?.answer({
      agent: stored.agent,
      agentNumber: stored.number,
      transactionId: Transaction.encodeId(request.digest),
      bytes: request.bytes,
      facts: request.facts as Facts,
      refusals,
      claim: request.claim,
      nowMs,
    })
    if (answer?.type === 'approved') return this.#count(stored, request, answer.rule, nowMs)
    if (answer?.type === 'open') {
      const options = { code: 'agent_approval_required', approvalId: answer.approvalId } as const
      return { type: 'refused', error: refusalError(refusal, options) }
    }
    return this.#refuse(stored, request, answer?.type === 'denied' ? deniedBecause(answer.untilMs) : refusal, nowMs)
  }

  #refuse(stored: StoredAgent, request: SpendingRequest, refusal: AgentRefusal, nowMs: number): Outcome {
    this.#recordBounded(stored, request, nowMs, (signature) => AuditEvents.refused(signature, refusal))
    return { type: 'refused', error: refusalError(refusal) }
  }

  #recordBounded(
    stored: StoredAgent,
    request: SpendingRequest,
    nowMs: number,
    event: (signature: AuditEvents.Signature) => Parameters<AuditLog['append']>[0],
  ): void {
    const { id } = stored.agent
    if (this.#flood.isFull(id, nowMs)) this.#flood.leaveOut(id)
    else this.#audit.append(event(signatureOf(stored, request, this.#flood.record(id, nowMs))))
  }

  #decide(stored: StoredAgent, { facts, digest }: Pick<SpendingRequest, 'facts' | 'digest'>, nowMs: number): Decision {
    // A denial is final, even if the rule that asked would now allow the transaction.
    if (this.#approvals?.denies(stored.agent.id, digest)) return { type: 'refused', refusal: denied }
    const sums = this.#sumsOf(stored, nowMs)
    const lastRound = isRefusal(facts) ? 'unchecked' : this.#rounds.last(facts.network)
    const decision = decide({ facts, agent: stored.agent, sums, nowMs, lastRound })
    if (decision.type === 'refused' || isRefusal(facts) || sums.hasRoomFor(countedOf(facts, nowMs))) return decision
    return { type: 'refused', refusal: tooLarge }
  }

  #isReserved({ number }: StoredAgent, { facts, digest }: Pick<SpendingRequest, 'facts' | 'digest'>): boolean {
    return !isRefusal(facts) && this.#reservations.has(number, digest, facts)
  }

  #sumsOf(stored: StoredAgent, nowMs: number): AgentSums {
    const known = this.#sums.get(stored.number)
    if (known !== undefined) return known
    // Sums read within a transaction are discarded with it.
    this.#undo.push(() => this.#sums.forget(stored.number))
    return this.#sums.read(stored, nowMs)
  }

  #rollBack(): void {
    for (let undo = this.#undo.pop(); undo !== undefined; undo = this.#undo.pop()) undo()
    this.#lastAtMs.clear()
    this.#reservations.forget()
    this.#clock.forgetStored()
  }

  #forgetAll(): void {
    this.#undo = []
    this.#sums.forgetAll()
    this.#lastAtMs.clear()
    this.#reservations.forget()
    this.#clock.forgetStored()
  }
}

const denied: AgentRefusal = {
  code: 'agent_approval_denied',
  rule: 'denied by the owner',
  ...{ unit: undefined, asked: undefined, left: undefined, resetsAtMs: undefined },
  message: 'The owner denied this payment.',
}

/** A denial of another transaction for the same payee and URL refuses this one for a while. */
function deniedBecause(untilMs: number | undefined): AgentRefusal {
  if (untilMs === undefined) return denied
  const message = `The owner denied a payment to this payee for the same URL. Such payments are refused until ${Readable.time(untilMs)}.`
  return { ...denied, resetsAtMs: untilMs, message }
}

const tooLarge: AgentRefusal = {
  code: 'agent_limit_exceeded',
  rule: 'no such amount',
  ...{ unit: undefined, asked: undefined, left: undefined, resetsAtMs: undefined },
  message: "This agent's total spending exceeds the maximum integer, so it can no longer be counted.",
}

function signatureOf({ agent }: StoredAgent, request: SpendingRequest, leftOut: number): AuditEvents.Signature {
  const { facts, sender, signer, digest, claim, isUpTo = false } = request
  const transactionId = isUpTo ? UptoProgram.idOf(digest) : Transaction.encodeId(digest)
  return { agent, facts, sender, signer, transactionId, claim, leftOut }
}

const perMinute = 30
const minuteMs = 60_000

type Count = { startedAtMs: number; recorded: number; leftOut: number }

/**
 * Keeps a repeating agent from filling the disk. Only a limited number of its refusals and repeated signatures per
 * minute are recorded; the next record states how many were omitted before it. Payments that count are always recorded.
 */
class RefusalFlood {
  readonly #counts = new Map<string, Count>()

  /** Whether the next record is omitted. */
  isFull(agentId: string, nowMs: number): boolean {
    const count = this.#counts.get(agentId)
    return count !== undefined && count.recorded >= perMinute && nowMs - count.startedAtMs < minuteMs
  }

  leaveOut(agentId: string): void {
    this.#counts.get(agentId)!.leftOut++
  }

  /** Counts a record, and returns how many were omitted before it. */
  record(agentId: string, nowMs: number): number {
    const count = this.#counts.get(agentId)
    if (count === undefined || nowMs - count.startedAtMs >= minuteMs) {
      this.#counts.set(agentId, { startedAtMs: nowMs, recorded: 1, leftOut: 0 })
      return count?.leftOut ?? 0
    }
    const { leftOut } = count
    count.recorded++
    count.leftOut = 0
    return leftOut
  }

  /** The agents with omitted records whose minute has passed. */
  waiting(nowMs: number): { agentId: string; leftOut: number }[] {
    const found: { agentId: string; leftOut: number }[] = []
    for (const [agentId, { startedAtMs, leftOut }] of this.#counts) {
      if (nowMs - startedAtMs < minuteMs) continue
      if (leftOut > 0) found.push({ agentId, leftOut })
      else this.#counts.delete(agentId)
    }
    return found
  }
}
