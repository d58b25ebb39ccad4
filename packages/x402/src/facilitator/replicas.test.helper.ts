/**
 * A database in memory that replicas of a facilitator share, with leases and holds. Tests the coordination of replicas
 * without a server, with its own clock.
 */
import type { HoldResult, PaymentHold, SettlementLimits } from './store/Settlement.js'
import { MemorySettlements, type Settlement, type SettlementStore } from './store/Settlements.js'

type Held = PaymentHold & { readonly untilMs: number; settledMs?: number }

export class SharedMemory {
  readonly settlements = new MemorySettlements()
  readonly leases = new Map<string, { owner: string; untilMs: number }>()
  readonly holds = new Map<string, Held>()
  readonly calls: string[] = []
  leaseMs = 150
  /** Called before each operation. Throws or waits to simulate a broken network. */
  before: (what: string, owner: string) => Promise<void> | void = () => {}

  /** The store of one replica. */
  store(owner: string): SettlementStore & { readonly isClosed: boolean } {
    const { settlements } = this
    const call = async (what: string): Promise<void> => {
      this.calls.push(`${owner} ${what}`)
      await this.before(what, owner)
    }
    const state = { isClosed: false }
    return {
      get isClosed() {
        return state.isClosed
      },
      claim: async (settlement, limits) => {
        await call('claim')
        const claim = settlements.claim(settlement, limits)
        if (claim.type === 'recorded') this.#lease(settlement.transactionId, owner)
        await call('claimed')
        return claim
      },
      get: async (transactionId) => {
        await call('get')
        return settlements.get(transactionId)
      },
      finish: async (transactionId, outcome) => {
        await call('finish')
        const isLost = this.leases.get(transactionId)?.owner !== owner
        if (outcome.state === 'failed' && isLost) return settlements.get(transactionId)
        const recorded = settlements.finish(transactionId, outcome)
        const held = this.holds.get(transactionId)
        if (held !== undefined && outcome.state === 'settled') held.settledMs = Date.now()
        else this.holds.delete(transactionId)
        return recorded
      },
      setRejected: async (transactionId, isRejected) => settlements.setRejected(transactionId, isRejected),
      check: async (payment, limits) => {
        await call('check')
        return settlements.check(payment, limits)
      },
      pending: async () => this.#takeOver(owner, Number.POSITIVE_INFINITY),
      forgetBefore: () => {},
      close: () => {
        state.isClosed = true
      },
      leases: {
        leaseMs: this.leaseMs,
        renew: async (ids) => {
          await call('renew')
          const lost = ids.filter((id) => this.leases.get(id)?.owner !== owner)
          for (const id of ids) if (!lost.includes(id)) this.#lease(id, owner)
          return lost
        },
        takeOver: async (limit) => {
          await call('takeOver')
          return this.#takeOver(owner, limit)
        },
        release: async () => {
          await call('release')
          for (const [id, lease] of this.leases) if (lease.owner === owner) this.leases.delete(id)
        },
        watch: async (id, timeoutMs) => {
          await call('watch')
          const untilMs = Date.now() + timeoutMs
          while (Date.now() < untilMs && this.#isWorkedOn(id)) await new Promise((resolve) => setTimeout(resolve, 5))
          return settlements.get(id)
        },
      },
      holds: {
        isCounted: true,
        claimantOf: async (id) => {
          await call('claimantOf')
          return this.holds.get(id)?.claimant
        },
        forget: async (network, round) => {
          await settlements.holds.forget(network, round)
          for (const [id, held] of this.holds) {
            if (held.network === network && held.lastValid < round) this.holds.delete(id)
          }
        },
        hold: async (hold, limits) => {
          await call('hold')
          return this.#hold(hold, limits)
        },
        release: async (id, claimant) => {
          await call('unhold')
          await settlements.holds.release(id, claimant)
          if (this.holds.get(id)?.claimant === claimant) this.holds.delete(id)
        },
      },
    }
  }

  #lease(id: string, owner: string): void {
    this.leases.set(id, { owner, untilMs: Date.now() + this.leaseMs })
  }

  #isWorkedOn(id: string): boolean {
    return this.settlements.get(id)?.state === 'pending' && Date.now() < (this.leases.get(id)?.untilMs ?? 0)
  }

  #takeOver(owner: string, limit: number): Settlement[] {
    const left = this.settlements.pending().filter(({ transactionId }) => !this.#isWorkedOn(transactionId))
    const taken = left.slice(0, limit)
    for (const { transactionId } of taken) this.#lease(transactionId, owner)
    return taken
  }

  #hold(hold: PaymentHold, limits: SettlementLimits): HoldResult {
    const { transactionId, payer } = hold
    const found = this.holds.get(transactionId)
    const decision = this.settlements.holds.hold(hold, limits) as HoldResult
    if (decision.type !== 'held') return decision
    const all = [...this.holds.values()]
    const before = found === undefined ? all : all.slice(0, all.indexOf(found))
    const others = before.filter((one) => one.payer === payer && one.settledMs === undefined)
    const costs = hold.costs.map(({ asset }) => {
      const sums = { asset, held: 0n, settling: 0n }
      for (const one of others) {
        const amount = one.costs.find((cost) => cost.asset === asset)?.amount ?? 0n
        const isSettling = this.settlements.get(one.transactionId) !== undefined
        sums[isSettling ? 'settling' : 'held'] += amount
      }
      return sums
    })
    const settledMs = Math.max(...all.filter((one) => one.payer === payer).map((one) => one.settledMs ?? 0), 0)
    const settledAgoMs = settledMs === 0 ? undefined : Date.now() - settledMs
    this.holds.set(transactionId, found ?? { ...hold, untilMs: Date.now() + hold.holdMs })
    const fees = { all: 0n, settling: 0n, own: 0n, payers: 1 }
    return { type: 'held', ahead: { costs, settledAgoMs, fees }, wasHeld: decision.wasHeld }
  }
}
