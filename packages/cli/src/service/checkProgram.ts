/** Checks whether a service would run a program that another user can replace. */
import { dirname } from 'node:path'
import { CommandError, errors } from '../errors.js'
import { printable } from '../format.js'
import { type Replaceable, ReplaceableFiles, rootAlone, type Trust } from './replaceable.js'
import { systemPaths } from './systemService.js'

const { hint } = errors.program_replaceable

type Program = readonly [node: string, script: string]

/**
 * Refuses a service of the machine if its program, or a package of it, belongs to a user other than root, or is
 * writable by one. The same applies to the directories of the service files.
 *
 * @param trust who may own files and write to them; for tests
 * @throws CommandError `program_replaceable`
 */
export function checkSystemProgram([node, script]: Program, root: string | undefined, trust: Trust = rootAlone): void {
  const files = new ReplaceableFiles(trust)
  const { unit, users } = systemPaths()
  const places = root === undefined ? [dirname(unit), dirname(users)] : []
  const found = files.onPath(node) ?? files.ofPackage(script) ?? places.map((path) => files.onPath(path)).find(Boolean)
  if (found === undefined) return
  throw new CommandError('program_replaceable', describe(found), { hint })
}

/** Warns about a service of the user if users other than root and its own could replace the program. */
export function programWarning(program: Program): string | undefined {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()]
  if (uid === undefined || gid === undefined) return undefined
  const files = new ReplaceableFiles({ owners: new Set([0, uid]), groups: new Set([0, gid]), allowSticky: true })
  const found = program.map((path) => files.onPath(path)).find((one) => one !== undefined)
  return found === undefined ? undefined : describe(found)
}

function describe({ path, reason }: Replaceable): string {
  return `${printable(path)} ${reason}: another user could replace the program that the service runs`
}
