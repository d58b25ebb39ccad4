/**
 * Loads the package that runs programs when the first program is used: it takes longer to load than everything else, and
 * payments do not need it.
 */
import { DevnetError } from '../../DevnetError.js'
import type { Submitted } from '../IncomingTransaction.js'

/** The package `@latchkey/avm`. */
type Avm = typeof import('@latchkey/avm')

let loaded: Avm | undefined

/** Whether a group needs the package, before it is checked in any way. */
export function isNeeded(group: readonly { readonly signed: Submitted }[]): boolean {
  return loaded === undefined && group.some(({ signed }) => signed.lsig !== undefined || signed.txn.type === 'appl')
}

/** Loads the package, once. */
export async function load(): Promise<Avm> {
  loaded ??= await import('@latchkey/avm')
  return loaded
}

/** Returns the package, which must have been loaded. */
export function get(): Avm {
  if (loaded === undefined) throw new DevnetError('programs_not_loaded', 'the evaluator of programs is not loaded')
  return loaded
}
