import type { Platform } from './Platform.js'

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const lossy = new TextDecoder('utf-8', { ignoreBOM: true })
/** The number of arguments that a call can take without risking a stack overflow. */
const maxArguments = 4096
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** The value of each character code, or 255 if the character is not in the alphabet. */
const values = new Uint8Array(128).fill(255)
for (let value = 0; value < alphabet.length; value++) values[alphabet.charCodeAt(value)] = value

export const isUtf8: Platform['isUtf8'] = (bytes) => decodeUtf8(bytes) !== undefined

export const decodeUtf8: Platform['decodeUtf8'] = (bytes) => {
  try {
    return strict.decode(bytes)
  } catch {
    return undefined
  }
}

export const decodeUtf8Lossy: Platform['decodeUtf8Lossy'] = (bytes) => lossy.decode(bytes)

export const decodeLatin1: Platform['decodeLatin1'] = (bytes) => {
  let text = ''
  for (let start = 0; start < bytes.length; start += maxArguments) {
    text += String.fromCharCode(...bytes.subarray(start, start + maxArguments))
  }
  return text
}

export const encodeBase64: Platform['encodeBase64'] = (bytes) => {
  let text = ''
  for (let index = 0; index < bytes.length; index += 3) {
    const [first, second, third] = [bytes[index]!, bytes[index + 1], bytes[index + 2]]
    text += alphabet[first >> 2]
    text += alphabet[((first & 3) << 4) | ((second ?? 0) >> 4)]
    text += second === undefined ? '=' : alphabet[((second & 15) << 2) | ((third ?? 0) >> 6)]
    text += third === undefined ? '=' : alphabet[third & 63]
  }
  return text
}

export const decodeBase64: Platform['decodeBase64'] = (text) => {
  if (text.length % 4 !== 0) return undefined
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const out = new Uint8Array((text.length / 4) * 3 - padding)
  let buffer = 0
  let bits = 0
  let length = 0
  for (let index = 0; index < text.length - padding; index++) {
    const code = text.charCodeAt(index)
    const value = code < 128 ? values[code]! : 255
    if (value === 255) return undefined
    buffer = ((buffer & 0xff) << 6) | value
    bits += 6
    if (bits < 8) continue
    bits -= 8
    out[length++] = (buffer >>> bits) & 0xff
  }
  // Nonzero bits past the last byte would be a second spelling of the same bytes.
  return (buffer & ((1 << bits) - 1)) === 0 ? out : undefined
}

export const encodeHex: Platform['encodeHex'] = (bytes) => {
  let text = ''
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0')
  return text
}

/** Browsers do not support this. */
export const markAsUntransferable: Platform['markAsUntransferable'] = () => {}
