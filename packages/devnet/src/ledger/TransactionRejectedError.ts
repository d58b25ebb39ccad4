/**
 * Why a group was not accepted. Submitting and simulating word and weigh the same reason differently, so it carries
 * what both need: the stage that refused, the bare reason in the words nodes use, and the transaction it is about.
 */
export type Stage =
  /** A transaction that can never be right. */
  | 'malformed'
  /** A transaction without a signature, or with one that has the wrong form. */
  | 'unsigned'
  /** Members that do not belong together. */
  | 'group'
  /** A signature that is there and wrong: nodes do not tell which. */
  | 'signature'
  /** No room for more just now. */
  | 'capacity'
  /** What the state of the ledger does not allow. */
  | 'state'

export type TransactionRejectedOptions = {
  stage: Stage
  reason: string
  /** Position in the group, if one transaction is to blame. */
  index?: number | undefined
  /** Of a transaction that is refused for itself: nodes print all of it. */
  transactionId?: string | undefined
  /** What to do about it, for people; never part of the message. */
  hint?: string | undefined
}

export class TransactionRejectedError extends Error {
  override name = 'Rejection'
  readonly stage: Stage
  readonly reason: string
  readonly index: number | undefined
  readonly transactionId: string | undefined
  readonly hint: string | undefined

  constructor({ stage, reason, index, transactionId, hint }: TransactionRejectedOptions) {
    super(reason)
    this.stage = stage
    this.reason = reason
    this.index = index
    this.transactionId = transactionId
    this.hint = hint
  }
}

/** As an answer to submitting it. */
export function submitText({ stage, reason, transactionId }: TransactionRejectedError): string {
  if (stage === 'malformed' || stage === 'unsigned') return `transaction {${transactionId}} invalid : ${reason}`
  return stage === 'state' ? `TransactionPool.Remember: ${reason}` : reason
}

/** As an answer to simulating it. */
export function simulateText({ stage, reason, transactionId }: TransactionRejectedError): string {
  return stage === 'unsigned' ? `transaction {${transactionId}} invalid : ${reason}` : reason
}
