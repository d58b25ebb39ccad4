const everyMs = 60_000

/** A warning that requests cause: at most one a minute, because anyone can send requests. */
export function limitedWarning(warn: (text: string) => void): (text: string) => void {
  let warnedMs = Number.NEGATIVE_INFINITY
  return (text) => {
    if (performance.now() < warnedMs + everyMs) return
    warnedMs = performance.now()
    warn(text)
  }
}

/** The warning about a payment that another gate has claimed. */
export function claimedElsewhereText(transactionId: string): string {
  return `payment ${transactionId} belongs to another server or resource; replicas must share a claims store: pass the option \`claims\``
}

/** The warning about streams that are held back. */
export const manyUnpaidText =
  'many streams were left unpaid within an hour (`maxUnpaidStreams`); responses that are charged by usage are now charged before they are sent'
