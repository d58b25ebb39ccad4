/**
 * Tells a program of the owner about approvals: a POST with a signed body for each change of one. What cannot be delivered is
 * tried again until the approval has expired; the owner can always decide in the console or on the command line.
 *
 * Of one approval there is one delivery at a time, with its latest state: a receiver never gets an older state after a newer one.
 * It may get the same one twice, as after a response that was lost, or after a restart.
 */
import { createHmac } from 'node:crypto'
import type { Approval } from './Approval.js'

export type WebhookOptions = {
  /** An address that {@link isPrivate} accepts. */
  url: string
  /** Signs the bodies. */
  secret: Uint8Array
  /** The approval as the API shows it. */
  body: (approval: Approval) => object
  /** Called once for each delivery that is given up. */
  onFailure?: (message: string) => void
  /** Milliseconds since 1970. */
  now?: () => number
  /** How long a receiver may take to answer. @default 10000 */
  timeoutMs?: number
  fetch?: typeof fetch
}

/** The header with the time and the signature of a body. */
export const signatureHeader = 'Latchkey-Signature'

const usualTimeoutMs = 10_000
const firstRetryMs = 1_000
const longestRetryMs = 60_000
const maxWaiting = 1_000
const maxConcurrent = 4

/** When it is due by the monotonic clock: a clock that is set back delays nothing. */
type Delivery = { readonly approval: Approval; readonly attempt: number; readonly dueAtMs: number }

export class Webhook {
  readonly #options: WebhookOptions
  readonly #now: () => number
  readonly #abort = new AbortController()
  /** By the id of the approval, the oldest first. */
  readonly #waiting = new Map<string, Delivery>()
  readonly #running = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: WebhookOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
  }

  /** Queues a delivery, in the place of one of an older state. The oldest is dropped if too many wait. */
  send(approval: Approval): void {
    if (this.#abort.signal.aborted) return
    this.#waiting.delete(approval.id)
    const [oldest] = this.#waiting.values()
    if (oldest !== undefined && this.#waiting.size >= maxWaiting) {
      this.#waiting.delete(oldest.approval.id)
      this.#giveUp(oldest, 'too many deliveries wait')
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
    // A newer state is on its way instead.
    if (this.#waiting.has(approval.id)) return
    const delayMs = Math.min(longestRetryMs, firstRetryMs * 2 ** (attempt - 1))
    if (this.#now() + delayMs > approval.expiresAtMs) this.#giveUp(delivery, problem)
    else this.#waiting.set(approval.id, { approval, attempt: attempt + 1, dueAtMs: performance.now() + delayMs })
  }

  /** Returns what went wrong. Every answer but 2xx is a failure, a redirect too: the body is for this address only. */
  async #post({ approval }: Delivery): Promise<string | undefined> {
    const { url, secret, body, timeoutMs = usualTimeoutMs, fetch: send = fetch } = this.#options
    const text = JSON.stringify({ type: `approval.${approval.state}`, approval: body(approval) })
    const response = await send(url, {
      method: 'POST',
      redirect: 'error',
      headers: { 'Content-Type': 'application/json', [signatureHeader]: sign(text, secret, this.#now()) },
      body: text,
      signal: AbortSignal.any([this.#abort.signal, AbortSignal.timeout(timeoutMs)]),
    })
    // Nothing of what it says is read, however much that is.
    await response.body?.cancel()
    return response.ok ? undefined : `the status is ${response.status}`
  }

  #giveUp({ approval: { id, state } }: Delivery, problem: string): void {
    this.#options.onFailure?.(`approval ${id} (${state}) was not delivered to the webhook: ${problem}`)
  }
}

/**
 * `t=SECONDS,v1=HEX`: HMAC-SHA256 over the time, a dot and the body. The time lets a receiver refuse an old body that is sent
 * again.
 */
export function sign(body: string, secret: Uint8Array, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000)
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`
}

/** Whether a body cannot be read on its way to the address. */
export function isPrivate(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:') return url?.protocol === 'https:'
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  return cause instanceof Error ? cause.message : message
}
