/** The error codes of this package. */
import type { ErrorRegistry } from '@latchkey/algorand/error'

/** The error codes of `@latchkey/avm`, with their messages and hints. */
export const errors = {
  assembly_failed: {
    message: 'The program could not be assembled.',
    hint: 'Correct the lines that the message names.',
  },
  evaluation_failed: {
    message: 'The program failed.',
    hint: 'Trace the program up to the instruction that failed.',
  },
} as const satisfies ErrorRegistry
