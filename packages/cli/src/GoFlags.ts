/**
 * Parses flags like the Go daemon's library (`-t 60`, `-t=60`, `-t60`, `--name value`, `--name=value`), with its error
 * texts.
 */
import { LatchkeyError } from '@latchkey/algorand/error'
import { type Wire, wires } from '@latchkey/kmd'
import { errors } from './errors.js'

export type Definitions = { [name: string]: { short?: string; type: 'string' | 'uint' | 'bool' | 'wire' } }

type ValueOf<T> = T extends 'uint' ? number : T extends 'bool' ? boolean : T extends 'wire' ? Wire : string

export type Values<D extends Definitions> = { [N in keyof D]?: ValueOf<D[N]['type']> }

/** Ignores positional arguments like the Go daemon; `--` ends the flags. */
export function parse<const D extends Definitions>(args: readonly string[], definitions: D): Values<D> {
  const values: Record<string, unknown> = {}
  const rest = [...args]
  for (let arg = rest.shift(); arg !== undefined && arg !== '--'; arg = rest.shift()) {
    if (arg.length < 2 || !arg.startsWith('-')) continue
    const { name, value } = arg.startsWith('--') ? splitLong(arg, definitions) : splitShort(arg, definitions)
    const { type } = definitions[name]!
    const text = value ?? (type === 'bool' ? 'true' : rest.shift())
    if (text === undefined) throw new FlagError(`flag needs an argument: ${missing(arg)}`)
    values[name] = convert(name, definitions[name]!, text)
  }
  return values as Values<D>
}

function splitLong(arg: string, definitions: Definitions): { name: string; value: string | undefined } {
  const equals = arg.indexOf('=')
  const name = equals < 0 ? arg.slice(2) : arg.slice(2, equals)
  if (!Object.hasOwn(definitions, name)) throw new FlagError(`unknown flag: --${name}`)
  return { name, value: equals < 0 ? undefined : arg.slice(equals + 1) }
}

function splitShort(arg: string, definitions: Definitions): { name: string; value: string | undefined } {
  const letter = arg[1]!
  const found = Object.entries(definitions).find(([, { short }]) => short === letter)
  if (found === undefined) throw new FlagError(`unknown shorthand flag: '${letter}' in ${arg}`)
  const value = arg.slice(2).replace(/^=/, '')
  return { name: found[0], value: arg.length === 2 ? undefined : value }
}

const missing = (arg: string): string => (arg.startsWith('--') ? arg : `'${arg[1]}' in ${arg}`)

function convert(name: string, { short, type }: Definitions[string], text: string): unknown {
  const label = short === undefined ? `--${name}` : `-${short}, --${name}`
  const reject = (reason: string): never => {
    throw new FlagError(`invalid argument ${JSON.stringify(text)} for "${label}" flag: ${reason}`)
  }
  switch (type) {
    case 'string':
      return text
    case 'bool':
      return text === 'true' ? true : text === 'false' ? false : reject('must be true or false')
    case 'uint':
      if (!/^[0-9]+$/.test(text)) reject(`strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`)
      // The longest delay of a timer in seconds, 24 days.
      return Math.min(Number(text), 2_147_483)
    case 'wire':
      return wires.find((wire) => wire === text) ?? reject(`must be one of ${wires.join(', ')}`)
  }
}

/** The command `kmd` was called with invalid flags. */
export class FlagError extends LatchkeyError<'invalid_flag'> {
  override name = 'FlagError'

  constructor(message: string) {
    super('invalid_flag', message, { hint: errors.invalid_flag.hint })
  }
}
