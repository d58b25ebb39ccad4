/** An application call: one run of an approval or clear state program. */
import type { Transaction } from '@latchkey/algorand'
import type { Machine } from '../evaluator/Machine.js'
import type { Application } from './ApplicationLedger.js'
import type { CallGroup } from './CallGroup.js'
import type { EvalDelta } from './Effects.js'

/** A running application call. */
export class Call {
  readonly group: CallGroup
  /** The index of the transaction in its group. */
  readonly index: number
  readonly appId: bigint
  readonly application: Application
  readonly program: 'approval' | 'clearState'
  readonly delta: EvalDelta
  machine!: Machine

  constructor(
    group: CallGroup,
    index: number,
    options: Pick<Call, 'appId' | 'application' | 'program' | 'delta'>,
  ) {
    this.group = group
    this.index = index
    this.appId = options.appId
    this.application = options.application
    this.program = options.program
    this.delta = options.delta
  }

  get transaction(): Transaction.Transaction {
    return this.group.transactions[this.index]!
  }
}
