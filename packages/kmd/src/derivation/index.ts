export { CeilingError, ParametersError } from './Parameters.js'
export { ClosedError, type Derivation, type Options, QueueFullError, ScryptPool, WorkerError } from './ScryptPool.js'
