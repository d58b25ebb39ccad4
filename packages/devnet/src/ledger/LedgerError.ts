/** Thrown by the rules of the ledger; whoever evaluates the group knows which transaction it is about. */
export class LedgerError extends Error {
  override name = 'Refusal'
  readonly isBare: boolean
  readonly hint: string | undefined

  /** A bare reason stands alone; others are written after the transaction's id. */
  constructor(reason: string, { isBare = false, hint }: { isBare?: boolean; hint?: string } = {}) {
    super(reason)
    this.isBare = isBare
    this.hint = hint
  }
}
