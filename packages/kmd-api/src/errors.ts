import type { ErrorRegistry } from '@latchkey/algorand'
import { hint } from './rules/Rules.js'
import { limitHint } from './rules/SpendLimit.js'

/** Every error code that functions on agent rules throw, with its meaning and what to do about it. */
export const errors = {
  invalid_limit: {
    message: 'the text is not a spending limit',
    hint: limitHint,
  },
  invalid_rules: {
    message: 'the rules of an agent are invalid',
    hint,
  },
} as const satisfies ErrorRegistry
