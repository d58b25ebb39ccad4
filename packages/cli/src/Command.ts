/** The definition of a subcommand, from which parsing, `--help` and shell completions are derived. */
import { UsageError } from './errors.js'
import type { ExitCode } from './exitCodes.js'

export type Option = {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  /** Other names that are accepted but not listed. */
  readonly aliases?: readonly string[]
  readonly multiple?: boolean
  /** Represents the value in the help. */
  readonly placeholder?: string
  /** The only accepted values. */
  readonly choices?: readonly string[]
  /** Values that a shell completes, among others that are accepted too. */
  readonly suggestions?: readonly string[]
  /** The kind of value that a shell completes. */
  readonly completes?: 'file' | 'directory'
  readonly description: string
}

export type Options = { readonly [name: string]: Option }

type ValueOf<O extends Option> = O['type'] extends 'boolean'
  ? boolean | undefined
  : O['multiple'] extends true
    ? string[] | undefined
    : string | undefined

export type Values<O extends Options> = { readonly [name in keyof O]: ValueOf<O[name]> }

export type Positional = {
  readonly name: string
  readonly description?: string
  readonly isOptional?: boolean
  /** Takes all remaining arguments. */
  readonly isVariadic?: boolean
  readonly choices?: readonly string[]
  /** The kind of value that a shell completes. `agent`: the names of the daemon's agents. */
  readonly completes?: 'file' | 'directory' | 'agent'
}

export type Command<O extends Options = Options> = {
  /** One sentence or a few. */
  readonly description: string
  readonly positionals?: readonly Positional[]
  /** The name of the arguments that may follow `--`, which are passed on unparsed. */
  readonly rest?: string
  readonly options: O
  readonly notes?: string
  readonly examples: readonly string[]
  /**
   * Whether stdout has only content, such as the body of a response, even with `--json`.
   * @default false
   */
  readonly hasContentOutput?: boolean
  /** The possible exit codes besides `ok`, `usage` and `failed`. */
  readonly exits?: readonly ExitCode[]
  readonly run: (call: Call<O>) => Promise<number>
}

export type Call<O extends Options = Options> = {
  readonly options: Values<O>
  readonly args: readonly string[]
  /** The arguments after `--`, or undefined without `--`. */
  readonly rest: readonly string[] | undefined
  /** All commands. */
  readonly commands: readonly CommandEntry[]
}

/** A command in the list of all commands, loaded only when it is called. */
export type CommandEntry = {
  readonly name: string
  readonly summary: string
  readonly load: () => Promise<Command>
}

/** Checks a definition against the types of its options, and returns it without them for the list of commands. */
export function command<const O extends Options>(definition: Command<O>): Command {
  return definition as unknown as Command
}

export const jsonOption = { json: { type: 'boolean', description: 'print the result as one line of JSON' } } as const

/** Reads an integer within bounds from the value of an option. */
export function readNumber(name: string, text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined) return undefined
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new UsageError(`${name} must be a number from ${min} to ${max}`, { code: 'invalid_value' })
}

/** Reads a non-negative integer of up to 18 digits from the value of an option. */
export function readInteger(name: string, text: string | undefined): bigint | undefined {
  if (text === undefined) return undefined
  if (/^[0-9]{1,18}$/.test(text)) return BigInt(text)
  throw new UsageError(`${name} must be a whole number`, { code: 'invalid_value' })
}
