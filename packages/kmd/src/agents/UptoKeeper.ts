/**
 * Decides the reservations of authorizations for prices by usage. Their transaction is not known before it is on the
 * ledger, so it is found by its lease. When a block has the charge, the charge counts in place of the maximum. When the
 * authorization is no longer valid and no block has a charge, all of it is returned. Otherwise, the maximum stays
 * reserved.
 */
import type { LedgerClient } from '../api/NodeClient.js'
import type { StoredAgent } from './AgentStore.js'
import { LeaseBlocks } from './LeaseBlocks.js'
import type { Charge, OpenReservation } from './Reservations.js'
import type { Spending } from './Spending.js'

export type UptoRun = {
  readonly node: LedgerClient
  readonly network: string
  readonly lastRound: bigint
  /** An authorization is over if its last valid round is this one or an earlier one. */
  readonly overRound: bigint
}

type Charged = { readonly reservation: OpenReservation; readonly charge: Charge }

/** The number of reservations that are decided together. */
const together = 500

export class UptoKeeper {
  readonly #spending: Spending
  #blocks: LeaseBlocks | undefined
  /** By agent and network: the authorizations up to this number are decided, or this node cannot decide them. */
  readonly #decidedUpTo = new Map<string, number>()

  constructor(spending: Spending) {
    this.#spending = spending
  }

  /** Decides for an agent. Returns false if the blocks of this run are used up. @throws AlgodError */
  async decide(stored: StoredAgent, run: UptoRun): Promise<boolean> {
    const { network } = run
    const key = `${stored.number} ${network}`
    let after = this.#decidedUpTo.get(key) ?? 0
    let isDecided = true
    for (;;) {
      const open = this.#spending.openUpto(stored.number, { network, after, count: together })
      if (open.length === 0) return true
      const { charged, absent, later } = await this.#search(open, run)
      await Promise.all([
        ...charged.map(({ reservation, charge }) => this.#spending.settle(stored, reservation, charge)),
        ...(absent.length === 0 ? [] : [this.#spending.giveBack(stored, absent)]),
      ])
      for (const { number, lastValid } of open) {
        isDecided &&= lastValid <= run.overRound && !later.has(number)
        if (isDecided) this.#decidedUpTo.set(key, number)
      }
      if (later.size > 0) return false
      after = open.at(-1)!.number
    }
  }

  /** Begins a run with a node. */
  begin({ node, network, lastRound }: UptoRun): void {
    if (this.#blocks?.isOf({ node, network }) !== true) {
      this.#blocks = new LeaseBlocks({ node, network })
      this.#decidedUpTo.clear()
    }
    this.#blocks.begin(lastRound)
  }

  async #search(open: readonly OpenReservation[], { lastRound, overRound }: UptoRun) {
    const blocks = this.#blocks!
    const charged: Charged[] = []
    const absent: OpenReservation[] = []
    const later = new Set<number>()
    for (const reservation of open) {
      const { number, firstValid, lastValid } = reservation
      // Round 0 has no transactions, and some nodes do not serve it.
      const first = firstValid > 0n ? firstValid : 1n
      const last = lastValid < lastRound ? lastValid : lastRound
      const coverage = first > last ? 'unknown' : await blocks.cover(first, last)
      const charge = blocks.charge(reservation)
      if (charge !== undefined) charged.push({ reservation, charge })
      else if (coverage === 'later') later.add(number)
      else if (coverage === 'covered' && lastValid <= overRound) absent.push(reservation)
    }
    return { charged, absent, later }
  }
}
