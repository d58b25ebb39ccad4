/** The roles of an account in a transaction, as bits. */
import type { Transaction } from '@latchkey/algorand'
import * as MapKey from '../ledger/MapKey.js'

export const sender = 1
export const receiver = 2
export const closeTo = 4
export const assetSender = 8
export const assetReceiver = 16
export const assetCloseTo = 32
export const freezeTarget = 64

/** Returns every account that takes part in a transaction, with its roles. An absent receiver is the zero address. */
export function of(txn: Transaction.Transaction): Map<MapKey.MapKey, number> {
  const roles = new Map<MapKey.MapKey, number>()
  const add = (bytes: Uint8Array | undefined, role: number): void => {
    const key = MapKey.ofField(bytes)
    roles.set(key, (roles.get(key) ?? 0) | role)
  }
  const addIfPresent = (bytes: Uint8Array | undefined, role: number): void => {
    if (bytes !== undefined) add(bytes, role)
  }
  add(txn.snd, sender)
  switch (txn.type) {
    case 'pay':
      add(txn.rcv, receiver)
      addIfPresent(txn.close, closeTo)
      break
    case 'axfer':
      addIfPresent(txn.asnd, assetSender)
      add(txn.arcv, assetReceiver)
      addIfPresent(txn.aclose, assetCloseTo)
      break
    case 'afrz':
      add(txn.fadd, freezeTarget)
  }
  return roles
}
