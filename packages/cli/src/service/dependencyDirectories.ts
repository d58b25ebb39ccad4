/** The directories from which Node loads a program: its package and its dependencies. */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Json } from '@latchkey/algorand'

const maxPackages = 5_000

/**
 * Returns the directory of the package of a file, or undefined if there is none. A package.json without a name only
 * sets the module type.
 */
export function packageDirectory(file: string): string | undefined {
  return parentsOf(dirname(file)).find((directory) => typeof readPackage(directory)['name'] === 'string')
}

export type DependencyDirectories = {
  /** The package and its direct and indirect dependencies. */
  readonly packages: string[]
  /**
   * Where Node looks for them, and the links that lead to them. A package placed in a closer directory would be loaded
   * instead of the right one.
   */
  readonly searched: string[]
}

export function dependencyDirectories(packageDir: string): DependencyDirectories {
  const packages = new Set([packageDir])
  const searched = new Set<string>()
  for (const directory of packages) {
    if (packages.size > maxPackages) throw new Error(`more than ${maxPackages} packages`)
    const modules = parentsOf(directory)
      .map((parent) => join(parent, 'node_modules'))
      .filter((path) => existsSync(path))
    for (const name of dependenciesOf(directory)) {
      // Includes the directory of a scope, if there is one.
      for (const path of modules) searched.add(dirname(join(path, name)))
      const home = modules.find((path) => existsSync(join(path, name)))
      if (home === undefined) continue
      searched.add(join(home, name))
      packages.add(realpathSync(join(home, name)))
    }
  }
  return { packages: [...packages], searched: [...searched] }
}

function parentsOf(directory: string): string[] {
  const parents = [directory]
  for (let next = dirname(directory); next !== parents.at(-1); next = dirname(next)) parents.push(next)
  return parents
}

/** Includes development dependencies that are packages of this repository, because a checkout runs them. */
function dependenciesOf(directory: string): string[] {
  const members = readPackage(directory)
  const names = (key: string): string[] => (Json.isObject(members[key]) ? Object.keys(members[key]) : [])
  const own = names('devDependencies').filter((name) => name.startsWith('@latchkey/'))
  return [...names('dependencies'), ...names('optionalDependencies'), ...names('peerDependencies'), ...own]
}

function readPackage(directory: string): Json.Members {
  const path = join(directory, 'package.json')
  const members: unknown = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
  return Json.isObject(members) ? members : {}
}
