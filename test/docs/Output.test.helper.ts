/** What a page says that a command prints, held against what it printed. */

/** What is another each time: ids, addresses, beginnings of them, times, keys. */
const changing: readonly (readonly [RegExp, string])[] = [
  [/\b[A-Z2-7]{58}\b/g, 'ADDRESS'],
  [/\b[A-Z2-7]{52}\b/g, 'ID'],
  [/\b[A-Z2-7]{8}…/g, 'ID…'],
  [/\b[0-9a-f]{64}\b/g, 'TOKEN'],
  [/\b[0-9a-f]{32}\b/g, 'WALLET'],
  [/\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z\b/g, 'TIME'],
]

/**
 * Whether these lines were printed one after another, somewhere. `...` on a page stands for anything: in a line for a part
 * of it, alone on a line for lines.
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
