/**
 * Byte strings: comparison, concatenation, text forms, random bytes. Everything takes and returns plain `Uint8Array`s.
 */
export {
  concat,
  equal,
  equalConstantTime,
  fromBase32,
  fromBase64,
  fromBase64Url,
  fromHex,
  fromUtf8,
  isZero,
  random,
  toBase32,
  toBase64,
  toBase64Url,
  toHex,
  toUtf8,
  wipe,
} from './internal/Bytes.js'
