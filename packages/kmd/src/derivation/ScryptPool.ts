import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { KmdError } from '../errors.js'
import * as Job from './Job.js'
import * as Parameters from './Parameters.js'
import * as Romix from './Romix.js'
import type { Finished } from './worker.js'

export type Options = {
  /** The maximum number of threads. All of them work on the same derivation. */
  workers?: number
  /** The maximum number of pending derivations, including running ones. */
  queueLimit?: number
  /** How long idle threads, and the memory of their lanes, are kept. */
  idleMs?: number
  /** Memory for the lanes of one derivation, over all workers. More is faster, up to four lanes per worker. */
  laneMemoryBytes?: number
  /** Called when a thread has started. */
  onWorkerStart?: () => void
}

/** A lane of a default wallet takes 8 MiB. This is enough for two workers to interleave two lanes each. */
const defaultLaneMemoryBytes = 32 * 1024 * 1024

/** Up to this work, a derivation takes a few milliseconds at most, and a worker takes longer to start. */
const inlineWork = 4096

/** A default wallet on a slow machine, for the first estimate. */
const initialPace = { work: 2 ** 21, ms: 500 }

/** A worker holds little JavaScript, because its lanes are outside the heap. The limits contain any fault. */
const resourceLimits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }

/**
 * Runs scrypt on worker threads, first come, first served. Node's scrypt rejects the parameters of a default wallet,
 * and a library's would use one core: here, the p lanes of one derivation are spread over all workers.
 */
export class ScryptPool {
  readonly #workers: number
  readonly #queueLimit: number
  readonly #idleMs: number
  readonly #laneMemoryBytes: number
  readonly #onWorkerStart: (() => void) | undefined
  readonly #seats = new Set<Seat>()
  /** Pending derivations in order of arrival. */
  readonly #jobs = new Set<Job.Job>()
  #module: Romix.CompiledModule | undefined
  #inline: Romix.Romix | undefined
  #idle: NodeJS.Timeout | undefined
  /** A decaying mean over the last derivations. */
  #pace = initialPace
  #closed = false

  constructor(options: Options = {}) {
    this.#workers = atLeastOne('workers', options.workers ?? Math.min(8, availableParallelism()))
    this.#queueLimit = atLeastOne('queueLimit', options.queueLimit ?? 128)
    this.#idleMs = options.idleMs ?? 30_000
    this.#laneMemoryBytes = options.laneMemoryBytes ?? defaultLaneMemoryBytes
    this.#onWorkerStart = options.onWorkerStart
  }

