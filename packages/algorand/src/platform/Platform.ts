/**
 * The interface of every implementation behind the package import `#platform`: equal results everywhere, but fast on
 * Node.
 */
export type Platform = {
  isUtf8(bytes: Uint8Array): boolean
  /** Returns the text, or undefined if the bytes are not UTF-8. */
  decodeUtf8(bytes: Uint8Array): string | undefined
  /** Returns the text, with replacement characters for invalid UTF-8. */
  decodeUtf8Lossy(bytes: Uint8Array): string
  /** Returns one character per byte. */
  decodeLatin1(bytes: Uint8Array): string
  encodeBase64(bytes: Uint8Array): string
  /** Decodes padded base64 in the standard alphabet. Returns undefined for any other spelling. */
  decodeBase64(text: string): Uint8Array | undefined
  encodeHex(bytes: Uint8Array): string
  /** Prevents the memory from being transferred to another thread. */
  markAsUntransferable(buffer: ArrayBuffer): void
}
