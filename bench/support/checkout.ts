/** Loads the packages of another checkout of this repository. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Loads an entry point such as `@latchkey/x402/node`, found through the exports of its package. */
export async function loadEntry<T>(checkout: string, entry: string): Promise<T> {
  const name = entry.split('/')[1]!
  const { resolve } = createRequire(join(checkout, 'packages', name, 'package.json'))
  return (await import(pathToFileURL(resolve(entry)).href)) as T
}
