// Locates the repository, and lists the published packages, each after its dependencies.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * @returns {{ directory: string, manifest: Record<string, any> }[]} every package of `packages/`, in dependency order
 */
export function publishedPackages() {
  const all = readdirSync(join(root, 'packages')).map((name) => {
    const directory = join('packages', name)
    return { directory, manifest: readManifest(directory) }
  })
  const byName = new Map(all.map((one) => [one.manifest.name, one]))
  const ordered = new Set()
  const visit = (one) => {
    if (ordered.has(one)) return
    for (const name of Object.keys(one.manifest.dependencies ?? {})) if (byName.has(name)) visit(byName.get(name))
    ordered.add(one)
  }
  for (const one of all) visit(one)
  return [...ordered].filter(({ manifest }) => manifest.private !== true)
}

export function readManifest(directory) {
  return JSON.parse(readFileSync(join(root, directory, 'package.json'), 'utf8'))
}
