/** The operations of the daemon's API. */
import { routes } from './operations.generated.js'

export { routes } from './operations.generated.js'

export type Route = {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** Doing it twice is not the same as doing it once. */
  readonly once?: boolean
}

export type Operation = keyof typeof routes

/** Whether the Go daemon does not have the operation. */
export function isLatchkeyOnly(operation: Operation): boolean {
  return routes[operation].path.startsWith('/latchkey/')
}
