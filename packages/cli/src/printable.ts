/** Names on the screen. Others may have chosen them: they must not move the cursor, nor pass for more than one line. */

export function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}

/** In a sentence. */
export function quoted(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : JSON.stringify(printable(name))
}

/** As one word on a shell's command line. */
export function shellWord(text: string): string {
  return /^[\w/.:+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** Lines of columns two blanks apart; the last one is not filled up. */
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
