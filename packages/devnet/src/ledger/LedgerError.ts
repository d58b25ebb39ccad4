import { LatchkeyError } from '@latchkey/algorand'
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
  /** The failure of a program. */
  readonly cause?: unknown
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

  constructor(code: Code, reason: string, options: LedgerErrorOptions = {}) {
    const { index, transactionId, isStandalone = false, hint, cause } = options
    super(code, reason, { hint, cause })
    this.index = index
    this.transactionId = transactionId
    this.isStandalone = isStandalone
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
