import * as AlgodAmount from '../AlgodAmount.js'
import { LedgerError } from '../LedgerError.js'
import * as MapKey from '../MapKey.js'
import type { StateOverlay } from '../StateOverlay.js'

/** Moves Algos. A move of 0 still writes both accounts, as on a node. */
export function move(overlay: StateOverlay, from: MapKey.MapKey, to: MapKey.MapKey, microAlgos: bigint): void {
  const source = overlay.account(from)
  if (source.microAlgos < microAlgos) {
    const [has, spends] = [AlgodAmount.format(source.microAlgos), AlgodAmount.format(microAlgos)]
    const reason = `overspend (account ${MapKey.address(from)}, data {MicroAlgos:${has}}, tried to spend ${spends})`
    throw new LedgerError('rule_violation', reason, {
      hint: `it lacks ${microAlgos - source.microAlgos} microAlgos`,
    })
  }
  overlay.putAccount(from, { ...source, microAlgos: source.microAlgos - microAlgos })
  const target = overlay.account(to)
  overlay.putAccount(to, { ...target, microAlgos: target.microAlgos + microAlgos })
}
