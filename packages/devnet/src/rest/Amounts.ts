/** Amounts people write: `1.5`, `"0.000001"`, `10`. Never through a floating point number. */
export function baseUnits(name: string, value: unknown, decimals: number): bigint {
  const text = typeof value === 'number' || typeof value === 'bigint' ? value.toString() : value
  const match = typeof text === 'string' ? /^([0-9]{1,20})(?:\.([0-9]{1,19}))?$/.exec(text) : null
  const fraction = match?.[2] ?? ''
  if (match === null) throw new SyntaxError(`${name} is an amount such as 1.5`)
  if (fraction.length > decimals) throw new SyntaxError(`${name} has at most ${decimals} decimals`)
  return BigInt(match[1]! + fraction.padEnd(decimals, '0'))
}
