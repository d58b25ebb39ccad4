/** The operations of the daemon's API, as `@latchkey/kmd-api` describes them. */
import type { Json } from '@latchkey/algorand'
import {
  type Descriptions,
  descriptionPath,
  descriptions,
  type Member,
  type OperationId,
  type ResponseOf,
} from '@latchkey/kmd-api'

export type Route = {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  /** Whether repeating the operation has an additional effect. */
  readonly once?: boolean
  /** Absent for a document, which is not read. */
  readonly response?: readonly Member[]
}

/** An operation of the daemon, or the document that describes them all. */
export type Operation = OperationId | 'SwaggerHandler'

/** The name of a member of an operation's request. */
export type RequestName<Id extends Operation> = Id extends OperationId
  ? Descriptions[Id]['request'][number]['name']
  : never

/** An operation's response, with names in camel case. */
export type ResponseTo<Id extends Operation> = Id extends OperationId
  ? ResponseOf<Descriptions[Id]['response']>
  : Json.Members

export const routes: { readonly [Id in Operation]: Route } = {
  ...descriptions,
  SwaggerHandler: { method: 'GET', path: descriptionPath },
}

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
