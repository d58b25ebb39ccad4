/** All error codes of this package, and the base class of its errors. */
import { type ErrorRegistry, LatchkeyError, type LatchkeyErrorOptions } from '@latchkey/algorand'

/** Every error code of `@latchkey/mcp`, with its meaning and what to do about it. */
export const errors = {
  invalid_tool_option: {
    message: 'A name or an option cannot be used.',
    hint: 'Read the message: it says which one, and why.',
  },
  tool_result_too_large: {
    message: 'The result of a tool is above a limit.',
    hint: 'Raise `maxResultBytes` if a result of this size is right.',
  },
  tool_result_lost: {
    message: 'A payment for a call of a tool was sent, and the call was not served.',
    hint: 'Make the same call again: it sends the same payment, which a seller takes once.',
  },
  tool_payment_open: {
    message: 'A payment for the same call of a tool may still be settled, and is not answered here.',
    hint: 'Wait until it is settled or expires. Another payment could be a second charge.',
  },
  too_many_tool_calls: {
    message: 'Too many calls wait for payments of the same call.',
    hint: 'Wait for the calls that are under way.',
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
