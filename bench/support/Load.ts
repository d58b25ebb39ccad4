/** Controls the load generator from the main thread: one measurement at a time, on a separate thread. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

export type Assignment = {
  port: number
  /** Full requests, sent one after another. */
  requests: Uint8Array[]
  connections: number
  windowMs: number
  /** Ends when all requests have been sent instead of when the window ends. */
  once?: boolean
  /** Ends with the window, or earlier when all requests have been sent, because none can be sent again. */
  unrepeatable?: boolean
}

export type Outcome = { requests: number; perSecond: number; p50Ms: number; p99Ms: number }

export class Load {
  readonly #worker = new Worker(new URL('./loadWorker.js', import.meta.url))

  async run(assignment: Assignment): Promise<Outcome> {
    this.#worker.postMessage(assignment)
    const [response] = (await once(this.#worker, 'message')) as [Outcome | { error: string }]
    if ('error' in response) throw new Error(response.error)
    return response
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }
}
