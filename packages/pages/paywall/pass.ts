/** The pass that comes with a response: a cookie, unreadable for scripts, that opens the page again. */

/** The header with which the page requests a pass. */
export const passRequest = { 'PAYMENT-PASS': 'cookie' }

/**
 * How long and how often the page opens again for free, or undefined if it does not, or if this browser stores no
 * cookie.
 */
export function passText({ headers }: Response): string | undefined {
  const [, until, requests] =
    /^until=([0-9]{1,11})(?:, requests=([0-9]{1,10}))?$/.exec(headers.get('payment-pass-status') ?? '') ?? []
  if (until === undefined || !navigator.cookieEnabled || !isSecureContext) return undefined
  const end = new Date(Number(until) * 1000)
  const isToday = end.toDateString() === new Date().toDateString()
  const time = isToday ? end.toLocaleTimeString([], { timeStyle: 'short' }) : end.toLocaleDateString()
  if (requests === undefined) return `until ${time}`
  if (requests === '0') return undefined
  return `${requests === '1' ? 'once' : `${Number(requests)} times`} until ${time}`
}
