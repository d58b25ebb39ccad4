import { isUtf8 as isUtf8InNode } from 'node:buffer'
import { markAsUntransferable as mark } from 'node:worker_threads'
import type { Platform } from './Platform.js'

// Called on plain arrays, because converting a short one to a Buffer moves its bytes out of the heap, which costs more
// than the rest of the call.
const { latin1Slice } = Buffer.prototype as unknown as {
  latin1Slice(this: Uint8Array, start: number, end: number): string
}

export const isUtf8: Platform['isUtf8'] = (bytes) => isUtf8InNode(bytes)
export const decodeUtf8: Platform['decodeUtf8'] = (bytes) => (isUtf8(bytes) ? decodeUtf8Lossy(bytes) : undefined)
export const decodeUtf8Lossy: Platform['decodeUtf8Lossy'] = (bytes) => buffer(bytes).toString('utf8')
export const decodeLatin1: Platform['decodeLatin1'] = (bytes) => latin1Slice.call(bytes, 0, bytes.length)
export const encodeBase64: Platform['encodeBase64'] = (bytes) => buffer(bytes).toString('base64')
export const encodeHex: Platform['encodeHex'] = (bytes) => buffer(bytes).toString('hex')
export const markAsUntransferable: Platform['markAsUntransferable'] = (memory) => mark(memory)

export const decodeBase64: Platform['decodeBase64'] = (text) => {
  const pooled = Buffer.from(text, 'base64')
  // Node skips foreign characters and ignores bits past the last byte. Encoding again reveals both.
  const bytes = pooled.toString('base64') === text ? new Uint8Array(pooled) : undefined
  // The text may have been a key, and the pool outlives the caller's copy.
  pooled.fill(0)
  return bytes
}

function buffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
