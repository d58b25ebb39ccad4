/** The operations of the daemon's API. */
import { routes } from './operations.generated.js'

export { routes } from './operations.generated.js'

export type Route = {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** Whether repeating the operation has an additional effect. */
  readonly once?: boolean
}

export type Operation = keyof typeof routes

/**
 * Whether an operation reads or signs, so it may be repeated if its response was lost. Other operations change state: a
 * repeat fails or counts a wrong password twice.
 */
export function isRepeatable(operation: Operation): boolean {
  const { method, once = false }: Route = routes[operation]
  return (
    !once &&
    (method === 'GET' || /^(?:Get|List|Show|Find|Search|Describe|Simulate|Test|Verify|Wait|Watch|Sign)/.test(operation))
  )
}

/** Whether the operation is missing from the Go daemon. */
export function isLatchkeyOnly(operation: Operation): boolean {
  return routes[operation].path.startsWith('/latchkey/')
}
