import type { Gate } from '../gate/Gate.js'
import type { GateOptions } from '../gate/GateOptions.js'

/** Whether these are the options of a gate that is not open yet. */
export function isGateOptions(value: Gate | GateOptions | unknown): value is GateOptions {
  if (typeof value !== 'object' || value === null || 'decide' in value) return false
  return 'routes' in value || 'facilitators' in value || 'payTo' in value
}
