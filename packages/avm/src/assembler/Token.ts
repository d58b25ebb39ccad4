/** Splits lines of source into tokens. */
import { Bytes } from '@latchkey/algorand'

/** A token and its place. */
export type Token = {
  readonly text: string
  /** The line, from 1. */
  readonly line: number
  /** The column in bytes of UTF-8, from 0. */
  readonly column: number
}

/** The column after the token. */
export function end(token: Token): number {
  return token.column + byteLength(token.text)
}

/** Splits a line. A semicolon is a separate token; comments are left out. */
export function split(source: string, line: number): Token[] {
  const tokens: Token[] = []
  let position = 0
  const isAscii = byteLength(source) === source.length
  const push = (start: number, stop: number): void => {
    tokens.push({ text: source.slice(start, stop), line, column: isAscii ? start : byteLength(source.slice(0, start)) })
  }
  while (position < source.length) {
    const character = source[position]!
    if (isSpace(character)) {
      position++
    } else if (character === ';') {
      push(position, position + 1)
      position++
    } else if (isComment(source, position) && !isBase64(tokens.at(-1)?.text)) {
      break
    } else {
      const start = position
      position = tokenEnd(source, position, isBase64(tokens.at(-1)?.text))
      push(start, position)
    }
  }
  return tokens
}

function byteLength(text: string): number {
  return Bytes.fromUtf8(text).length
}

function tokenEnd(source: string, start: number, followsBase64: boolean): number {
  let position = start
  if (source[start] === '"') {
    position = stringEnd(source, start)
  }
  let isInBase64 = followsBase64
  while (position < source.length) {
    const character = source[position]!
    if (isSpace(character) || character === ';') break
    if (character === '(' && isBase64(source.slice(start, position))) isInBase64 = true
    if (character === ')') isInBase64 = false
    if (!isInBase64 && isComment(source, position)) break
    position++
  }
  return position
}

/** Returns the position after the closing quote, or the end of the line. */
function stringEnd(source: string, start: number): number {
  for (let position = start + 1; position < source.length; position++) {
    if (source[position] === '\\') position++
    else if (source[position] === '"') return position + 1
  }
  return source.length
}

function isSpace(character: string): boolean {
  return character === ' ' || character === '\t'
}

function isComment(source: string, position: number): boolean {
  return source[position] === '/' && source[position + 1] === '/'
}

function isBase64(text: string | undefined): boolean {
  return text === 'base64' || text === 'b64'
}
