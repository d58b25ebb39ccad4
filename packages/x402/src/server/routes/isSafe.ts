import { overridesOf } from './methodOverrides.js'

/** Whether the method is safe, as well as every method that a program behind the gate may use instead. */
export function isSafe(request: Request): boolean {
  return [request.method, ...overridesOf(request)].every((method) => /^(GET|HEAD)$/i.test(method))
}
