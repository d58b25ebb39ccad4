/**
 * The start of the next page, as clients send it back: after a round and a position in its block. It stays valid while
 * blocks are added, and has the format of an indexer's token.
 */
export type Position = { readonly round: bigint; readonly intra: number }

export function ofTransaction({ round, intra }: Position): string {
  const bytes = Buffer.alloc(12)
  bytes.writeBigUInt64LE(round)
  bytes.writeUInt32LE(intra, 8)
  return encode(bytes)
}

export function ofRound(round: bigint): string {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(round)
  return encode(bytes)
}

export function readTransaction(token: string): Position | undefined {
  const bytes = decode(token, 12)
  return bytes && { round: bytes.readBigUInt64LE(), intra: bytes.readUInt32LE(8) }
}

export function readRound(token: string): bigint | undefined {
  return decode(token, 8)?.readBigUInt64LE()
}

/** Explains why a token is invalid, with the text of an indexer. */
export function reason(token: string): string {
  const letters = token.replace(/={1,2}$/, '')
  const invalid = letters.search(/[^A-Za-z0-9_-]/)
  const position = invalid >= 0 ? invalid : token.length % 4 === 0 ? undefined : letters.length - (letters.length % 4)
  if (position !== undefined) return `decode err: illegal base64 data at input byte ${position}`
  return `bad next token b: ${Buffer.from(token, 'base64url').toString('hex')}`
}

/** Base64 for URLs, with padding. */
function encode(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_')
}

function decode(token: string, length: number): Buffer | undefined {
  const bytes = Buffer.from(token, 'base64url')
  return bytes.length === length && encode(bytes) === token ? bytes : undefined
}
