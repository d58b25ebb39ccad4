/**
 * Serializes rules for the state file. Integers are decimal text with a suffix; `payees.allow` is absent if all payees
 * are allowed.
 */
import type { Rules } from '@latchkey/kmd-api/rules'

export function write(rules: Rules): string {
  const { allow, deny } = rules.payees
  const stored = { ...rules, payees: allow === 'all' ? { deny } : { allow, deny } }
  return JSON.stringify(stored, (_name, value) => (typeof value === 'bigint' ? `${value}n` : value))
}

/** Reads the output of {@link write}. The file never contains anything else. */
export function read(text: string): Rules {
  const rules = JSON.parse(text, (_name, value) =>
    typeof value === 'string' && /^[0-9]{1,20}n$/.test(value) ? BigInt(value.slice(0, -1)) : value,
  )
  return { dollars: [], ...rules, payees: { allow: 'all', ...rules.payees } }
}
