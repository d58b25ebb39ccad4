/** All error codes of this package, and the base class of its errors. */
import { type ErrorRegistry, LatchkeyError, type LatchkeyErrorOptions } from '@latchkey/algorand'

/** Every error code of `@latchkey/mcp`, with its meaning and what to do about it. */
export const errors = {
  invalid_tool_option: {
    message: 'A name or an option is not valid.',
    hint: 'The message names it and gives the reason.',
  },
  tool_result_too_large: {
    message: "A tool's result exceeds a limit.",
    hint: 'Raise `maxResultBytes` if you expect results of this size.',
  },
  tool_result_lost: {
    message: 'A payment for a tool call was sent, but the call was not served.',
    hint: 'Make the same call again: it sends the same payment, which is charged only once.',
  },
  tool_payment_open: {
    message: 'An earlier payment for the same tool call may still be settled, and its result was not received here.',
    hint: 'Wait until that payment settles or expires: a second payment could charge you twice.',
  },
  too_many_tool_calls: {
    message: 'Too many calls are waiting for a payment of the same call.',
    hint: 'Wait for the calls in progress.',
  },
} as const satisfies ErrorRegistry

/** A code of {@link errors}. */
export type McpErrorCode = keyof typeof errors

/** The base class of the errors that this package throws. */
export class McpError<Code extends McpErrorCode = McpErrorCode> extends LatchkeyError<Code> {
  override name = 'McpError'

  constructor(code: Code, message: string, { hint = errors[code].hint, cause }: LatchkeyErrorOptions = {}) {
    super(code, message, { hint, cause })
  }
}
