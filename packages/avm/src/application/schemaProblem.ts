import type { StateSchema } from './model.js'

/** Returns why values do not fit a schema, or undefined. */
export function schemaProblem(counts: StateSchema, schema: StateSchema): string | undefined {
  if (counts.integers > schema.integers) {
    return `store integer count ${counts.integers} exceeds schema integer count ${schema.integers}`
  }
  if (counts.byteStrings > schema.byteStrings) {
    return `store bytes count ${counts.byteStrings} exceeds schema bytes count ${schema.byteStrings}`
  }
  return undefined
}
