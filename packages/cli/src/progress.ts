const delayMs = 300

/** Shows `text` on a terminal while `work` takes longer than a moment, and clears it afterwards. */
export async function withProgress<T>(text: string, work: Promise<T>): Promise<T> {
  if (!process.stderr.isTTY) return work
  let isShown = false
  const timer = setTimeout(() => {
    isShown = true
    process.stderr.write(`${text}...`)
  }, delayMs)
  try {
    return await work
  } finally {
    clearTimeout(timer)
    if (isShown) process.stderr.write(`\r${' '.repeat(text.length + 3)}\r`)
  }
}
