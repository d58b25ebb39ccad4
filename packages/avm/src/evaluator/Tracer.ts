import type { EvaluationError } from './EvaluationError.js'
import type { Machine } from './Machine.js'

/** Called around each instruction, for traces. Hooks must not change the machine. */
export type Tracer = {
  readonly beforeInstruction?: (machine: Machine) => void
  /** Called after an instruction, with the error if it failed. */
  readonly afterInstruction?: (machine: Machine, error: EvaluationError | undefined) => void
}
