import { pbkdf2Sync } from 'node:crypto'
import * as Parameters from './Parameters.js'
import * as Romix from './Romix.js'
import type { Assignment } from './worker.js'

export type Derivation = Parameters.Parameters & {
  password: Uint8Array
  salt: Uint8Array
  keyLength: number
}

/** A queued or running derivation. */
export type Job = {
  /** Password and salt are our copies. */
  derivation: Derivation
  resolve: (key: Buffer) => void
  reject: (error: Error) => void
  /** The maximum number of workers, and the number of lanes that each interleaves. */
  maximumWorkers: number
  width: number
  /** The current number of workers. */
  workers: number
  /** Undefined until the first worker starts on it. */
  assignment: Assignment | undefined
  startedMs: number
  lanesMixed: number
}

export function create(
  options: Pick<Job, 'derivation' | 'resolve' | 'reject'> & { workers: number; laneMemoryBytes: number },
): Job {
  const { derivation, resolve, reject } = options
  return {
    derivation: {
      ...derivation,
      password: Uint8Array.from(derivation.password),
      salt: Uint8Array.from(derivation.salt),
    },
    resolve,
    reject,
    ...shareOut(derivation, options.workers, options.laneMemoryBytes),
    workers: 0,
    assignment: undefined,
    startedMs: 0,
    lanesMixed: 0,
  }
}

/** Uses as many cores as there is memory for, and the remaining memory to interleave lanes on each. */
function shareOut(parameters: Parameters.Parameters, workers: number, laneMemoryBytes: number) {
  const lanesInMemory = Math.max(1, Math.floor(laneMemoryBytes / Parameters.laneBytes(parameters)))
  const maximumWorkers = Math.min(workers, lanesInMemory, parameters.p)
  const width = Math.min(
    Romix.maximumWidth,
    Math.floor(lanesInMemory / maximumWorkers),
    Math.ceil(parameters.p / maximumWorkers),
  )
  return { maximumWorkers, width }
}

export function wantsWorker({ workers, maximumWorkers, assignment }: Job): boolean {
  if (workers >= maximumWorkers) return false
  return assignment === undefined || Atomics.load(assignment.nextLane, 0) < assignment.p
}

/** Assigns a worker. The first half of scrypt is deferred until then, so that a long queue holds no blocks. */
export function assign(job: Job): Assignment {
  job.workers += 1
  job.assignment ??= begin(job)
  return job.assignment
}

function begin(job: Job): Assignment {
  const { password, salt, n, r, p } = job.derivation
  const input = pbkdf2(password, salt, Parameters.inputBytes(job.derivation))
  const blocks = new Uint8Array(new SharedArrayBuffer(input.length))
  blocks.set(input)
  input.fill(0)
  job.startedMs = performance.now()
  return { blocks, nextLane: new Int32Array(new SharedArrayBuffer(4)), n, r, p, width: job.width }
}

/** The second half of scrypt, once every lane is mixed. */
export function finish(job: Job): Buffer {
  const { password, keyLength } = job.derivation
  return pbkdf2(password, job.assignment!.blocks, keyLength)
}

/** Leaves no lanes for its workers, which still finish their current ones. */
export function abandon({ assignment }: Job): void {
  if (assignment !== undefined) Atomics.store(assignment.nextLane, 0, assignment.p)
}

export function wipe({ derivation, assignment }: Job): void {
  derivation.password.fill(0)
  derivation.salt.fill(0)
  assignment?.blocks.fill(0)
}

/** Derives on this thread, for a derivation so small that starting a worker would take longer. */
export function deriveInline(derivation: Derivation, romix: Romix.Romix): Buffer {
  const { password, salt, n, r, keyLength } = derivation
  const blocks = pbkdf2(password, salt, Parameters.inputBytes(derivation))
  romix.mix({ blocks, n, r, width: Romix.maximumWidth })
  const key = pbkdf2(password, blocks, keyLength)
  blocks.fill(0)
  romix.wipe()
  return key
}

/** PBKDF2-HMAC-SHA256 with one iteration, as used by scrypt. */
function pbkdf2(password: Uint8Array, salt: Uint8Array, length: number): Buffer {
  return pbkdf2Sync(password, salt, 1, length, 'sha256')
}
