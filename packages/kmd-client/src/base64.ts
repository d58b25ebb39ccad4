/** Standard base64 with padding, without `Buffer`. */

/** The base64 of bytes. */
export function encode(bytes: Uint8Array): string {
  let binary = ''
  // `fromCharCode` takes its characters as arguments, of which a call has a limited number.
  for (let start = 0; start < bytes.length; start += pieceLength) {
    binary += String.fromCharCode(...bytes.subarray(start, start + pieceLength))
  }
  return btoa(binary)
}

/** The bytes, in memory of their own; undefined for anything but the one canonical spelling. */
export function decode(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined
  const binary = atob(text)
  // `atob` ignores set bits after the last byte.
  if (text.endsWith('=') && !text.endsWith(btoa(binary.slice(-(binary.length % 3))))) return undefined
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}

const pieceLength = 8192
