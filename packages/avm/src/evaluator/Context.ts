import { Transaction } from '@latchkey/algorand'
import type { ConsensusParameters } from './ConsensusParameters.js'
import type { Ledger } from './Ledger.js'

/** Whether a program is a logic signature or belongs to an application. */
export type Mode = 'signature' | 'application'

/** The environment of the programs of a group: its transactions and the chain. */
export class Context {
  readonly group: readonly Transaction.Transaction[]
  readonly ledger: Ledger
  readonly parameters: ConsensusParameters
  readonly #ids: Uint8Array[] = []

  constructor(group: readonly Transaction.Transaction[], ledger: Ledger, parameters: ConsensusParameters) {
    this.group = group
    this.ledger = ledger
    this.parameters = parameters
  }

  /** The id of a transaction of the group, as 32 bytes. */
  transactionId(index: number): Uint8Array {
    this.#ids[index] ??= Transaction.digest(this.group[index]!)
    return this.#ids[index]
  }
}

/** The version that the transactions of a group require. Rekeying and application calls are unknown to version 1. */
export function minVersion(group: readonly Transaction.Transaction[]): number {
  return group.some(({ type, rekey }) => type === 'appl' || rekey !== undefined) ? 2 : 0
}
