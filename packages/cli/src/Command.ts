/** What a subcommand is, and how its options are read. */
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { type ParseArgsConfig, parseArgs } from 'node:util'

export type Command = {
  help: string
  run: (args: readonly string[]) => Promise<number>
}

type Options = NonNullable<ParseArgsConfig['options']>

/** Options only: none of the commands takes a positional argument. */
export function readOptions<const O extends Options>(
  args: readonly string[],
  options: O,
): ReturnType<typeof parseArgs<{ options: O }>>['values'] {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** Where the daemon keeps its files when nobody says otherwise. */
export function dataDirectory(given: string | undefined): string {
  return given === undefined ? join(homedir(), '.latchkey', 'kmd-v0.5') : resolve(given)
}

export class UsageError extends Error {
  override name = 'UsageError'
}
