import { OptionsError } from '../errors.js'
import type { Gate } from './Gate.js'

/**
 * A promise of a gate would fail with every request.
 *
 * @throws OptionsError
 */
export function checkGate(gate: Gate): void {
  if (typeof gate?.decide === 'function') return
  throw new OptionsError('gate is not a gate', 'Pass what `await Gate.open(...)` returns.')
}
