import { overridesOf } from './methodOverrides.js'

/** Whether the method, and every one that a program behind the gate may take it for, changes nothing. */
export function isSafe(request: Request): boolean {
  return [request.method, ...overridesOf(request)].every((method) => /^(GET|HEAD)$/i.test(method))
}
