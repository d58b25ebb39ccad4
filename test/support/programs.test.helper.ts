/**
 * Checks for programs and privileges that tests need and a machine may lack. A test without them is skipped by name.
 */
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The reason to skip a test, for its option `skip`; false if everything is available. */
export type Skip = string | false

/**
 * Looks up programs in `PATH`.
 *
 * test('curl with a bearer token', { skip: missingProgram('curl') }, async () => { ... })
 *
 * @throws if one is missing and `CI` is `true`: CI skips nothing.
 */
export function missingProgram(...names: readonly string[]): Skip {
  const missing = names.find((name) => !isInstalled(name))
  return missing === undefined ? false : leaveOut(`${missing} is not installed`)
}

/** For tests that connect to `::1`. Privileges and networks cannot be installed, so CI may lack them, too. */
export function missingIpv6(): Skip {
  const addresses = Object.values(networkInterfaces()).flatMap((one) => one ?? [])
  return addresses.some(({ address }) => address === '::1') ? false : 'the machine has no IPv6 loopback address'
}

/** For tests that run our programs as another user, who must be able to reach Node and these files. */
export function missingOtherUsers(): Skip {
  return process.getuid?.() === 0 ? closedToOthers() : 'needs root, to run a program as another user'
}

/** Whether a program that gave up root could not reach Node or these files, for example below root's home directory. */
export function closedToOthers(): Skip {
  const paths = [realpathSync(process.execPath), fileURLToPath(import.meta.url), join(tmpdir(), 'file')]
  const closed = paths.map(closedDirectory).find((directory) => directory !== undefined)
  return closed === undefined ? false : `other users cannot enter ${closed}`
}

export function isInstalled(name: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((directory) => {
    const path = join(directory, name)
    try {
      accessSync(path, constants.X_OK)
      return statSync(path).isFile()
    } catch {
      return false
    }
  })
}

function leaveOut(reason: string): string {
  if (process.env['CI'] === 'true') throw new Error(`${reason}, and CI leaves no test out`)
  return reason
}

/** Returns the first parent directory of a path that only its owner and its group can enter. */
function closedDirectory(path: string): string | undefined {
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    if ((statSync(directory).mode & 0o001) === 0) return directory
    if (directory === dirname(directory)) return undefined
  }
}
