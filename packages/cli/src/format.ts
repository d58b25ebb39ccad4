/** Formats text for the terminal. Untrusted parts must not move the cursor or span several lines. */
import { VisibleText } from '@latchkey/algorand'

const replace = VisibleText.replaceHiddenOnScreen

/** Replaces each control or invisible character with a question mark. The result is one line. */
export function printable(text: string): string {
  return replace(text, '?')
}

/** Like {@link printable} for several lines. */
export function printableLines(text: string, alsoAllowed = ''): string {
  return replace(text, (found) => (found === '\n' || alsoAllowed.includes(found) ? found : '?'))
}

/** Formats a value as printable JSON. Other characters are escaped, so the value stays the same. */
export function printableJson(value: unknown): string {
  return replace(JSON.stringify(value), (character) =>
    [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** A name in a sentence, quoted unless it is plain. */
export function quoted(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : JSON.stringify(printable(name))
}

/**
 * Quotes text as one shell word that can be copied from the screen. Unprintable characters are written as escapes, in a
 * form that bash, zsh, ksh and fish's `bash -c` read; POSIX has it since 2024.
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

/** A count with its noun: `1 wallet`, `2 wallets`. */
export function counted(count: number | bigint, one: string, many = `${one}s`): string {
  return `${count} ${BigInt(count) === 1n ? one : many}`
}

/** The beginning of an address or a transaction id. */
export function shortened(text: string): string {
  return `${text.slice(0, 8)}…`
}

/** Formats a time in ISO 8601. The milliseconds come from the daemon and may exceed the range of a date. */
export function timeText(ms: number): string {
  const time = new Date(ms)
  return Number.isNaN(time.getTime()) ? 'an unknown time' : time.toISOString()
}
