/** Parses the arguments of a command by its definition. */
import { parseArgs } from 'node:util'
import * as Suggestion from '@latchkey/algorand/suggestion'
import type { Call, Command, CommandEntry, Option, Options, Values } from './Command.js'
import { UsageError } from './errors.js'

export function parseCall(command: Command, args: readonly string[], commands: readonly CommandEntry[] = []): Call {
  const { options, positionals: expected = [] } = command
  const { own, rest } = splitRest(command, args)
  const { values, positionals } = parse(own, options)
  const missing = expected.filter(({ isOptional }) => !isOptional)[positionals.length]
  if (missing !== undefined) throw new UsageError(`${missing.name} is missing`)
  if (positionals.length > expected.length && !expected.at(-1)?.isVariadic) {
    throw new UsageError(`unexpected argument ${JSON.stringify(positionals[expected.length])}`)
  }
  for (const [index, { name, choices }] of expected.entries()) checkChoice(name, choices, positionals[index])
  return { options: values, args: positionals, rest, commands }
}

/** Arguments after `--` belong to the program that the command starts. */
export function splitRest({ rest }: Command, args: readonly string[]) {
  const end = rest === undefined ? -1 : args.indexOf('--')
  return end < 0 ? { own: args, rest: undefined } : { own: args.slice(0, end), rest: args.slice(end + 1) }
}

/** Does not use `strict`, whose error texts are for programmers and suggest nothing. */
function parse(args: readonly string[], options: Options): { values: Values<Options>; positionals: string[] } {
  const names = namesOf(options)
  const known = Object.fromEntries([...names].map(([name, own]) => [name, shape(name, own, options)]))
  const { tokens } = parseArgs({ args: [...args], options: known, strict: false, tokens: true })
  const values: Record<string, unknown> = {}
  const positionals: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const name = names.get(token.name)
    if (name === undefined) throw unknownOption(token.rawName, options)
    const option = options[name]!
    const value = readValue(token, option)
    values[name] = option.multiple ? [...((values[name] as unknown[] | undefined) ?? []), value] : value
  }
  return { values: values as Values<Options>, positionals }
}

/** Maps each accepted name to its option. */
function namesOf(options: Options): Map<string, string> {
  return new Map(
    Object.entries(options).flatMap(([name, { aliases = [] }]) =>
      [name, ...aliases].map((one) => [one, name] as const),
    ),
  )
}

function shape(name: string, own: string, options: Options): { type: 'string' | 'boolean'; short?: string } {
  const { type, short } = options[own]!
  return name === own && short !== undefined ? { type, short } : { type }
}

type OptionToken = { rawName: string; value?: string | undefined; inlineValue?: boolean | undefined }

function readValue({ rawName, value, inlineValue }: OptionToken, { type, choices }: Option): string | true {
  if (type === 'boolean') {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value`, { code: 'invalid_value' })
    return true
  }
  // `--out --json` is an option without its value; a value that begins with a dash is given as --out=-x.
  const isNextOption = inlineValue === false && value !== undefined && value.length > 1 && value.startsWith('-')
  if (value === undefined || isNextOption) throw new UsageError(`${rawName} needs a value`, { code: 'invalid_value' })
  checkChoice(rawName, choices, value)
  return value
}

function checkChoice(name: string, choices: readonly string[] | undefined, value: string | undefined): void {
  if (choices === undefined || value === undefined || choices.includes(value)) return
  throw new UsageError(`${name} must be ${choices.join(' or ')}`, {
    code: 'invalid_value',
    hint: Suggestion.didYouMean(value, choices),
  })
}

function unknownOption(rawName: string, options: Options): UsageError {
  const known = [...Object.keys(options), 'help'].map((name) => `--${name}`)
  return new UsageError(`unknown option ${rawName}`, {
    code: 'unknown_option',
    hint: rawName.startsWith('--') ? Suggestion.didYouMean(rawName, known) : undefined,
  })
}
