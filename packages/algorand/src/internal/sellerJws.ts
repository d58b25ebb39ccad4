/**
 * The JWS (RFC 7515) of a seller: compact, with EdDSA and the DID of its key (`did:key`). Receipts and offers are made of
 * it. The bytes to sign always begin with the encoded header, `eyJhbGciOiJFZERTQSIs`, so a signature is none of a
 * transaction, a program or anything else with a prefix of `Hash.domains`.
 */
import * as Bytes from '../Bytes.js'
import * as Ed25519 from '../Ed25519.js'
import * as Json from '../Json.js'

/** The longest JWS that is read. */
export const maxLength = 8_192
const maxUrlLength = 4_096
/** Ed25519 public keys (multicodec 0xed as a varint). */
const multicodec = [0xed, 0x01]
const prefix = 'did:key:z'

/**
 * The DID of an Ed25519 key.
 *
 * @throws Ed25519Error with the code `invalid_key_length`.
 */
export function did(publicKey: Uint8Array): string {
  if (publicKey.length !== 32) throw new Ed25519.Ed25519Error(`a public key has 32 bytes, not ${publicKey.length}`)
  return `${prefix}${toBase58(Bytes.concat([new Uint8Array(multicodec), publicKey]))}`
}

/** The Ed25519 key of a DID or a DID URL; undefined if it names none. */
export function publicKeyOf(didUrl: string): Uint8Array | undefined {
  const [own = ''] = didUrl.split('#')
  if (!own.startsWith(prefix) || own.length > 80) return undefined
  const bytes = fromBase58(own.slice(prefix.length))
  const isKey = bytes?.length === 34 && multicodec.every((byte, index) => bytes[index] === byte)
  const key = isKey ? bytes.subarray(2) : undefined
  // Another spelling of the same key is no DID of it.
  return key !== undefined && did(key) === own ? key : undefined
}

/**
 * The bytes that a key signs for a payload.
 *
 * @param payload its members in alphabetical order, as RFC 8785 requires, and texts without control characters, for whose
 * encoding RFC 8785 leaves no choice
 */
export function signingInput(publicKey: Uint8Array, payload: object): Uint8Array {
  const own = did(publicKey)
  // A DID URL names the key of the document, whose only key it is.
  const header = JSON.stringify({ alg: 'EdDSA', kid: `${own}#${own.slice('did:key:'.length)}` })
  return Bytes.fromUtf8(`${encode(header)}.${encode(JSON.stringify(payload))}`)
}

/** The JWS from the signed bytes and their signature. */
export function attach(signedBytes: Uint8Array, signature: Uint8Array): string {
  if (signature.length !== 64) throw new Ed25519.Ed25519Error(`a signature has 64 bytes, not ${signature.length}`)
  return `${Bytes.toUtf8(signedBytes)}.${Bytes.toBase64Url(signature)}`
}

export type Opened = { readonly payload: Json.Members | undefined; readonly publicKey: Uint8Array }

/** Verifies a JWS with the key that it names; the reason if it is not valid. */
export function open(jws: string): Opened | string {
  if (typeof jws !== 'string' || jws.length > maxLength) return `it has more than ${maxLength} characters`
  const parts = jws.split('.')
  const [header = '', payload = '', signature = ''] = parts
  const members = parts.length === 3 ? decode(header) : undefined
  if (members === undefined) return 'it is not a compact JWS'
  const { alg, kid } = members
  // Members such as `crit` and `b64` would change how the rest is read.
  if (alg !== 'EdDSA' || typeof kid !== 'string' || Object.keys(members).length !== 2) {
    return 'its header is not one with EdDSA and a key alone'
  }
  const publicKey = publicKeyOf(kid)
  if (publicKey === undefined) return 'its key is not an Ed25519 key as did:key'
  const bytes = Bytes.fromBase64Url(signature)
  const isExact = bytes?.length === 64 && Bytes.toBase64Url(bytes) === signature
  if (!isExact || !Ed25519.verify(bytes, Bytes.fromUtf8(`${header}.${payload}`), publicKey)) {
    return 'its signature is not valid'
  }
  return { payload: decode(payload), publicKey }
}

/** No control characters, and no half of a surrogate pair, which encoders write differently. */
const plain = /^[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]*$/u

/** The first reason why fields that receipts and offers share cannot be signed. */
export function fieldProblem(network: unknown, resourceUrl: unknown): string | undefined {
  const isNetwork = typeof network === 'string' && /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9+/=]{1,64}$/.test(network)
  if (!isNetwork) return 'its network is not a CAIP-2 id'
  const isUrl = typeof resourceUrl === 'string' && resourceUrl.length <= maxUrlLength && plain.test(resourceUrl)
  if (isUrl && /^[a-z][a-z0-9+.-]*:\/\//i.test(resourceUrl)) return undefined
  return `its resource is not a URL of at most ${maxUrlLength} characters`
}

const encode = (text: string): string => Bytes.toBase64Url(Bytes.fromUtf8(text))

function decode(text: string): Json.Members | undefined {
  const bytes = Bytes.fromBase64Url(text)
  // One text for the same bytes.
  if (bytes === undefined || Bytes.toBase64Url(bytes) !== text) return undefined
  const json = Bytes.toUtf8(bytes)
  return json === undefined ? undefined : Json.parseObject(json)
}

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** Base58 of Bitcoin, for a few dozen bytes that do not begin with 0. */
function toBase58(bytes: Uint8Array): string {
  let value = BigInt(`0x${Bytes.toHex(bytes)}`)
  let text = ''
  for (; value > 0n; value /= 58n) text = alphabet[Number(value % 58n)] + text
  return text
}

function fromBase58(text: string): Uint8Array | undefined {
  let value = 0n
  for (const character of text) {
    const digit = alphabet.indexOf(character)
    if (digit === -1) return undefined
    value = value * 58n + BigInt(digit)
  }
  const hex = value.toString(16)
  return Bytes.fromHex(hex.length % 2 === 0 ? hex : `0${hex}`)
}
