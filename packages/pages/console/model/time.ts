/** Formats times and durations for people. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const days = Math.floor(whole / 86_400)
  const hours = Math.floor((whole % 86_400) / 3_600)
  const minutes = Math.floor((whole % 3_600) / 60)
  if (days > 0) return `${days} d ${hours} h`
  if (hours > 0) return `${hours} h ${minutes} min`
  if (minutes > 0) return `${minutes} min ${whole % 60} s`
  return `${whole} s`
}

/** Formats the time of day, with the date unless it is today. */
export function formatTime(ms: number, nowMs = Date.now()): string {
  const date = new Date(ms)
  const isToday = date.toDateString() === new Date(nowMs).toDateString()
  return isToday ? clock(date) : `${day(date)}, ${clock(date)}`
}

/** Formats a mark on a time axis as precisely as the step requires. */
export function formatAxisTime(ms: number, stepMs: number): string {
  const date = new Date(ms)
  if (stepMs >= 86_400_000) return day(date)
  return stepMs < 60_000 ? clock(date) : clock(date).slice(0, 5)
}

function clock(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((n) => String(n).padStart(2, '0')).join(':')
}

/** Formats a day of the current year. */
export function formatDay(ms: number): string {
  return day(new Date(ms))
}

function day(date: Date): string {
  return date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
}

/** Formats a date and time with the year, for distant times. */
export function formatDate(ms: number): string {
  const date = new Date(ms)
  return `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' })}, ${clock(date).slice(0, 5)}`
}
