/** Text for the terminal. Names may come from others: they must not move the cursor or span several lines. */

/** Replaces control characters and line separators. */
export function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}

/** A value as JSON in which every character is printable: the others are escaped, so that it stays the same value. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    [...Array(character.length).keys()]
      .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** A name inside a sentence, in quotes unless it is plain. */
export function quoted(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : JSON.stringify(printable(name))
}

/** Quotes a text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w/.:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

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

/** The beginning of an address or a transaction id. */
export function shortened(text: string): string {
  return `${text.slice(0, 8)}…`
}
