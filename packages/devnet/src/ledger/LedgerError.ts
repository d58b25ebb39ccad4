import { LatchkeyError } from '@latchkey/algorand'
import type { Evaluation } from '@latchkey/avm'
import type { DevnetErrorCode } from '../errors.js'

type Code = Extract<
  DevnetErrorCode,
  | 'malformed_transaction'
  | 'missing_signature'
  | 'invalid_group'
  | 'invalid_signature'
  | 'pool_full'
  | 'rule_violation'
  | 'trace_too_large'
>

type LedgerErrorOptions = {
  /** Position in the group, if one transaction is at fault. */
  readonly index?: number | undefined
  /** The id of a malformed or unsigned transaction, which nodes print in full. */
  readonly transactionId?: string | undefined
  /** A standalone reason is not preceded by the transaction's id. */
  readonly isStandalone?: boolean | undefined
  /** The suggested remedy, for people. Never part of the message. */
  readonly hint?: string | undefined
  /** The failure of an application call. */
  readonly cause?: unknown
  /** The logic signatures of the group that were evaluated, by the index of their transactions. */
  readonly signatures?: readonly (Evaluation | undefined)[] | undefined
}

/**
 * The ledger rejects a transaction or a funding. `message` is only the reason, in algod's wording. Submitting and
 * simulating word the same reason differently: see {@link submitText} and {@link simulateText}.
 */
export class LedgerError extends LatchkeyError<Code> {
  override name = 'LedgerError'
  /** Position in the group, if one transaction is at fault. */
  readonly index: number | undefined
  /** The id of a malformed or unsigned transaction. */
  readonly transactionId: string | undefined
  /** Whether the reason is not preceded by the transaction's id. */
  readonly isStandalone: boolean
  /** The logic signatures that were evaluated, if one of them is at fault. */
  readonly signatures: readonly (Evaluation | undefined)[] | undefined

  constructor(code: Code, reason: string, options: LedgerErrorOptions = {}) {
    const { index, transactionId, isStandalone = false, hint, cause, signatures } = options
    super(code, reason, { hint, cause })
    this.index = index
    this.transactionId = transactionId
    this.isStandalone = isStandalone
    this.signatures = signatures
  }
}

/** The message of the response to a submission. */
export function submitText({ code, message, transactionId }: LedgerError): string {
  if (code === 'malformed_transaction' || code === 'missing_signature') return invalidText(message, transactionId)
  return code === 'rule_violation' ? `TransactionPool.Remember: ${message}` : message
}

/** The failure message of a simulation. */
export function simulateText({ code, message, transactionId }: LedgerError): string {
  return code === 'missing_signature' ? invalidText(message, transactionId) : message
}

function invalidText(reason: string, transactionId: string | undefined): string {
  return `transaction {${transactionId}} invalid : ${reason}`
}
