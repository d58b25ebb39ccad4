/**
 * Colour for terminals that support it. The text of each part is made printable separately, so it cannot add colour.
 */
import { printable } from './format.js'

/** The codes of ECMA-48 that set a rendition. */
const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const

export type Style = keyof typeof codes
/** A text, optionally with a style. */
export type Span = string | readonly [style: Style, text: string]

type Stream = { readonly isTTY?: boolean | undefined }
type Environment = { readonly [name: string]: string | undefined }

/**
 * Whether a stream shows colour: a terminal does unless NO_COLOR is set or it is a dumb one. FORCE_COLOR decides for
 * all streams.
 */
export function hasColor({ isTTY }: Stream, environment: Environment = process.env): boolean {
  const { FORCE_COLOR: force, NO_COLOR: none = '', TERM: terminal } = environment
  if (force !== undefined) return force !== '0' && force !== 'false'
  return isTTY === true && none === '' && terminal !== 'dumb'
}

/** One line of text for a stream. */
export function styled(spans: readonly Span[], stream: Stream, environment: Environment = process.env): string {
  const isColored = hasColor(stream, environment)
  return spans
    .map((span) => {
      if (typeof span === 'string') return printable(span)
      const [style, text] = span
      return isColored ? `\x1b[${codes[style]}m${printable(text)}\x1b[0m` : printable(text)
    })
    .join('')
}
