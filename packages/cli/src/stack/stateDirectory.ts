/** The platform's directory for persistent state of the commands that is not a setting. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

type Environment = { readonly [name: string]: string | undefined }

/**
 * The state directory of this user: `$XDG_STATE_HOME/latchkey`, by default `~/.local/state/latchkey`; on macOS in
 * `~/Library/Application Support`, on Windows in `%LOCALAPPDATA%`.
 */
export function stateDirectory(
  environment: Environment = process.env,
  platform: NodeJS.Platform = process.platform,
): string {
  const { XDG_STATE_HOME: state = '', LOCALAPPDATA: local = '' } = environment
  // The XDG base directory specification: a relative path is ignored.
  if (isAbsolute(state)) return join(state, 'latchkey')
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'latchkey')
  if (platform === 'win32' && isAbsolute(local)) return join(local, 'latchkey')
  return join(homedir(), '.local', 'state', 'latchkey')
}

/** The directory in which a development stack keeps its ledger and keys. */
export function defaultStackDirectory(environment: Environment = process.env): string {
  return join(stateDirectory(environment), 'dev')
}

/** Marks the directory of a stack, and contains the address of the buyer. */
export const markerName = 'dev.json'
/** The data directory of the key daemon, in the directory of a stack. */
export const kmdDirectoryName = 'kmd-v0.5'

/** Returns the data directory for a path: for the directory of a stack, the one inside it. */
export function dataDirectoryAt(path: string): string {
  const inside = join(path, kmdDirectoryName)
  return existsSync(join(path, markerName)) && existsSync(inside) ? inside : path
}

/** The directory of the files that list the running stacks: see StackPointer.ts. */
export function pointerDirectory(): string {
  return join(stateDirectory(), 'stacks')
}

/** Commands that run or configure their own program, or change its token. `devnet accounts` only asks a devnet. */
const ownCommands = /^(?!devnet accounts$)(dev|devnet|kmd|facilitator|service|config|token|completions)\b/

/** Whether a command may use a running stack: it works with the key daemon or a network, and a stack may exist. */
export function mayUseStack(name: string, options: { readonly [name: string]: unknown }): boolean {
  return !ownCommands.test(name) && ('data-dir' in options || 'network' in options) && existsSync(pointerDirectory())
}

/** Replaces the home directory with a tilde. */
export function shortPath(path: string): string {
  const home = homedir()
  return home !== '/' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
