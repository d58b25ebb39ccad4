/** Runs the thread that loads a daemon, and nothing else. Every response must be 200, or the measurement fails. */
import { parentPort } from 'node:worker_threads'
import { Connection } from './Connection.js'
import type { Assignment, Outcome } from './Load.js'
import { percentile } from './Statistics.js'

/** The longest that one response may take after the window has closed. */
const graceMs = 30_000

async function run(assignment: Assignment): Promise<Outcome> {
  const { port, requests, connections, windowMs, once = false, unrepeatable = false } = assignment
  const open = () => Connection.open(port, { keepBody: false })
  const opened = await Promise.all(Array.from({ length: connections }, open))
  const latenciesMs: number[] = []
  let next = 0
  let timer: NodeJS.Timeout | undefined
  const startedAt = performance.now()
  const endsAt = startedAt + windowMs
  let lastResponseAt = startedAt

  const isLeft = (): boolean => next < requests.length || !(once || unrepeatable)

  /**
   * Sends requests one after another until the window closes. The request in progress then still counts, with its time.
   */
  const drive = (connection: Connection): Promise<void> =>
    new Promise((resolve, fail) => {
      let sentAt = 0
      const send = (): void => {
        sentAt = performance.now()
        connection.send(requests[next++ % requests.length]!, { done, fail })
      }
      const done = (status: number): void => {
        lastResponseAt = performance.now()
        latenciesMs.push(lastResponseAt - sentAt)
        if (status !== 200) fail(new Error(`status ${status} under load`))
        else if (isLeft() && (once || lastResponseAt < endsAt)) send()
        else resolve()
      }
      send()
    })

  try {
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no response under load')), windowMs + graceMs)
    })
    await Promise.race([Promise.all(opened.map(drive)), late])
  } finally {
    clearTimeout(timer)
    for (const connection of opened) connection.close()
  }
  latenciesMs.sort((a, b) => a - b)
  return {
    requests: latenciesMs.length,
    perSecond: (latenciesMs.length * 1000) / (lastResponseAt - startedAt),
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
  }
}

parentPort!.on('message', (assignment: Assignment) => {
  run(assignment).then(
    (outcome) => parentPort!.postMessage(outcome),
    (error: Error) => parentPort!.postMessage({ error: error.message }),
  )
})
