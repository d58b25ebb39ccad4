/** Records what happened when, for the history of a problem. A process runs one soak. */

const entries: { readonly atMs: number; readonly text: string }[] = []
const maxEntries = 100_000
/** An authorization is valid for almost four minutes. */
const validMs = 240_000
const maxLines = 80
const paymentId = /(?<![A-Z2-7])(?:upto-)?[A-Z2-7]{52}(?![A-Z2-7])/g

export function note(text: string): void {
  if (entries.length < maxEntries) entries.push({ atMs: Date.now(), text: text.slice(0, 300) })
}

/** Returns the ids of payments in a text. */
export const idsIn = (text: string): string[] => text.match(paymentId) ?? []

/** Returns what happened to a payment, and everything else that happened while it was valid, each text once. */
export function linesOf(id: string): string[] {
  const firstMs = entries.find(({ text }) => text.includes(id))?.atMs ?? Number.POSITIVE_INFINITY
  const lines = entries.filter(({ atMs, text }) => {
    const isNear = atMs >= firstMs - 5_000 && atMs <= firstMs + validMs
    return text.includes(id) || (isNear && idsIn(text).length === 0)
  })
  const merged = new Map<string, { readonly atMs: number; times: number }>()
  for (const { atMs, text } of lines) {
    const known = merged.get(text)
    if (known === undefined) merged.set(text, { atMs, times: 1 })
    else known.times++
  }
  const described = [...merged].map(([text, { atMs, times }]) => {
    return `${new Date(atMs).toISOString()} ${text}${times > 1 ? `, ${times} times` : ''}`
  })
  return described.slice(0, maxLines)
}
