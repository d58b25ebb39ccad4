/**
 * Loads the package that runs programs when the first program is used: it takes longer to load than everything else, and
 * payments do not need it.
 */
import { DevnetError } from '../../errors.js'

/** The package `@latchkey/avm`. */
type Avm = typeof import('@latchkey/avm')

let loaded: Avm | undefined

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

/** Whether an action failed because the package has not been loaded. */
export function isNotLoaded(error: unknown): boolean {
  return error instanceof DevnetError && error.code === 'programs_not_loaded'
}

/** Performs an action. If it needs the package, loads the package and performs the action again. */
export function withPrograms<T>(action: () => T | Promise<T>): T | Promise<T> {
  try {
    return action()
  } catch (error) {
    if (!isNotLoaded(error)) throw error
    return load().then(action)
  }
}
