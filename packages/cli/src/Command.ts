/** What a subcommand is. What it takes is written down once: reading it, `--help` and completions follow from that. */
import { parseArgs } from 'node:util'
import { type ExitCode, exitCodes } from './exitCodes.js'

export type Option = {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
  /** What stands for its value in the help. */
  readonly value?: string
  /** The only values it takes. */
  readonly choices?: readonly string[]
  /** What a shell completes its value with. */
  readonly completes?: 'file' | 'directory'
  readonly about: string
}

export type Options = { readonly [name: string]: Option }

type ValueOf<O extends Option> = O['type'] extends 'boolean'
  ? boolean | undefined
  : O['multiple'] extends true
    ? string[] | undefined
    : string | undefined

export type Values<O extends Options> = { readonly [name in keyof O]: ValueOf<O[name]> }

export type Argument = {
  readonly name: string
  readonly about?: string
  readonly isOptional?: boolean
  /** Takes all that are left. */
  readonly isMany?: boolean
  readonly completes?: 'file' | 'directory'
}

export type Command<O extends Options = Options> = {
  /** What it does, in a sentence or a few. */
  readonly text: string
  readonly takes?: readonly Argument[]
  /** What may follow after `--`, which is handed over as it stands. */
  readonly rest?: string
  readonly options: O
  /** What else one has to know. */
  readonly notes?: string
  /** As typed, without the `latchkey` in front where they begin with the command's name. */
  readonly examples: readonly string[]
  /** How it can end, beside done, wrong use and failed. */
  readonly ends?: readonly ExitCode[]
  readonly run: (call: Call<O>) => Promise<number>
}

export type Call<O extends Options = Options> = {
  readonly options: Values<O>
  readonly args: readonly string[]
  /** What came after `--`; undefined if there was none. */
  readonly rest: readonly string[] | undefined
}

/** Keeps the types of one command's options while it is written down, and forgets them in the registry. */
export function command<const O extends Options>(definition: Command<O>): Command {
  return definition as unknown as Command
}

export const jsonOption = { json: { type: 'boolean', about: 'print the outcome as one line of JSON' } } as const

export function read({ options, takes = [], rest }: Command, args: readonly string[]): Call {
  const end = rest === undefined ? -1 : args.indexOf('--')
  const own = end < 0 ? args : args.slice(0, end)
  const { values, positionals } = parse(own, options)
  for (const [name, { choices }] of Object.entries(options)) {
    const given = values[name]
    if (choices !== undefined && given !== undefined && !choices.includes(String(given))) {
      throw new UsageError(`--${name} takes ${choices.join(' or ')}`)
    }
  }
  const required = takes.filter(({ isOptional }) => !isOptional)
  const missing = required[positionals.length]
  if (missing !== undefined) throw new UsageError(`${missing.name} is missing`)
  if (positionals.length > takes.length && !takes.at(-1)?.isMany) {
    throw new UsageError(`${JSON.stringify(positionals[takes.length])} is one argument too many`)
  }
  return { options: values, args: positionals, rest: end < 0 ? undefined : args.slice(end + 1) }
}

function parse(args: readonly string[], options: Options) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: true }) as {
      values: Values<Options>
      positionals: string[]
    }
  } catch (error) {
    throw new UsageError(explain(error as Error & { code?: string }, args))
  }
}

/** Node's own words are made for programmers. */
function explain({ code, message }: Error & { code?: string }, args: readonly string[]): string {
  const [, name] = /'(-[^' ,]*)/.exec(message) ?? []
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return `there is no option ${name}`
  if (message.includes('argument missing') || message.includes('argument is ambiguous')) return `${name} needs a value`
  if (message.includes('does not take an argument')) return `${name} takes no value`
  return `${message.split('\n')[0]} (${args.length} arguments)`
}

/** Where its help begins: `latchkey wallet new NAME [options]`. */
export function usage(name: string, { takes = [], options, rest }: Command): string {
  const words = takes.map(({ name: word, isOptional, isMany }) => {
    const many = isMany ? `${word}...` : word
    return isOptional ? `[${many}]` : many
  })
  if (Object.keys(options).length > 0) words.push('[options]')
  if (rest !== undefined) words.push(`[-- ${rest}]`)
  return ['latchkey', name, ...words].join(' ')
}

export function help(name: string, command: Command): string {
  const { text, takes = [], options, notes, examples, ends = [] } = command
  const rows: [string, string][] = [
    ...takes.filter(({ about }) => about !== undefined).map((one): [string, string] => [one.name, one.about!]),
    ...Object.entries(options).map(([long, option]): [string, string] => [flags(long, option), option.about]),
  ]
  const parts = [wrap(text, 0), `Usage:\n  ${usage(name, command)}`]
  if (rows.length > 0) parts.push(`Options:\n${table(rows)}`)
  if (notes !== undefined) parts.push(wrap(notes, 0))
  parts.push(`Example${examples.length > 1 ? 's' : ''}:\n${examples.map((line) => `  ${line}`).join('\n')}`)
  const codes = (['ok', 'usage', 'failed', ...ends] as ExitCode[]).map((end) => exitCodes[end]).sort((a, b) => a - b)
  parts.push(`Exit codes: ${codes.join(', ')}; latchkey help exit-codes tells what they mean.`)
  return `${parts.join('\n\n')}\n`
}

function flags(long: string, { short, type, value = 'VALUE', choices }: Option): string {
  const shown = type === 'boolean' ? '' : ` ${choices === undefined ? value : choices.join('|')}`
  return `${short === undefined ? '   ' : `-${short},`} --${long}${shown}`
}

const width = 110

export function table(rows: readonly (readonly [string, string])[]): string {
  const column = Math.min(30, Math.max(...rows.map(([left]) => left.length)) + 2)
  return rows
    .map(([left, right]) => {
      const text = wrap(right, column + 2)
      const isLong = left.length > column - 2
      return isLong ? `  ${left}\n${' '.repeat(column + 2)}${text}` : `  ${left.padEnd(column)}${text}`
    })
    .join('\n')
}

/** Lines of a bearable length; lines after the first begin after `indent` blanks. Line ends of the text itself stay. */
export function wrap(text: string, indent: number): string {
  const lines = text.split('\n').flatMap((line) => fold(line, width - indent))
  return lines.join(`\n${' '.repeat(indent)}`)
}

function fold(line: string, limit: number): string[] {
  const lines: string[] = []
  let current = ''
  for (const word of line.split(' ')) {
    if (current !== '' && current.length + 1 + word.length > limit) {
      lines.push(current)
      current = word
    } else current = current === '' ? word : `${current} ${word}`
  }
  return [...lines, current]
}

/** A whole number between bounds, as options and arguments are given. */
export function readNumber(name: string, text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined) return undefined
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) throw new UsageError(`${name} takes a number from ${min} to ${max}`)
  return value
}

/** The person typed something that cannot be meant. Told in one line. */
export class UsageError extends Error {
  override name = 'UsageError'
}
