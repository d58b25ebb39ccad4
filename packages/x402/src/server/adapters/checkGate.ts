import { OptionsError } from '../../errors.js'
import type { Gate } from '../gate/Gate.js'

/**
 * Rejects a promise of a gate, which would fail with every request.
 *
 * @throws OptionsError
 */
export function checkGate(gate: Gate): void {
  if (typeof gate?.decide === 'function') return
  throw new OptionsError('gate is not a Gate', 'Pass the gate that `await Gate.open(...)` returned.')
}
