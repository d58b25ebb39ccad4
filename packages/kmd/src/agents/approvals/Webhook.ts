/**
 * Notifies the owner's program about approvals with a signed POST for each change. Failed deliveries are retried until
 * the approval has expired. The owner can always decide in the console or on the command line.
 *
 * Each approval has one delivery at a time, with its latest state, so a receiver never gets an older state after a
 * newer one. A receiver may get the same state twice, for example after a lost response or a restart.
 */
import { createHmac } from 'node:crypto'
import { TimeLimit } from '@latchkey/algorand'
import type { Approval } from './Approval.js'

export type WebhookOptions = {
  /** A URL that {@link isPrivate} accepts. */
  url: string
  /** The key that signs the bodies. */
  secret: Uint8Array
  /** Returns the approval as shown by the API. */
  body: (approval: Approval) => object
  /** Called once for each abandoned delivery. */
  onFailure?: (message: string) => void
  /** Milliseconds since 1970. */
  now?: () => number
  /** The time limit for the receiver's response. @default 10000 */
  timeoutMs?: number
  fetch?: typeof fetch
}

/** The header with a body's time and signature. */
export const signatureHeader = 'Latchkey-Signature'

const usualTimeoutMs = 10_000
const firstRetryMs = 1_000
const longestRetryMs = 60_000
const maxWaiting = 1_000
const maxConcurrent = 4

/** The due time uses the monotonic clock, so setting the clock back delays nothing. */
type Delivery = { readonly approval: Approval; readonly attempt: number; readonly dueAtMs: number }

export class Webhook {
  readonly #options: WebhookOptions
  readonly #now: () => number
  readonly #abort = new AbortController()
  /** By approval id, oldest first. */
  readonly #waiting = new Map<string, Delivery>()
  readonly #running = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: WebhookOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
  }

  /** Queues a delivery and replaces one with an older state. Drops the oldest delivery if too many are waiting. */
  send(approval: Approval): void {
    if (this.#abort.signal.aborted) return
    this.#waiting.delete(approval.id)
    const [oldest] = this.#waiting.values()
    if (oldest !== undefined && this.#waiting.size >= maxWaiting) {
      this.#waiting.delete(oldest.approval.id)
      this.#giveUp(oldest, 'too many deliveries are waiting')
    }
    this.#waiting.set(approval.id, { approval, attempt: 1, dueAtMs: performance.now() })
    this.#run()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#waiting.clear()
    this.#abort.abort()
  }

  #run(): void {
    clearTimeout(this.#timer)
    let next = Number.POSITIVE_INFINITY
    for (const [id, delivery] of this.#waiting) {
      if (this.#running.size >= maxConcurrent) return
      if (this.#running.has(id)) continue
      if (delivery.dueAtMs > performance.now()) next = Math.min(next, delivery.dueAtMs)
      else this.#start(delivery)
    }
    if (next === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(() => this.#run(), Math.max(1, next - performance.now())).unref()
  }

  #start(delivery: Delivery): void {
    const { id } = delivery.approval
    this.#waiting.delete(id)
    this.#running.add(id)
    void this.#deliver(delivery).finally(() => {
      this.#running.delete(id)
      this.#run()
    })
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const problem = await this.#post(delivery).catch((error: unknown) => reasonOf(error))
    if (problem === undefined || this.#abort.signal.aborted) return
    const { approval, attempt } = delivery
    // A newer state is queued instead.
    if (this.#waiting.has(approval.id)) return
    const delayMs = Math.min(longestRetryMs, firstRetryMs * 2 ** (attempt - 1))
    if (this.#now() + delayMs > approval.expiresAtMs) this.#giveUp(delivery, problem)
    else this.#waiting.set(approval.id, { approval, attempt: attempt + 1, dueAtMs: performance.now() + delayMs })
  }

  /**
   * Returns the problem, if any. Every status except 2xx is a failure, including redirects: the body is for this URL
   * only.
   */
  async #post({ approval }: Delivery): Promise<string | undefined> {
    const { url, secret, body, timeoutMs = usualTimeoutMs, fetch: send = fetch } = this.#options
    const text = JSON.stringify({ type: `approval.${approval.state}`, approval: body(approval) })
    const response = await send(url, {
      method: 'POST',
      redirect: 'error',
      headers: { 'Content-Type': 'application/json', [signatureHeader]: sign(text, secret, this.#now()) },
      body: text,
      signal: TimeLimit.signal(timeoutMs, this.#abort.signal),
    })
    // Nothing of the response body is read, regardless of its size.
    await response.body?.cancel()
    return response.ok ? undefined : `it returned status ${response.status}`
  }

  #giveUp({ approval: { id, state } }: Delivery, problem: string): void {
    this.#options.onFailure?.(`approval ${id} (${state}) was not delivered to the webhook: ${problem}`)
  }
}

/**
 * `t=SECONDS,v1=HEX`: HMAC-SHA256 over the time, a dot and the body. The time lets a receiver reject a replayed body.
 */
export function sign(body: string, secret: Uint8Array, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000)
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`
}

/** Whether a body cannot be read in transit to the URL. */
export function isPrivate(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:') return url?.protocol === 'https:'
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  return cause instanceof Error ? cause.message : message
}
