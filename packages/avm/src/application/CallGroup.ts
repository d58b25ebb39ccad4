/** A group of transactions with application calls: top-level, or made by an application. */
import type { Transaction } from '@latchkey/algorand'
import { applyCall } from './applyCall.js'
import type { Effects } from './Effects.js'
import { Group, type Origin } from './model.js'

/** A group whose transactions are applied in order. */
export class CallGroup extends Group {
  override call(index: number, effects: Effects): void {
    applyCall(this, index, effects)
    this.record(index, effects)
  }

  override createInner(transactions: readonly Transaction.Transaction[], origin: Origin): Group {
    return new CallGroup({ transactions, ledger: this.ledger, feeUsage: 0n }, origin)
  }
}
