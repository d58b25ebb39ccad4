import type { ErrorRegistry } from '@latchkey/algorand'

/** Every error code that functions on agent rules throw, with its meaning and what to do about it. */
export const rulesErrors = {
  invalid_limit: {
    message: 'the text is not a limit on spending',
    hint: 'write a limit such as $5/day, each $0.50, 2 ALGO/total, 10 asset 123/week or 20 payments/hour',
  },
  invalid_rules: {
    message: 'the rules of an agent are not valid',
    hint: 'correct the member that the message names',
  },
} as const satisfies ErrorRegistry
