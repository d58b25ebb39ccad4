// Obtains other releases of Node from the npm registry. Their packages contain the program, so no install script runs.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { buildOnce, cacheDirectory } from '../cache.mjs'

/** The oldest release that Latchkey supports, and one of every release line in support. The newest LTS line is 24. */
export const releases = { 20: '20.19.0', 22: '22.23.3', 24: '24.21.0', 26: '26.10.0' }

/**
 * Obtains the release of a line, once.
 * @returns `{ version, directory }`, whose directory has the program `node`, or `{ problem }` with the reason why not
 */
export function obtainNode(line) {
  const version = releases[line]
  if (version === undefined) return { problem: `the lines are ${Object.keys(releases).join(', ')}` }
  const name = `node-linux-${process.arch}`
  const directory = cacheDirectory(`latchkey-${name}-${version}`)
  const args = [
    'install',
    '--prefix',
    '.',
    '--prefer-offline',
    '--ignore-scripts',
    '--no-save',
    '--no-audit',
    '--no-fund',
  ]
  try {
    buildOnce(directory, (partial) => {
      console.error(`latchkey: downloading Node ${version}, once`)
      execFileSync('npm', [...args, `${name}@${version}`], { cwd: partial, stdio: ['ignore', 'ignore', 'pipe'] })
    })
  } catch (error) {
    return {
      problem: String(error.stderr ?? error.message)
        .trim()
        .split('\n')[0],
    }
  }
  return { version, directory: join(directory, 'node_modules', name, 'bin') }
}
