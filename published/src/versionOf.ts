import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The version of a package that this workspace gets, or that another package gets. */
export function versionOf(name: string, importer?: string): string {
  const own = createRequire(import.meta.url)
  const { resolve } = importer === undefined ? own : createRequire(own.resolve(importer))
  // Not `name/package.json`: the exports of these packages do not have it.
  let directory = dirname(resolve(name))
  while (!directory.endsWith(join('node_modules', name))) directory = dirname(directory)
  return (JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as { version: string }).version
}
