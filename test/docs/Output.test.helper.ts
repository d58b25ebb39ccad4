/** Compares the output shown on a page with the actual output of a command. */

/** Values that change with every run: ids, addresses and their prefixes, times, keys. */
const changing: readonly (readonly [RegExp, string])[] = [
  [/\b[A-Z2-7]{58}\b/g, 'ADDRESS'],
  [/\b[A-Z2-7]{52}\b/g, 'ID'],
  [/\b[A-Z2-7]{8}…/g, 'ID…'],
  [/\b[0-9a-f]{64}\b/g, 'TOKEN'],
  [/\b[0-9a-f]{32}\b/g, 'WALLET'],
  [/\b[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+Z| [0-9:]+ UTC)\b/g, 'TIME'],
]

/**
 * Whether these lines were printed consecutively, anywhere in the output. `...` on a page matches anything: part of a
 * line, or, alone on a line, any number of lines.
 */
export function isPrinted(shown: string, printed: string): boolean {
  const source = normal(shown)
    .trimEnd()
    .split('\n')
    .map((line) => (isEllipsis(line) ? '(?:.*\n)*?' : `${line.trimEnd().split('...').map(escaped).join('.*?')} *\n`))
    .join('')
  return new RegExp(`(?:^|\n)${source}`).test(`${normal(printed)}\n`)
}

function isEllipsis(line: string): boolean {
  return line.trim() === '...'
}

export function normal(text: string): string {
  return changing.reduce((all, [pattern, name]) => all.replaceAll(pattern, name), text)
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}
