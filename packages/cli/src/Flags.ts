/** Command line flags as the Go daemon's library reads them: `-t 60`, `-t=60`, `-t60`, `--name value`, `--name=value`. */
import { type Wire, wires } from '@latchkey/kmd'

export type Definitions = { [name: string]: { short?: string; type: 'string' | 'uint' | 'bool' | 'wire' } }

type ValueOf<T> = T extends 'uint' ? number : T extends 'bool' ? boolean : T extends 'wire' ? Wire : string

export type Values<D extends Definitions> = { [N in keyof D]?: ValueOf<D[N]['type']> }

/** Positional arguments are passed over, as they are there; `--` ends the flags. */
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
  const refuse = (reason: string): never => {
    throw new FlagError(`invalid argument ${JSON.stringify(text)} for "${label}" flag: ${reason}`)
  }
  switch (type) {
    case 'string':
      return text
    case 'bool':
      return text === 'true' ? true : text === 'false' ? false : refuse('must be true or false')
    case 'uint':
      if (!/^[0-9]+$/.test(text)) refuse(`strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`)
      // Longer than any timer can run: as good as never.
      return Math.min(Number(text), 2_147_483)
    case 'wire':
      return wires.find((wire) => wire === text) ?? refuse(`must be one of ${wires.join(', ')}`)
  }
}

export class FlagError extends Error {
  override name = 'FlagError'
}