  /**
   * Derives a key. Does not keep or change the password and salt: the caller may wipe them as soon as this returns.
   *
   * @throws {@link KmdError} `bad_scrypt_parameters`, `scrypt_ceiling`, `derivation_busy`, `stopping`, or `internal` if
   * a worker thread fails.
   */
  async derive(derivation: Job.Derivation): Promise<Buffer> {
    Parameters.check(derivation)
    if (this.#closed) throw new KmdError('stopping')
    this.#module ??= Romix.compile()
    if (Parameters.work(derivation) <= inlineWork) {
      this.#inline ??= Romix.instantiate(this.#module)
      return Job.deriveInline(derivation, this.#inline)
    }
    if (this.#jobs.size >= this.#queueLimit) {
      throw new KmdError('derivation_busy', { retryAfterSeconds: this.#secondsUntilIdle() })
    }
    return await new Promise((resolve, reject) => {
      const share = { workers: this.#workers, laneMemoryBytes: this.#laneMemoryBytes }
      this.#jobs.add(Job.create({ derivation, resolve, reject, ...share }))
      this.#dispatch()
    })
  }

  /** Stops every thread and rejects pending derivations. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#idle)
    for (const job of this.#jobs) this.#fail(job, new KmdError('stopping'))
    await this.#stopWorkers()
  }

  /** Assigns every free worker to the first derivation that has a lane for it, and starts missing workers. */
  #dispatch(): void {
    clearTimeout(this.#idle)
    for (const job of this.#jobs) {
      for (const seat of this.#seats) {
        if (seat.job === undefined && Job.wantsWorker(job)) assign(seat, job)
      }
      while (this.#seats.size < this.#workers && Job.wantsWorker(job)) {
        const seat = this.#startWorker(job)
        if (seat === undefined) break
        assign(seat, job)
      }
    }
    if (this.#jobs.size === 0 && !this.#closed) {
      this.#idle = setTimeout(() => this.#stopWorkers(), this.#idleMs).unref()
    }
  }

  #startWorker(job: Job.Job): Seat | undefined {
    let worker: Worker
    try {
      worker = startThread(this.#module)
    } catch (error) {
      // The system may allow no more threads. Running threads will take the job; if there are none, it fails.
      if (this.#seats.size === 0) this.#fail(job, workerFailed('cannot start a key derivation worker', error))
      return undefined
    }
    const seat: Seat = { worker, job: undefined }
    let cause: unknown
    worker.on('online', () => this.#onWorkerStart?.())
    worker.on('message', (finished: Finished) => this.#finished(seat, finished))
    worker.on('error', (error) => {
      cause = error
    })
    worker.on('exit', (code) => {
      this.#lost(seat, workerFailed(`a key derivation worker stopped unexpectedly (exit code ${code})`, cause))
    })
    this.#seats.add(seat)
    return seat
  }

  #finished(seat: Seat, { lanes }: Finished): void {
    // The worker is being stopped. Releasing it now would let the process end before the thread has.
    if (!this.#seats.has(seat)) return
    const job = this.#release(seat)
    if (job !== undefined) {
      job.lanesMixed += lanes
      // A worker that was too late to find a lane reports after the derivation is complete.
      if (job.lanesMixed === job.derivation.p && this.#jobs.has(job)) this.#complete(job)
    }
    this.#dispatch()
  }

  #complete(job: Job.Job): void {
    this.#jobs.delete(job)
    this.#pace = {
      work: (this.#pace.work + Parameters.work(job.derivation)) / 2,
      ms: (this.#pace.ms + performance.now() - job.startedMs) / 2,
    }
    const key = Job.finish(job)
    Job.wipe(job)
    job.resolve(key)
  }

  /** A worker ended without being stopped. Its derivation fails; the next one gets a new worker. */
  #lost(seat: Seat, error: KmdError): void {
    if (!this.#seats.delete(seat)) return
    const job = this.#release(seat)
    if (job !== undefined) this.#fail(job, error)
    this.#dispatch()
  }

  #fail(job: Job.Job, error: Error): void {
    if (!this.#jobs.delete(job)) return
    Job.abandon(job)
    if (job.workers === 0) Job.wipe(job)
    job.reject(error)
  }

  async #stopWorkers(): Promise<void> {
    const seats = [...this.#seats]
    this.#seats.clear()
    await Promise.all(seats.map((seat) => seat.worker.terminate()))
    for (const seat of seats) this.#release(seat)
  }

  /** Takes the worker off its derivation. A failed derivation is wiped when its last worker has left. */
  #release(seat: Seat): Job.Job | undefined {
    const { job } = seat
    seat.job = undefined
    seat.worker.unref()
    if (job === undefined) return undefined
    job.workers -= 1
    if (job.workers === 0 && !this.#jobs.has(job)) Job.wipe(job)
    return job
  }

  #secondsUntilIdle(): number {
    const work = [...this.#jobs].reduce((sum, job) => sum + Parameters.work(job.derivation), 0)
    return Math.max(1, Math.ceil(((work / this.#pace.work) * this.#pace.ms) / 1000))
  }
}

type Seat = {
  worker: Worker
  job: Job.Job | undefined
}

function assign(seat: Seat, job: Job.Job): void {
  seat.job = job
  // Like any pending operation, a derivation keeps the process alive. An idle worker does not.
  seat.worker.ref()
  seat.worker.postMessage(Job.assign(job))
}

function startThread(module: Romix.CompiledModule | undefined): Worker {
  return new Worker(new URL('./worker.js', import.meta.url), {
    workerData: module,
    resourceLimits,
    // The flags of the main program, and above all its preloaded modules, are not for this thread.
    execArgv: [],
  })
}

function atLeastOne(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new RangeError(`${name} must be a positive integer, not ${value}`)
}

const outOfMemory =
  'there is not enough memory to derive a key from a password: free memory, or raise the process limit (ulimit -v)'

function workerFailed(message: string, cause: unknown): KmdError {
  if (isOutOfMemory(cause)) return new KmdError('internal', { message: outOfMemory, cause })
  return new KmdError('internal', { cause: new Error(message, { cause }) })
}

/** Node and V8 report it in several ways. On a working machine, a worker that cannot even start has no other reason. */
function isOutOfMemory(cause: unknown): boolean {
  const { code, message } = (cause ?? {}) as { code?: unknown; message?: unknown }
  if (code === 'ERR_WORKER_OUT_OF_MEMORY' || code === 'ERR_WORKER_INIT_FAILED') return true
  return /allocate memory|allocation failed|out of memory/i.test(String(message))
}
