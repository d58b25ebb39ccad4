/** An id as payments have it. */
export function idOf(count: number): string {
  return [...String(count).padStart(52, '0')].map((digit) => 'ABCDEFGHIJ'[Number(digit)]).join('')
}
