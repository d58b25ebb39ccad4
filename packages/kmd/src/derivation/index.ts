export type { Derivation } from './Job.js'
export { CeilingError, ParametersError } from './Parameters.js'
export { ClosedError, type Options, QueueFullError, ScryptPool, WorkerError } from './ScryptPool.js'
