/** Observes application calls, for simulations. Without an observer, evaluation does no extra work. */
import type { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Tracer } from '../evaluator/run.js'
import type { Value } from '../evaluator/Value.js'
import type { ByteKey } from './ByteKey.js'
import type { Call } from './Call.js'
import type { CallGroup } from './CallGroup.js'
import type { Effects } from './Effects.js'

/** A place in the state of applications. */
export type StatePlace =
  | { readonly kind: 'global'; readonly appId: bigint; readonly key: ByteKey }
  | { readonly kind: 'local'; readonly appId: bigint; readonly key: ByteKey; readonly account: ByteKey }
  | { readonly kind: 'box'; readonly appId: bigint; readonly key: ByteKey }

/**
 * Hooks around programs, instructions and inner transactions. Hooks must not change their arguments. Calls are nested:
 * an inner group begins and ends between `beforeInstruction` and `afterInstruction` of its `itxn_submit`.
 */
export type Observer = Tracer & {
  /** Called before an approval or clear state program. `call.machine` runs it. */
  readonly beforeProgram?: (call: Call) => void
  /** Called after a program, with the error if it failed. A rejection has no error. */
  readonly afterProgram?: (call: Call, isAccepted: boolean, error: EvaluationError | undefined) => void
  readonly beforeInnerGroup?: (group: CallGroup) => void
  readonly afterInnerGroup?: (group: CallGroup, error: unknown) => void
  readonly beforeInnerTransaction?: (group: CallGroup, index: number) => void
  readonly afterInnerTransaction?: (group: CallGroup, index: number, effects: Effects, error: unknown) => void
  /** Called before a value is read or changed, with its value. */
  readonly onStateAccess?: (place: StatePlace, value: Value | undefined) => void
  /** Called after a value was changed, with the new value, or undefined if it was deleted. */
  readonly onStateChange?: (place: StatePlace, value: Value | undefined) => void
}
