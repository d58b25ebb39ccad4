/** The command line of this installation, for programs that start it without a shell. */
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Returns the program and the arguments that start `latchkey`, as absolute paths: a package of the same name, which
 * `npx` would download, must not run where a token is used. Empty if this process was not started by one of the
 * commands.
 */
export function latchkeyCommand(): readonly string[] {
  const started = process.argv[1]
  if (started === undefined || !existsSync(started)) return []
  const script = join(dirname(realpathSync(started)), 'latchkey.js')
  return existsSync(script) ? [process.execPath, script] : []
}
