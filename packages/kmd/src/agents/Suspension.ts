/**
 * Suspends agents while their spending is not known, because the state file was rolled back or damaged. A suspended
 * agent signs nothing until the owner confirms it.
 */

import type { Actor } from '../audit/AuditChain.js'
import type { AuditLog } from '../audit/AuditLog.js'
import type { StateDatabase } from '../state/StateDatabase.js'
import type { Agent } from './Agent.js'
import { type AgentStore, hasEnded, type StoredAgent } from './AgentStore.js'
import * as AuditEvents from './auditEvents.js'
import type { Spending } from './Spending.js'

export type SuspensionOptions = {
  database: StateDatabase
  audit: AuditLog
  store: AgentStore
  spending: Spending
  /** The agent as the owner sees it. */
  shown: (stored: StoredAgent) => Agent
}

/** Bounds how long a turn of the event loop takes: a record of an agent takes about a tenth of a millisecond. */
const agentsPerTurn = 20

export class Suspension {
  readonly #options: SuspensionOptions
  /** How often agents were suspended since the start. */
  #suspensions = 0

  constructor(options: SuspensionOptions) {
    this.#options = options
  }

  /**
   * Suspends every agent that has not ended. All are suspended when this returns; their records follow in the same
   * transaction, a few per turn of the event loop. Call only within `StateDatabase.change`.
   */
  suspendAll(reason: string): void {
    const { database, store } = this.#options
    this.#suspensions++
    database.extend(this.#recordSuspended(store.suspendLive(reason), reason))
  }

  *#recordSuspended(agents: readonly StoredAgent[], reason: string): Generator<void, void> {
    const { audit, shown } = this.#options
    for (const [index, stored] of agents.entries()) {
      if (index > 0 && index % agentsPerTurn === 0) yield
      audit.append(AuditEvents.suspended(shown(stored), reason))
    }
  }

  /**
   * Lets a wallet's suspended agents sign again, a few per transaction: agents that are not confirmed yet stay
   * suspended if the daemon is killed. Paused agents stay paused.
   *
   * @throws KmdError `state_not_written`; the agents confirmed before stay confirmed
   */
  async confirmWallet(walletId: string, actor: Actor): Promise<readonly Agent[]> {
    const { audit, database, spending, store, shown } = this.#options
    // Compared before the owner's decision, so that the comparison cannot undo the decision.
    await audit.compare()
    const suspensions = this.#suspensions
    const ids = store.live().flatMap(({ agent }) => (isSuspended(agent) && agent.walletId === walletId ? agent.id : []))
    const confirmed: string[] = []
    for (let from = 0; from < ids.length; from += agentsPerTurn) {
      const piece = ids.slice(from, from + agentsPerTurn)
      // The record of a confirmation states what the agent has spent. Read in pieces before the transaction.
      for (const id of piece) await spending.prepare(() => store.require(id))
      confirmed.push(...(await database.change(() => this.#confirmPiece(piece, { suspensions, actor }))))
    }
    return confirmed.map((id) => shown(store.require(id)))
  }

  /** Returns the ids of the agents that were confirmed. The owner has not decided about a suspension that followed. */
  #confirmPiece(ids: readonly string[], { suspensions, actor }: { suspensions: number; actor: Actor }): string[] {
    return ids.filter((id) => {
      const stored = this.#options.store.get(id)
      if (stored === undefined || !isSuspended(stored.agent) || this.#suspensions !== suspensions) return false
      this.confirm(stored, actor)
      return true
    })
  }

  /** Lets one suspended agent sign again. Call only within `StateDatabase.change`. */
  confirm(stored: StoredAgent, actor: Actor): void {
    const { store, audit, spending, shown } = this.#options
    store.setSuspended(stored, undefined)
    audit.append(AuditEvents.confirmed(shown(stored), spending.budget(stored), actor))
  }
}

function isSuspended(agent: Agent): boolean {
  return !hasEnded(agent) && agent.suspendedReason !== undefined
}
