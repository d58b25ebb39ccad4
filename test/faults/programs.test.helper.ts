/** Bundles the programs of a cluster: each is started many times, and a bundle loads in a third of the time. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Program = 'node' | 'replica' | 'gate' | 'buyers'

const here = fileURLToPath(new URL('./', import.meta.url))
const programs: readonly Program[] = ['node', 'replica', 'gate', 'buyers']
const isOurs = (id: string): boolean => /^(?:[./#]|@latchkey\/)/.test(id)

/**
 * Returns the directory of the bundles, which `FAULTS_PROGRAMS` names if another process has made them. It is next to
 * the modules, so that packages are found from it.
 */
export async function bundlePrograms(scope: { after: (work: () => unknown) => void }): Promise<string> {
  const made = process.env['FAULTS_PROGRAMS']
  if (made !== undefined) return made
  const { rolldown } = await import('rolldown')
  const directory = mkdtempSync(join(here, 'bundles-'))
  scope.after(() => rmSync(directory, { recursive: true, force: true }))
  const build = await rolldown({
    input: Object.fromEntries(programs.map((name) => [name, join(here, `${name}-process.test.helper.js`)])),
    platform: 'node',
    external: (id) => !isOurs(id),
    logLevel: 'warn',
  })
  await build.write({ dir: directory, format: 'esm' })
  await build.close()
  return directory
}

/** Returns the command that starts a program. */
export function commandOf(directory: string, program: Program): string[] {
  return [process.execPath, join(directory, `${program}.js`)]
}
