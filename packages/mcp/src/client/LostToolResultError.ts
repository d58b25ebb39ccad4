import type { PaymentState } from '@latchkey/x402/client'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { McpError } from '../errors.js'

type LostParts = {
  readonly transactionId: string
  readonly state: PaymentState
  readonly why: string
  readonly result?: CallToolResult | undefined
  readonly cause: unknown
}

/**
 * A payment was sent but the call was not served: no result arrived, or the result is unusable. Making the same call
 * with `payingCallTool` sends the same payment again. `buyer.lookUp(transactionId)` returns its current state on the
 * ledger.
 */
export class LostToolResultError extends McpError<'tool_result_lost'> {
  override name = 'LostToolResultError'
  readonly transactionId: string
  /** The state of the payment when the error was thrown. `open` means that it is not known yet. */
  readonly state: PaymentState
  /** The result with which the server refused the call, or undefined if none arrived. The result is not verified. */
  readonly result: CallToolResult | undefined

  constructor({ transactionId, state, why, result, cause }: LostParts) {
    super('tool_result_lost', `${why}; the payment ${transactionId} ${states[state]}`, { cause })
    this.transactionId = transactionId
    this.state = state
    this.result = result
  }
}

const states: { readonly [state in PaymentState]: string } = {
  settled: 'is settled',
  open: 'was sent and may still be settled',
  expired: 'was sent but has expired unsettled',
}
