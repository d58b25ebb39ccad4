/** Parses the command line: flags, then after `--` the commands of other daemons to measure alongside ours. */

export type Arguments = { quick: boolean; help: boolean; only: string[]; others: string[][] }

export function parse(args: readonly string[]): Arguments {
  const end = args.indexOf('--')
  const flags = end < 0 ? [...args] : args.slice(0, end)
  const others = end < 0 ? [] : commands(args.slice(end + 1))
  const parsed: Arguments = { quick: false, help: false, only: [], others }
  for (let flag = flags.shift(); flag !== undefined; flag = flags.shift()) {
    if (flag === '--quick') parsed.quick = true
    else if (flag === '--help' || flag === '-h') parsed.help = true
    else if (flag === '--only') parsed.only.push(...names(flags.shift()))
    else if (flag.startsWith('--only=')) parsed.only.push(...names(flag.slice('--only='.length)))
    else throw new UsageError(`unknown argument ${JSON.stringify(flag)}; other daemons come after --`)
  }
  return parsed
}

function names(list: string | undefined): string[] {
  if (list === undefined || list === '') throw new UsageError('--only needs names, separated by commas')
  return list.split(',')
}

/**
 * A command ends with the argument that contains {dir}. `kmd -d {dir}` is therefore the same command with and without
 * quotes, and several commands can follow each other.
 */
function commands(args: readonly string[]): string[][] {
  const found: string[][] = []
  let words: string[] = []
  for (const arg of args) {
    const last = arg.includes('{dir}')
    words.push(...(last ? arg.split(/\s+/).filter((word) => word !== '') : [arg]))
    if (!last) continue
    found.push(words)
    words = []
  }
  if (words.length > 0) throw new UsageError(`"${words.join(' ')}" does not say where its data directory {dir} goes`)
  return found
}

export class UsageError extends Error {
  override name = 'UsageError'
}
