/** Ids that nodes cannot look up: their database has signed numbers of 64 bits. */
import { EvaluationError } from '../evaluator/EvaluationError.js'

const firstLargeId = 2n ** 63n

const reason = (argument: number): string =>
  `sql: converting argument $${argument} type: uint64 values with high bit set are not supported`

/** The error of a node that looks up the holding or the local state of an account, if its id is too large. */
export function accountLookupError(id: bigint): string | undefined {
  return id < firstLargeId ? undefined : reason(2)
}

/** The error of a node that looks up the creator of an asset or application, if its id is too large. */
export function creatorLookupError(kind: 'asset' | 'application', id: bigint): string | undefined {
  if (id < firstLargeId) return undefined
  return `roundCowBase.getCreator() cidx: ${id} ctype: ${kind === 'asset' ? 0 : 1} err: ${reason(1)}`
}

/** The error of a lookup of an application that does not exist. */
export function missingApplication(appId: bigint): EvaluationError {
  return new EvaluationError(creatorLookupError('application', appId) ?? `app ${appId} does not exist`)
}
