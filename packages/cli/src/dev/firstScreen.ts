/**
 * The first output of `latchkey dev`: the steps of one paid request, the addresses, and how to continue. All of it fits
 * a terminal of 80 columns and 24 lines, together with the preceding output of npm.
 */

import { shortPath } from '../stack/stateDirectory.js'
import type { Span, Style } from '../style.js'
import { version } from '../version.js'
import type { Stack } from './Stack.js'
import { environmentPath, salesPath } from './seller.js'

const width = 80
const labelWidth = 13

export function title(platform: NodeJS.Platform = process.platform): readonly Span[] {
  const start = ': starting a chain, the key daemon, a facilitator and a seller'
  const note = platform === 'linux' ? [] : [['yellow', ` (made for Linux; untested on ${platform})`] as const]
  return [['bold', `Latchkey ${version}`], start, ...note]
}

/** The addresses and the next steps. */
export function addressLines(stack: Stack, command: string): readonly (readonly Span[])[] {
  const { devnet, kmdUrl, facilitatorUrl, sellerUrl, explorerUrl, consoleLink } = stack.parts
  const { takenPorts: taken } = stack
  const env = `${sellerUrl}${environmentPath}`
  return [
    [],
    row(
      'Seller',
      `${sellerUrl}/weather`,
      taken.seller,
      `sales: ${salesPath}; also opens in a browser`,
      `sales: ${salesPath}`,
    ),
    row('Key daemon', kmdUrl, taken.kmd, 'one-time link to its console:', 'console link:'),
    ['  ', ['cyan', consoleLink()]],
    row('Facilitator', facilitatorUrl, taken.facilitator),
    row('Devnet', devnet.url, taken.devnet),
    row('Indexer', devnet.indexerUrl!, taken.indexer),
    ...(explorerUrl === undefined
      ? []
      : [row('Explorer', explorerUrl, taken.explorer, 'blocks, transactions, accounts')]),
    directoryRow(stack),
    ['In another terminal: ', ['bold', `${command} pay ${sellerUrl}/weather`]],
    ['For other programs: ', ['bold', `eval "$(curl -s ${env})"`]],
    ['To stop everything, press Ctrl-C.'],
  ]
}

/** Adds the first note that fits on the line next to the port in use, or none. */
function row(label: string, url: string, takenPort: number | undefined, ...notes: string[]): readonly Span[] {
  const room = width - '  '.length - labelWidth - url.length - '  ()'.length
  const taken = takenPort === undefined ? [] : [`port ${takenPort} is in use`]
  const candidates = [...notes.map((note) => [...taken, note].join('; ')), ...taken]
  const shown = candidates.find((text) => text.length <= room)
  return ['  ', ['bold', label.padEnd(labelWidth)], ['cyan', url], ['dim', shown === undefined ? '' : `  (${shown})`]]
}

function directoryRow({ directory }: Stack): readonly Span[] {
  const { path, isEphemeral, isKept } = directory
  const shown = shortPath(path)
  const kept = isKept ? '  (restored; --fresh starts over)' : '  (kept for the next start)'
  const note = isEphemeral ? '  (removed at the end)' : kept
  const fits = '  '.length + labelWidth + shown.length + note.length < width
  return ['  ', ['bold', 'Directory'.padEnd(labelWidth)], shown, ['dim', fits ? note : '']]
}

/** A step of the request, truncated to the width of the terminal. */
export function storyLine(text: string, emphasis?: readonly [Style, string]): readonly Span[] {
  const shown = text.length > width - 3 ? `${text.slice(0, width - 4)}…` : text
  const at = emphasis === undefined ? -1 : shown.indexOf(emphasis[1])
  if (emphasis === undefined || at < 0) return ['  ', shown]
  return ['  ', shown.slice(0, at), emphasis, shown.slice(at + emphasis[1].length)]
}
