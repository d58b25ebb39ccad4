/** Formats a time in ISO 8601. The milliseconds come from the daemon and may exceed the range of a date. */
export function timeText(ms: number): string {
  const time = new Date(ms)
  return Number.isNaN(time.getTime()) ? 'an unknown time' : time.toISOString()
}
