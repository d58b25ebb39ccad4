// Lists the public entries of the packages and the declaration file of each.
import { join } from 'node:path'
import { publishedPackages, root } from '../packages.mjs'

/** @returns {{ name: string, page: string, types: string }[]} one item per entry of each package, sorted by name */
export function apiEntries() {
  return publishedPackages()
    .flatMap(({ directory, manifest }) =>
      Object.entries(manifest.exports ?? {}).map(([path, target]) => ({
        name: manifest.name + path.slice(1),
        page: `${(manifest.name + path.slice(1)).replace('@latchkey/', '').replaceAll('/', '-')}.md`,
        description: manifest.description,
        types: join(root, directory, typesOf(target) ?? ''),
      })),
    )
    .filter(({ types }) => types.endsWith('.d.ts'))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Export conditions can be nested. */
function typesOf(target) {
  if (typeof target !== 'object' || target === null) return undefined
  if (typeof target.types === 'string') return target.types
  return Object.values(target)
    .map(typesOf)
    .find((types) => types !== undefined)
}
