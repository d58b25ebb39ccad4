/** The error codes of this package. */
import type { ErrorRegistry } from '@latchkey/algorand/error'

/** The error codes of `@latchkey/avm`, with their messages and hints. */
export const errors = {
  assembly_failed: {
    message: 'The program could not be assembled.',
    hint: 'Correct the lines that the message names.',
  },
} as const satisfies ErrorRegistry
