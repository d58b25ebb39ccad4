/** Times and durations as people read them. */
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

/** The time of day, and the day too where it is not today. */
export function formatMoment(ms: number, nowMs = Date.now()): string {
  const date = new Date(ms)
  const isToday = date.toDateString() === new Date(nowMs).toDateString()
  return isToday ? clock(date) : `${day(date)}, ${clock(date)}`
}

/** For the axis of a chart: as much as tells two marks apart. */
export function formatMark(ms: number, stepMs: number): string {
  const date = new Date(ms)
  if (stepMs >= 86_400_000) return day(date)
  return stepMs < 60_000 ? clock(date) : clock(date).slice(0, 5)
}

function clock(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((n) => String(n).padStart(2, '0')).join(':')
}

function day(date: Date): string {
  return date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
}
