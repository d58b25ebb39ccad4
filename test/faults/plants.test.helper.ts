/** Plants faults in stores, one at a time. The checker has to find each of them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Settlement, SettlementLimits, SettlementStore } from '@latchkey/x402/facilitator'
import type { ClaimStore } from '@latchkey/x402/server'

const settlementPlants: { [name: string]: (store: SettlementStore) => Partial<SettlementStore> } = {
  'dies when it has recorded': diesWhenItHasRecorded,
  'takes nothing over': takesNothingOver,
  'hears of nothing': hearsOfNothing,
  'counts its own fees': countsItsOwnFees,
  'records failures': recordsFailures,
  'records another amount': recordsAnotherAmount,
}

const claimPlants: { [name: string]: (store: ClaimStore) => Partial<ClaimStore> } = {
  'dies when it has claimed': diesWhenItHasClaimed,
  'checks, then claims': checksThenClaims,
  'serves again': servesAgain,
  'loses its lease': losesItsLease,
  'loses its lease, without a fence': hasNoFence,
  'loses the charge of a stream': losesCharge,
}

export function plantInSettlements(store: SettlementStore, plant: string | undefined): SettlementStore {
  return plant === undefined ? store : withChanges(store, settlementPlants[plant]!(store))
}

export function plantInClaims(store: ClaimStore, plant: string | undefined): ClaimStore {
  return plant === undefined ? store : withChanges(store, claimPlants[plant]!(store))
}

/** Returns the store with these methods replaced. */
export function withChanges<Store extends object>(store: Store, changes: Partial<Store>): Store {
  return new Proxy(store, {
    get: (target, name) => {
      if (name in changes) return changes[name as keyof Store]
      const value = target[name as keyof Store]
      // Private members exist only on the store itself.
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** Not a fault of a store: SIGKILL at the worst moment, between the record and the first submission. */
function diesWhenItHasRecorded(store: SettlementStore): Partial<SettlementStore> {
  return {
    claim: async (...call) => {
      const result = await store.claim(...call)
      if (result.type === 'recorded') process.kill(process.pid, 'SIGKILL')
      return result
    },
  }
}

/** Leaves the settlements of a dead replica as they are. */
function takesNothingOver({ leases }: SettlementStore): Partial<SettlementStore> {
  const watch = async (transactionId: string, timeoutMs: number): Promise<Settlement | undefined> => {
    await sleep(timeoutMs)
    return leases!.watch(transactionId, 0)
  }
  return { pending: () => [], leases: { ...bound(leases!), takeOver: async () => [], watch } }
}

/** Ignores settlements that other replicas have ended: each keeps the state in which it was first seen. */
function hearsOfNothing(store: SettlementStore): Partial<SettlementStore> {
  const seen = new Map<string, Settlement>()
  const own = new Set<string>()
  const remember = (settlement: Settlement): Settlement => {
    if (own.has(settlement.transactionId)) return settlement
    const first = seen.get(settlement.transactionId) ?? { ...settlement, state: 'pending' }
    seen.set(settlement.transactionId, first)
    return first
  }
  return {
    claim: async (settlement, limits) => {
      const result = await store.claim(settlement, limits)
      if (result.type === 'recorded') own.add(settlement.transactionId)
      return result.type === 'known' ? { ...result, settlement: remember(result.settlement) } : result
    },
    get: async (transactionId) => {
      const found = await store.get(transactionId)
      return found === undefined ? undefined : remember(found)
    },
    holds: {
      ...bound(store.holds!),
      hold: async (...call) => {
        const result = await store.holds!.hold(...call)
        return result.type === 'known' ? { ...result, settlement: remember(result.settlement) } : result
      },
    },
    leases: {
      ...bound(store.leases!),
      takeOver: async () => [],
      watch: async (transactionId, timeoutMs) => {
        await sleep(timeoutMs)
        return seen.get(transactionId)
      },
    },
  }
}

/** Keeps the budget in the memory of each replica. */
function countsItsOwnFees(store: SettlementStore): Partial<SettlementStore> {
  const spent = new Map<string, bigint>()
  const without = ({ feesPerPayTo: _, feesInAll: __, ...others }: SettlementLimits): SettlementLimits => others
  const isOver = ({ payTo, feeMicroAlgos }: Settlement, { feesPerPayTo }: SettlementLimits): boolean =>
    feesPerPayTo !== undefined && (spent.get(payTo) ?? 0n) + feeMicroAlgos > feesPerPayTo
  return {
    check: (payment, limits) => store.check(payment, without(limits)),
    claim: async (settlement, limits) => {
      if (isOver(settlement, limits)) return { type: 'limited', limit: 'feesPerPayTo' }
      spent.set(settlement.payTo, (spent.get(settlement.payTo) ?? 0n) + settlement.feeMicroAlgos)
      return store.claim(settlement, without(limits))
    },
    holds: { ...bound(store.holds!), hold: (hold, limits) => store.holds!.hold(hold, without(limits)) },
  }
}

/** Records settlements on the ledger as failed. */
function recordsFailures(store: SettlementStore): Partial<SettlementStore> {
  const errorReason = 'invalid_exact_avm_settlement_failed'
  const failed = { state: 'failed', errorReason, errorMessage: 'the payment expired before it was confirmed' } as const
  return { finish: (transactionId) => store.finish(transactionId, failed) }
}

/** Records another charge than that of the signed transfer. */
function recordsAnotherAmount(store: SettlementStore): Partial<SettlementStore> {
  const changed = (settlement: Settlement): Settlement => {
    return { ...settlement, amount: String(BigInt(settlement.amount) + 1n) }
  }
  return { claim: (settlement, limits) => store.claim(changed(settlement), limits) }
}

/** The charges of streams are not stored, and the gate is killed before it has one settled. */
function losesCharge({ usage }: ClaimStore): Partial<ClaimStore> {
  return {
    usage: {
      ...bound(usage!),
      note: async (work, ...rest) => (work.charge > 0n ? 'noted' : usage!.note(work, ...rest)),
    },
    hold: () => process.kill(process.pid, 'SIGKILL'),
  }
}

/** Not a fault of a store either: the gate is killed before it has done anything. */
function diesWhenItHasClaimed(store: ClaimStore): Partial<ClaimStore> {
  return {
    claim: async (...call) => {
      const result = await store.claim(...call)
      if (result.type === 'new') process.kill(process.pid, 'SIGKILL')
      return result
    },
  }
}

/** Looks up the claim before claiming, so two gates can claim at the same time. */
function checksThenClaims(store: ClaimStore): Partial<ClaimStore> {
  return {
    claim: async (transactionId, lease) => {
      const isKnown = await store.has(transactionId)
      await sleep(300)
      const result = await store.claim(transactionId, lease)
      return isKnown ? result : { type: 'new' }
    },
  }
}

/** Lets an answered payment open the request again. */
function servesAgain(store: ClaimStore): Partial<ClaimStore> {
  return {
    claim: async (transactionId, lease) => {
      const result = await store.claim(transactionId, lease)
      return result.type === 'held' || result.type === 'taken' ? { type: 'again' } : result
    },
  }
}

/** Gives a payment a short first lease without renewal, as if its gate were cut off from the store for that time. */
function losesItsLease(store: ClaimStore): Partial<ClaimStore> {
  const renewals = bound(store.renewals!)
  return {
    claim: async (transactionId, lease) => {
      const leaseMs = (await store.has(transactionId)) ? lease.leaseMs : 300
      return store.claim(transactionId, { ...lease, leaseMs })
    },
    renewals: { ...renewals, renew: async (claims) => claims.map(({ owner }) => owner) },
  }
}

/** Tells a gate whose lease was taken over that it still holds the lease. */
function hasNoFence(store: ClaimStore): Partial<ClaimStore> {
  const { claim, renewals } = losesItsLease(store)
  const always =
    <Call extends unknown[]>(write: (...call: Call) => unknown) =>
    async (...call: Call): Promise<boolean> => {
      await write(...call)
      return true
    }
  return {
    claim: claim!,
    hold: always((...call) => store.hold(...call)),
    finish: always((...call) => store.finish(...call)),
    renewals: { ...renewals!, begin: always((held) => store.renewals!.begin(held)) },
  }
}

/** Returns the members of a class instance, each bound to it. */
function bound<T extends object>(object: T): T {
  const names = new Set<string>()
  for (let one: object = object; one !== Object.prototype; one = Object.getPrototypeOf(one)) {
    for (const name of Object.getOwnPropertyNames(one)) names.add(name)
  }
  const members = [...names]
    .filter((name) => name !== 'constructor')
    .map((name) => {
      const value = (object as { [name: string]: unknown })[name]
      return [name, typeof value === 'function' ? value.bind(object) : value]
    })
  return Object.fromEntries(members) as T
}
