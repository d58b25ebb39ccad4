import { LatchkeyError } from '@latchkey/algorand'

/** A literal next to its class, so that browser bundles do not contain the whole registry. */
export const hint = 'correct the member that the message names'

/** The rules of an agent are not valid. */
export class RulesError extends LatchkeyError<'invalid_rules'> {
  override name = 'RulesError'
  /** The invalid member, such as `rules.limits[0].amount`. */
  readonly path: string

  constructor(path: string, message: string) {
    super('invalid_rules', message, { hint })
    this.path = path
  }
}

/** Throws an error that names the invalid member and states what it must be. */
export function fail(path: string, problem: string): never {
  throw new RulesError(path, `${path} ${problem}`)
}
