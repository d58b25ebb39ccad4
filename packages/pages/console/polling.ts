/** Repeats work at an interval while the page is visible and in use. */
import { useEffect, useRef } from 'preact/hooks'
import { isInUse } from './activity.js'

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
