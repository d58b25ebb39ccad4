/** Serializes rules as JSON, with amounts as decimal text. */
import type { Rules } from './Agent.js'

export function write(rules: Rules): string {
  return JSON.stringify(rules, (_name, value) => (typeof value === 'bigint' ? `${value}n` : value))
}

/** Reads the output of {@link write}. The file never contains anything else. */
export function read(text: string): Rules {
  const rules = JSON.parse(text, (_name, value) =>
    typeof value === 'string' && /^[0-9]{1,20}n$/.test(value) ? BigInt(value.slice(0, -1)) : value,
  )
  return { dollars: [], ...rules, payees: { allow: undefined, ...rules.payees } }
}
