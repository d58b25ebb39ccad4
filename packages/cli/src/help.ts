/** Renders the help of a command from its definition. */
import type { Command, Option } from './Command.js'
import { type ExitCode, exitCodes } from './exitCodes.js'

/** The first line of the help: `latchkey wallet new NAME [options]`. */
export function usage(name: string, { positionals = [], options, rest }: Command): string {
  const words = positionals.map(({ name: word, isOptional, isVariadic }) => {
    const repeated = isVariadic ? `${word}...` : word
    return isOptional ? `[${repeated}]` : repeated
  })
  if (Object.keys(options).length > 0) words.push('[options]')
  if (rest !== undefined) words.push(`[-- ${rest}]`)
  return ['latchkey', name, ...words].join(' ')
}

/** Used if the width is unknown: the width of most terminals, and of the documentation. */
const defaultWidth = 80
/** Longer lines are hard to read. */
const maxWidth = 110
/** With fewer columns no room would be left next to the option names. */
const minWidth = 40

/** The width of the help: that of the terminal, within bounds. */
export function terminalWidth({ isTTY, columns }: { isTTY?: boolean; columns?: number } = process.stdout): number {
  if (isTTY !== true || columns === undefined || columns === 0) return defaultWidth
  return Math.min(maxWidth, Math.max(minWidth, columns))
}

export function help(name: string, command: Command, width = defaultWidth): string {
  const { description, positionals = [], options, notes, examples, exits = [] } = command
  const rows: [string, string][] = [
    ...positionals.flatMap((one): [string, string][] => (one.description ? [[one.name, one.description]] : [])),
    ...Object.entries(options).map(([long, option]): [string, string] => [flags(long, option), option.description]),
  ]
  const parts = [wrap(description, 0, width), `Usage:\n  ${wrap(usage(name, command), 4, width - 2)}`]
  if (rows.length > 0) parts.push(`Options:\n${table(rows, width)}`)
  if (notes !== undefined) parts.push(wrap(notes, 0, width))
  const lines = examples.map((line) => `  ${wrapCommand(line, 6, width)}`)
  parts.push(`Example${examples.length > 1 ? 's' : ''}:\n${lines.join('\n')}`)
  const codes = (['ok', 'usage', 'failed', ...exits] as ExitCode[]).map((one) => exitCodes[one]).sort((a, b) => a - b)
  parts.push(wrap(`Exit codes: ${codes.join(', ')} (see latchkey help exit-codes)`, 2, width))
  return `${parts.join('\n\n')}\n`
}

function flags(long: string, { short, type, placeholder = 'VALUE', choices }: Option): string {
  const value = type === 'boolean' ? '' : ` ${choices === undefined ? placeholder : choices.join('|')}`
  return `${short === undefined ? '   ' : `-${short},`} --${long}${value}`
}

/** Names and their meaning, in two columns. */
export function table(rows: readonly (readonly [string, string])[], width = defaultWidth): string {
  const longest = Math.max(...rows.map(([left]) => left.length)) + 2
  const column = Math.min(30, Math.floor(width * 0.4), longest)
  return rows
    .map(([left, right]) => {
      const text = wrap(right, column + 2, width)
      const isLong = left.length > column - 2
      return isLong ? `  ${left}\n${' '.repeat(column + 2)}${text}` : `  ${left.padEnd(column)}${text}`
    })
    .join('\n')
}

/** Wraps text to a width. Lines after the first start with `indent` spaces. Line breaks are kept. */
export function wrap(text: string, indent: number, width = defaultWidth): string {
  const lines = text.split('\n').flatMap((line) => fold(line.split(' '), width - indent))
  return lines.join(`\n${' '.repeat(indent)}`)
}

/** Wraps a command between its words, so that it can be copied to a shell as shown. */
function wrapCommand(line: string, indent: number, width: number): string {
  if (line.length + 2 <= width) return line
  const words = line.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? []
  return fold(words, width - indent - 2).join(` \\\n${' '.repeat(indent)}`)
}

function fold(words: readonly string[], limit: number): string[] {
  const lines: string[] = []
  let current = ''
  for (const word of words) {
    if (current !== '' && current.length + 1 + word.length > limit) {
      lines.push(current)
      current = word
    } else current = current === '' ? word : `${current} ${word}`
  }
  return [...lines, current]
}
