/** Every error code that functions of this package throw, and the class that all of its errors extend. */
import { type ErrorRegistry, LatchkeyError, type LatchkeyErrorOptions } from '@latchkey/algorand'

/** Every error code of `@latchkey/mcp`, with its meaning and what to do about it. */
export const errors = {
  invalid_tool_option: {
    message: 'A name or an option cannot be used.',
    hint: 'Read the message: it says which one, and why.',
  },
} as const satisfies ErrorRegistry

/** A code of {@link errors}. */
export type McpErrorCode = keyof typeof errors

/** What functions of this package throw on purpose. */
export class McpError<Code extends McpErrorCode = McpErrorCode> extends LatchkeyError<Code> {
  override name = 'McpError'

  constructor(code: Code, message: string, { hint = errors[code].hint, cause }: LatchkeyErrorOptions = {}) {
    super(code, message, { hint, cause })
  }
}
