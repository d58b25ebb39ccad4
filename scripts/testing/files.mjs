// Lists the test files.
import { existsSync, readdirSync } from 'node:fs'
import { join, sep } from 'node:path'
import { root } from '../packages.mjs'

/** Returns the compiled test files below these directories, as paths from the root. */
export function testFiles(directories) {
  return directories
    .flatMap((directory) =>
      readdirSync(join(root, directory), { recursive: true }).map((name) => join(directory, name)),
    )
    .filter((path) => path.endsWith('.test.js') && path.includes(`${sep}dist${sep}`) && !path.includes('node_modules'))
    .filter((path) => hasSource(path))
    .sort()
}

/** The compiled file of a deleted or renamed test may still exist. */
function hasSource(path) {
  const source = path.replace(/\.js$/, '.ts')
  return [`${sep}src${sep}`, sep].some((place) => existsSync(join(root, source.replace(`${sep}dist${sep}`, place))))
}
