/** A gate as it is mounted in an app. */
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

const passed = new WeakMap<object, Map<Gate, string>>()

/**
 * Whether the request has already paid at the gate, for the same method and path. A gate that is mounted twice, for an
 * app and for its route, takes one payment.
 */
export function hasPassed(request: object, gate: Gate, target: string): boolean {
  return passed.get(request)?.get(gate) === target
}

export function notePassed(request: object, gate: Gate, target: string): void {
  const gates = passed.get(request) ?? new Map<Gate, string>()
  passed.set(request, gates.set(gate, target))
}
