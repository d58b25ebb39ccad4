/** The Algos of all accounts by their status. */
import type { Account, Status } from './Account.js'

/** `rewardUnits` counts whole Algos, account by account. */
export type Total = { readonly microAlgos: bigint; readonly rewardUnits: bigint }
export type Totals = { readonly [status in Status]: Total }

const rewardUnitMicroAlgos = 1_000_000n

export const none: Totals = {
  Offline: { microAlgos: 0n, rewardUnits: 0n },
  Online: { microAlgos: 0n, rewardUnits: 0n },
  'Not Participating': { microAlgos: 0n, rewardUnits: 0n },
}

export function of(accounts: Iterable<Account>): Totals {
  const sums: { [status in Status]: Total } = { ...none }
  for (const { status, microAlgos } of accounts) {
    const sum = sums[status]
    sums[status] = {
      microAlgos: sum.microAlgos + microAlgos,
      rewardUnits: sum.rewardUnits + microAlgos / rewardUnitMicroAlgos,
    }
  }
  return sums
}

/** The totals after an account changed. */
export function changed(totals: Totals, before: Account, after: Account): Totals {
  const minus = totals[before.status]
  const without: Totals = {
    ...totals,
    [before.status]: {
      microAlgos: minus.microAlgos - before.microAlgos,
      rewardUnits: minus.rewardUnits - before.microAlgos / rewardUnitMicroAlgos,
    },
  }
  const plus = without[after.status]
  return {
    ...without,
    [after.status]: {
      microAlgos: plus.microAlgos + after.microAlgos,
      rewardUnits: plus.rewardUnits + after.microAlgos / rewardUnitMicroAlgos,
    },
  }
}
