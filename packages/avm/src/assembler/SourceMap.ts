/** Source maps, version 3: the line and column of each instruction. */
import type { Place } from './Program.js'

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Encodes the places of instructions as the `mappings` of a source map with one entry for each byte. */
export function encode(places: ReadonlyMap<number, Place>): string {
  let last = -1
  for (const offset of places.keys()) last = Math.max(last, offset)
  const entries: string[] = []
  let line = 0
  let column = 0
  for (let offset = 0; offset <= last; offset++) {
    const place = places.get(offset)
    if (place === undefined) {
      entries.push('')
      continue
    }
    entries.push(`AA${encodeNumber(place.line - 1 - line)}${encodeNumber(place.column - column)}`)
    line = place.line - 1
    column = place.column
  }
  return entries.join(';')
}

function encodeNumber(value: number): string {
  let rest = value < 0 ? (-value << 1) | 1 : value << 1
  let text = ''
  do {
    const digit = rest & 31
    rest >>>= 5
    text += digits[rest > 0 ? digit | 32 : digit]
  } while (rest > 0)
  return text
}
