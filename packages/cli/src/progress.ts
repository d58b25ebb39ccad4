/** Slow work says so, on a terminal and only if it is slow. */

const patienceMs = 300

export async function withProgress<T>(text: string, work: Promise<T>): Promise<T> {
  if (!process.stderr.isTTY) return work
  let isShown = false
  const timer = setTimeout(() => {
    isShown = true
    process.stderr.write(`${text}...`)
  }, patienceMs)
  try {
    return await work
  } finally {
    clearTimeout(timer)
    if (isShown) process.stderr.write(`\r${' '.repeat(text.length + 3)}\r`)
  }
}
