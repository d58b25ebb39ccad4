/** What every implementation behind the package import `#platform` offers: the same everywhere, but fast on Node. */
export type Platform = {
  isUtf8(bytes: Uint8Array): boolean
  /** The text, or undefined if the bytes are not UTF-8. */
  decodeUtf8(bytes: Uint8Array): string | undefined
  /** The text, with replacement characters for what is not UTF-8. */
  decodeUtf8Lossy(bytes: Uint8Array): string
  /** One character for each byte. */
  decodeLatin1(bytes: Uint8Array): string
  encodeBase64(bytes: Uint8Array): string
  /** The bytes of padded base64 in the standard alphabet, or undefined for any other spelling. */
  decodeBase64(text: string): Uint8Array | undefined
  encodeHex(bytes: Uint8Array): string
  /** Keeps the memory from being moved to another thread. */
  markAsUntransferable(buffer: ArrayBuffer): void
}
