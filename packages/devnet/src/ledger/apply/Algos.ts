import * as Amount from '../Amount.js'
import * as Key from '../Key.js'
import { LedgerError } from '../LedgerError.js'
import type { StateOverlay } from '../StateOverlay.js'

/** From one account to another. Moving nothing still counts as writing both, as it does on a node. */
export function move(layer: StateOverlay, from: Key.Key, to: Key.Key, microAlgos: bigint): void {
  const source = layer.account(from)
  if (source.microAlgos < microAlgos) {
    const [has, spends] = [Amount.text(source.microAlgos), Amount.text(microAlgos)]
    const reason = `overspend (account ${Key.address(from)}, data {MicroAlgos:${has}}, tried to spend ${spends})`
    throw new LedgerError(reason, { hint: `it is short of ${microAlgos - source.microAlgos} microAlgos` })
  }
  layer.putAccount(from, { ...source, microAlgos: source.microAlgos - microAlgos })
  const target = layer.account(to)
  layer.putAccount(to, { ...target, microAlgos: target.microAlgos + microAlgos })
}
