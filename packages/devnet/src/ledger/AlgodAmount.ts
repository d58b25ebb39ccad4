/** Formats microAlgos as in algod's messages: `0.0A`, `999uA`, `1mA`, `1.500mA`, `2A`, `2.500000A`. */
export function format(microAlgos: bigint): string {
  if (microAlgos === 0n) return '0.0A'
  if (microAlgos < 1_000n) return `${microAlgos}uA`
  if (microAlgos < 1_000_000n) return inUnits(microAlgos, 1_000n, 3, 'mA')
  return inUnits(microAlgos, 1_000_000n, 6, 'A')
}

function inUnits(microAlgos: bigint, unit: bigint, digits: number, name: string): string {
  const fraction = microAlgos % unit
  const whole = microAlgos / unit
  return fraction === 0n ? `${whole}${name}` : `${whole}.${fraction.toString().padStart(digits, '0')}${name}`
}
