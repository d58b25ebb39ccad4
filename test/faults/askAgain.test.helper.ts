/**
 * Sends every settlement request to each replica again once all faults are over. Each response must match the ledger.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cluster, control, urlOf } from './Cluster.test.helper.js'
import { HistoryLog } from './history.test.helper.js'

/** Concurrent requests per replica. */
const lanes = 8

export async function askAgain({ replicas, options }: Cluster): Promise<void> {
  new HistoryLog(options.directory, 'test').add({ type: 'quiet' })
  const bodies = requestsIn(options.directory)
  const ask = async (url: string): Promise<void> => {
    const left = [...bodies]
    await Promise.all(Array.from({ length: lanes }, () => askAll(url, left)))
  }
  const askAll = async (url: string, left: string[]): Promise<void> => {
    for (let body = left.pop(); body !== undefined; body = left.pop()) {
      const headers = { 'Content-Type': 'application/json' }
      await control(url, { method: 'POST', headers, body })
    }
  }
  await Promise.all(replicas.filter(({ isRunning }) => isRunning).map((replica) => ask(`${urlOf(replica)}/settle`)))
}

/** Returns the last request of each payment. */
function requestsIn(directory: string): string[] {
  const files = readdirSync(directory).filter((file) => file.endsWith('.requests.jsonl'))
  const lines = files.flatMap((file) => readFileSync(join(directory, file), 'utf8').split('\n').slice(0, -1))
  const requests = lines.map((line) => JSON.parse(line) as { transactionId: string; body: string })
  return [...new Map(requests.map(({ transactionId, body }) => [transactionId, body])).values()]
}
