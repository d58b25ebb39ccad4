/** A running facilitator, and how it stops without losing accepted work. */
import type { Server } from '@latchkey/http'
import type { Facilitator } from '@latchkey/x402/facilitator'
import type { Option } from '../Command.js'
import { readNumber } from '../Command.js'
import { UsageError } from '../errors.js'

export const drainOptions = {
  'drain-delay': {
    type: 'string',
    placeholder: 'SECONDS',
    description:
      'how long to accept payments after SIGTERM, while /readyz reports not ready (5 with a shared database, else 0)',
  },
  'drain-timeout': {
    type: 'string',
    placeholder: 'SECONDS',
    description:
      'maximum time from SIGTERM to exit, including the delay (25); other replicas continue open settlements',
  },
} as const satisfies { [name: string]: Option }

export type DrainTimes = { readonly delayMs: number; readonly timeoutMs: number }

type Values = { readonly 'drain-delay'?: string | undefined; readonly 'drain-timeout'?: string | undefined }

/**
 * Time for load balancers to notice: the kubelet and nginx probe every few seconds, or are notified and need a moment.
 */
const sharedDelaySeconds = 5
/** Kubernetes kills after 30 seconds by default. */
const timeoutSeconds = 25
const maxSeconds = 3_600
/** The share of the time for the last responses and the database. */
const lastShare = 0.1
const maxLastMs = 2_000

/** @throws UsageError if the delay leaves no time for running requests */
export function drainTimesFrom(given: Values, isShared: boolean): DrainTimes {
  const delay = readNumber('--drain-delay', given['drain-delay'], 0, maxSeconds)
  const timeout = readNumber('--drain-timeout', given['drain-timeout'], 1, maxSeconds) ?? timeoutSeconds
  // A single process has no other to take over its payments, so a delay would only slow down the restart.
  const chosen = delay ?? (isShared ? Math.min(sharedDelaySeconds, timeout - 1) : 0)
  if (chosen >= timeout) {
    throw new UsageError(`--drain-delay ${chosen} leaves no time before --drain-timeout ${timeout}`, {
      code: 'invalid_value',
    })
  }
  return { delayMs: chosen * 1000, timeoutMs: timeout * 1000 }
}

export type RunningOptions = {
  readonly url: string
  readonly resumed: number
  readonly server: Server
  readonly facilitator: Facilitator
  readonly times: DrainTimes
  readonly onStep: (text: string) => void
}

export class RunningFacilitator {
  readonly url: string
  readonly resumed: number
  /** Whether all work finished in time. */
  readonly stopped: Promise<boolean>
  readonly #options: RunningOptions
  #resolveStopped!: (stopping: Promise<boolean>) => void
  #isStopping = false

  constructor(options: RunningOptions) {
    this.url = options.url
    this.resumed = options.resumed
    this.#options = options
    this.stopped = new Promise((resolve) => {
      this.#resolveStopped = resolve
    })
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  /** Stops the facilitator. A signal from a terminal skips the delay, because a person is waiting. */
  async stop({ isUrgent = false }: { readonly isUrgent?: boolean } = {}): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    const stopping = this.#drain(isUrgent)
    this.#resolveStopped(stopping)
    await stopping
  }

  /**
   * First reports not ready and then accepts no new connections. Calls that wait for a block get their results or are
   * told to retry. Unfinished settlements are left to others.
   */
  async #drain(isUrgent: boolean): Promise<boolean> {
    const { server, facilitator, times, onStep } = this.#options
    const startedMs = performance.now()
    const leftMs = (): number => Math.max(startedMs + times.timeoutMs - performance.now(), 0)
    facilitator.drain()
    server.drain()
    const delayMs = isUrgent ? 0 : times.delayMs
    onStep(`stopping: no longer ready${delayMs === 0 ? '' : `, accepting payments for another ${delayMs / 1000} s`}`)
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs))
    const lastMs = Math.min(times.timeoutMs * lastShare, maxLastMs)
    const closed = server.stop(Math.max(leftMs() - lastMs, 0))
    // Calls that are still waiting get `settlement_pending` as their response instead of a closed connection.
    const giveUp = setTimeout(() => void facilitator.stop().catch(() => {}), Math.max(leftMs() - 2 * lastMs, 0))
    await closed
    clearTimeout(giveUp)
    const isDone = await within(Math.max(leftMs(), lastMs), facilitator.stop())
    onStep(isDone ? 'stopped' : 'stopped before the database responded; other replicas continue when the leases expire')
    return isDone
  }
}

async function within(ms: number, work: Promise<void>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms)
  })
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
