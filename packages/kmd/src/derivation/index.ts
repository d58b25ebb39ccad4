export type { Derivation } from './Job.js'
export { type Options, ScryptPool } from './ScryptPool.js'
