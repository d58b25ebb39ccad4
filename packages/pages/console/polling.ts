/** Repeats work at an interval while the page is visible and in use. */
import { useEffect, useRef } from 'preact/hooks'

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

/** Whether a person uses the page. Only trusted events count, which scripts cannot fake. */
export function isInUse(): boolean {
  return document.visibilityState === 'visible' && Date.now() - lastInputMs < idleMs
}

/** Calls `listener` on input while the page is visible. Returns a function that stops it. */
export function onInput(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Whether `inputs` are still those of this run. The answer to an earlier run must not replace that of a later one. */
export type IsCurrent = () => boolean

/**
 * Runs `work` immediately, `everyMs` after each run ends, and when the page becomes visible. Restarts when `inputs`
 * change.
 */
export function usePolling(
  work: (isCurrent: IsCurrent) => Promise<unknown>,
  everyMs: number,
  inputs: readonly unknown[],
): void {
  const latest = useRef(work)
  latest.current = work
  useEffect(() => {
    let isStopped = false
    let isRunning = false
    let timer = 0
    const run = async (): Promise<void> => {
      if (isRunning) return
      clearTimeout(timer)
      isRunning = true
      // `work` reports its own errors; a failed run does not stop the next one.
      if (isInUse()) await latest.current(() => !isStopped).catch(() => {})
      isRunning = false
      if (!isStopped) timer = window.setTimeout(run, everyMs)
    }
    const onVisibilityChange = (): void => {
      if (document.visibilityState === 'visible') void run()
    }
    document.addEventListener('visibilitychange', onVisibilityChange)
    void run()
    return () => {
      isStopped = true
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisibilityChange)
    }
  }, inputs)
}

/** Calls `draw` every second with a growing count. */
export function useEverySecond(draw: (count: number) => void): void {
  useEffect(() => {
    let count = 0
    const timer = window.setInterval(() => draw(++count), 1000)
    return () => clearInterval(timer)
  }, [draw])
}
