import { printProgress } from './messages.js'

const delayMs = 300

/** Shows `text` on a terminal while `work` takes longer than a moment, and clears it afterwards. */
export async function withProgress<T>(text: string, work: Promise<T>): Promise<T> {
  if (!process.stderr.isTTY) return work
  let clear: (() => void) | undefined
  const timer = setTimeout(() => {
    clear = printProgress(text)
  }, delayMs)
  try {
    return await work
  } finally {
    clearTimeout(timer)
    clear?.()
  }
}
