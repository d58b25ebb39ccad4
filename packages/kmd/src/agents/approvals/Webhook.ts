/**
 * Tells a program of the owner about approvals: a POST with a signed body for each that is asked for or decided. What cannot
 * be delivered is tried again until the approval has expired; the owner can always decide in the console or on the command line.
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
  fetch?: typeof fetch
}

/** The header with the time and the signature of a body. */
export const signatureHeader = 'Latchkey-Signature'

const timeoutMs = 10_000
const firstRetryMs = 1_000
const longestRetryMs = 60_000
const maxWaiting = 1_000
const maxConcurrent = 4

type Delivery = { approval: Approval; attempt: number; atMs: number }

export class Webhook {
  readonly #options: WebhookOptions
  readonly #now: () => number
  readonly #abort = new AbortController()
  #waiting: Delivery[] = []
  #running = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: WebhookOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
  }

  /** Queues a delivery. The oldest is dropped if too many wait. */
  send(approval: Approval): void {
    if (this.#abort.signal.aborted) return
    if (this.#waiting.length >= maxWaiting) this.#giveUp(this.#waiting.shift()!, 'too many deliveries wait')
    this.#waiting.push({ approval, attempt: 1, atMs: this.#now() })
    this.#run()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#waiting = []
    this.#abort.abort()
  }

  #run(): void {
    clearTimeout(this.#timer)
    while (this.#running < maxConcurrent) {
      const index = this.#waiting.findIndex(({ atMs }) => atMs <= this.#now())
      if (index < 0) break
      const [delivery] = this.#waiting.splice(index, 1)
      this.#running++
      void this.#deliver(delivery!).finally(() => {
        this.#running--
        this.#run()
      })
    }
    const next = Math.min(...this.#waiting.map(({ atMs }) => atMs))
    if (!Number.isFinite(next) || this.#running >= maxConcurrent) return
    this.#timer = setTimeout(() => this.#run(), Math.max(1, next - this.#now())).unref()
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const problem = await this.#post(delivery).catch((error: unknown) => reasonOf(error))
    if (problem === undefined || this.#abort.signal.aborted) return
    const delayMs = Math.min(longestRetryMs, firstRetryMs * 2 ** (delivery.attempt - 1))
    const atMs = this.#now() + delayMs
    if (atMs > delivery.approval.expiresAtMs) this.#giveUp(delivery, problem)
    else this.#waiting.push({ ...delivery, attempt: delivery.attempt + 1, atMs })
  }

  /** Returns what went wrong. Every answer but 2xx is a failure, a redirect too: the body is for this address only. */
  async #post({ approval }: Delivery): Promise<string | undefined> {
    const { url, secret, body, fetch: send = fetch } = this.#options
    const text = JSON.stringify({ type: `approval.${approval.state}`, approval: body(approval) })
    const response = await send(url, {
      method: 'POST',
      redirect: 'error',
      headers: { 'Content-Type': 'application/json', [signatureHeader]: sign(text, secret, this.#now()) },
      body: text,
      signal: AbortSignal.any([this.#abort.signal, AbortSignal.timeout(timeoutMs)]),
    })
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

/** Whether nobody can read a body on its way to the address. */
export function isPrivate(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:') return url?.protocol === 'https:'
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error
  return cause instanceof Error ? cause.message : message
}
