/**
 * Remembers which gates a request has paid at. A gate that is mounted twice, for an app and for its route, takes one
 * payment.
 */
import type { Gate } from '../gate/Gate.js'

const passed = new WeakMap<object, Map<Gate, string>>()

/** Whether the request has passed the gate for the same method and path. */
export function hasPassed(request: object, gate: Gate, target: string): boolean {
  return passed.get(request)?.get(gate) === target
}

export function notePassed(request: object, gate: Gate, target: string): void {
  const gates = passed.get(request) ?? new Map<Gate, string>()
  passed.set(request, gates.set(gate, target))
}
