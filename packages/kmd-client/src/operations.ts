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

/**
 * Whether an operation reads or signs, so that it may be done again if its response was lost. Others change something, and fail the second time
 * or count a wrong password twice.
 */
export function isRepeatable(operation: Operation): boolean {
  const { method, once = false }: Route = routes[operation]
  return (
    !once &&
    (method === 'GET' || /^(?:Get|List|Show|Find|Search|Describe|Simulate|Test|Verify|Wait|Watch|Sign)/.test(operation))
  )
}

/** Whether the Go daemon does not have the operation. */
export function isLatchkeyOnly(operation: Operation): boolean {
  return routes[operation].path.startsWith('/latchkey/')
}
