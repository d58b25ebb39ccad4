/** Detects whether a person uses the page. Only trusted events count, which scripts cannot fake. */

/** Polling stops after this long without input, so that an unused session reaches its own timeout in the daemon. */
const idleMs = 10 * 60_000
let lastInputMs = Date.now()
const listeners = new Set<() => void>()

function onEvent(event: Event): void {
  if (!event.isTrusted || document.visibilityState !== 'visible') return
  lastInputMs = Date.now()
  for (const listener of listeners) listener()
}

for (const type of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart', 'focus'])
  addEventListener(type, onEvent, { capture: true, passive: true })

export function isInUse(): boolean {
  return document.visibilityState === 'visible' && Date.now() - lastInputMs < idleMs
}

/** Calls `listener` on input while the page is visible. Returns a function that stops it. */
export function onInput(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
