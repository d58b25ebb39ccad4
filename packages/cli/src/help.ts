/** The help of a command, from its definition. */
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

export function help(name: string, command: Command): string {
  const { description, positionals = [], options, notes, examples, exits = [] } = command
  const rows: [string, string][] = [
    ...positionals.flatMap((one): [string, string][] => (one.description ? [[one.name, one.description]] : [])),
    ...Object.entries(options).map(([long, option]): [string, string] => [flags(long, option), option.description]),
  ]
  const parts = [wrap(description, 0), `Usage:\n  ${usage(name, command)}`]
  if (rows.length > 0) parts.push(`Options:\n${table(rows)}`)
  if (notes !== undefined) parts.push(wrap(notes, 0))
  parts.push(`Example${examples.length > 1 ? 's' : ''}:\n${examples.map((line) => `  ${line}`).join('\n')}`)
  const codes = (['ok', 'usage', 'failed', ...exits] as ExitCode[]).map((one) => exitCodes[one]).sort((a, b) => a - b)
  parts.push(`Exit codes: ${codes.join(', ')} (see latchkey help exit-codes)`)
  return `${parts.join('\n\n')}\n`
}

function flags(long: string, { short, type, placeholder = 'VALUE', choices }: Option): string {
  const value = type === 'boolean' ? '' : ` ${choices === undefined ? placeholder : choices.join('|')}`
  return `${short === undefined ? '   ' : `-${short},`} --${long}${value}`
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

/** Wraps text to the width of the help; lines after the first start with `indent` spaces. Line breaks stay. */
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
