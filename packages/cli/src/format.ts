/** Text for the terminal. Parts of it come from others: they must not move the cursor or span several lines. */
import { VisibleText } from '@latchkey/algorand'

const replace = VisibleText.replaceHiddenOnScreen

/** The text with a question mark for each character that a terminal obeys or does not show: one line. */
export function printable(text: string): string {
  return replace(text, '?')
}

/** The same for several lines. */
export function printableLines(text: string, alsoAllowed = ''): string {
  return replace(text, (found) => (found === '\n' || alsoAllowed.includes(found) ? found : '?'))
}

/** A value as JSON in which every character is printable: the others are escaped, so that it stays the same value. */
export function printableJson(value: unknown): string {
  return replace(JSON.stringify(value), (character) =>
    [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** A name inside a sentence, in quotes unless it is plain. */
export function quoted(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : JSON.stringify(printable(name))
}

/**
 * Quotes a text as one word of a shell, to be copied from the screen. With characters that must not get there it is
 * written in the form with escapes, which bash, zsh, ksh and fish's `bash -c` read; POSIX has it since 2024.
 */
export function shellWord(text: string): string {
  if (/^[\w/.:+-]+$/.test(text)) return text
  if (printable(text) === text) return `'${text.replaceAll("'", `'\\''`)}'`
  const escaped = replace(text.replace(/[\\']/g, '\\$&'), octalBytes)
  return `$'${escaped}'`
}

const octalBytes = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')

/** Aligns rows in columns that are two spaces apart. */
export function columns(rows: readonly (readonly string[])[]): string {
  const shown = rows.map((row) => row.map(printable))
  const widths = shown[0]?.map((_, column) => Math.max(...shown.map((row) => row[column]?.length ?? 0))) ?? []
  const lines = shown.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
  return lines.map((line) => `${line}\n`).join('')
}

/** A count and what is counted: `1 wallet`, `2 wallets`. */
export function counted(count: number | bigint, one: string, many = `${one}s`): string {
  return `${count} ${BigInt(count) === 1n ? one : many}`
}

/** The beginning of an address or a transaction id. */
export function shortened(text: string): string {
  return `${text.slice(0, 8)}…`
}
