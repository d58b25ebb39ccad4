/** Returns an id in the format of payments. */
export function idOf(count: number): string {
  return [...String(count).padStart(52, '0')].map((digit) => 'ABCDEFGHIJ'[Number(digit)]).join('')
}
