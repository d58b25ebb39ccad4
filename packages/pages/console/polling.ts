/** Asking again and again, while somebody looks. */
import { useEffect, useRef } from 'preact/hooks'

/** Without a key or a pointer for so long, the page stops asking: a session ends when nobody uses it. */
const idleMs = 10 * 60_000
let lastInputMs = Date.now()
for (const type of ['pointerdown', 'pointermove', 'keydown', 'focus'])
  addEventListener(type, () => (lastInputMs = Date.now()), { capture: true, passive: true })

export function isWatched(): boolean {
  return document.visibilityState === 'visible' && Date.now() - lastInputMs < idleMs
}

/** At once, then `everyMs` after each answer; at once again when the page comes back into view. */
export function usePolling(work: () => Promise<unknown>, everyMs: number, inputs: readonly unknown[]): void {
  const latest = useRef(work)
  latest.current = work
  // The caller says what makes it begin anew.
  useEffect(() => {
    let isOver = false
    let isRunning = false
    let timer = 0
    const turn = async (): Promise<void> => {
      if (isRunning) return
      clearTimeout(timer)
      isRunning = true
      // A failure is shown by whoever asked; the next turn comes all the same.
      if (isWatched()) await latest.current().catch(() => {})
      isRunning = false
      if (!isOver) timer = window.setTimeout(turn, everyMs)
    }
    const onShow = (): void => {
      if (document.visibilityState === 'visible') void turn()
    }
    document.addEventListener('visibilitychange', onShow)
    void turn()
    return () => {
      isOver = true
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onShow)
    }
  }, inputs)
}

/** Drawn again every second. */
export function useSecond(draw: (count: number) => void): void {
  useEffect(() => {
    let count = 0
    const timer = window.setInterval(() => draw(++count), 1000)
    return () => clearInterval(timer)
  }, [draw])
}
