/**
 * Receipts of the x402 extension `offer-receipt`: a seller's signed statement that a payment opened a resource, as a
 * compact JWS (RFC 7515) with EdDSA and the DID of its key (`did:key`).
 *
 * The bytes to sign are made from typed fields, never from bytes of the caller. They always begin with the encoded
 * header, `eyJhbGciOiJFZERTQSIs`, so a signature of a receipt is no signature of a transaction, a program or anything
 * else with a prefix of {@link Hash.domains}.
 */
import * as Address from './Address.js'
import * as Bytes from './Bytes.js'
import * as Ed25519 from './Ed25519.js'
import { errors } from './errors.js'
import * as Json from './Json.js'
import { LatchkeyError } from './LatchkeyError.js'

/** The content of a receipt. */
export type Receipt = {
  /** The CAIP-2 id of the network. */
  readonly network: string
  /** The URL that was paid for. */
  readonly resourceUrl: string
  /** The address that paid. */
  readonly payer: string
  /** Seconds since 1970. */
  readonly issuedAt: number
  /** The id of the transaction that paid. */
  readonly transaction?: string | undefined
}

/** A receipt whose signature is valid. */
export type Verified = {
  readonly receipt: Receipt
  /** The address of the key that signed it. */
  readonly signer: string
  /** The DID of that key. */
  readonly did: string
}

/** The longest receipt that is read. */
export const maxLength = 8_192
const maxUrlLength = 4_096
const version = 1
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
 * The bytes that a key signs for a receipt.
 *
 * @throws ReceiptError for a field that no receipt can have
 * @throws Ed25519Error with the code `invalid_key_length`
 */
export function bytesToSign(publicKey: Uint8Array, receipt: Receipt): Uint8Array {
  const own = did(publicKey)
  // RFC 8785 orders the members and leaves no choice in the encoding of texts without control characters.
  const { issuedAt, network, payer, resourceUrl, transaction } = checkReceipt(receipt)
  const payload = JSON.stringify({ issuedAt, network, payer, resourceUrl, transaction, version })
  // A DID URL names the key of the document, whose only key it is.
  const header = JSON.stringify({ alg: 'EdDSA', kid: `${own}#${own.slice('did:key:'.length)}` })
  return Bytes.fromUtf8(`${encode(header)}.${encode(payload)}`)
}

/** The receipt from the signed bytes and their signature. */
export function attach(signedBytes: Uint8Array, signature: Uint8Array): string {
  if (signature.length !== 64) throw new Ed25519.Ed25519Error(`a signature has 64 bytes, not ${signature.length}`)
  return `${Bytes.toUtf8(signedBytes)}.${Bytes.toBase64Url(signature)}`
}

/**
 * Verifies a receipt with the key that it names. Whether that key is the seller's is for the caller to decide.
 *
 * @throws ReceiptError if it is not a receipt, or its signature is not valid
 */
export function verify(jws: string): Verified {
  if (typeof jws !== 'string' || jws.length > maxLength)
    throw new ReceiptError(`it has more than ${maxLength} characters`)
  const parts = jws.split('.')
  const [header = '', payload = '', signature = ''] = parts
  const members = parts.length === 3 ? decode(header) : undefined
  if (members === undefined) throw new ReceiptError('it is not a compact JWS')
  const { alg, kid } = members
  // Members such as `crit` and `b64` would change how the rest is read.
  if (alg !== 'EdDSA' || typeof kid !== 'string' || Object.keys(members).length !== 2) {
    throw new ReceiptError('its header is not that of a receipt with EdDSA')
  }
  const publicKey = publicKeyOf(kid)
  if (publicKey === undefined) throw new ReceiptError('its key is not an Ed25519 key as did:key')
  const bytes = Bytes.fromBase64Url(signature)
  const isExact = bytes?.length === 64 && Bytes.toBase64Url(bytes) === signature
  if (!isExact || !Ed25519.verify(bytes, Bytes.fromUtf8(`${header}.${payload}`), publicKey)) {
    throw new ReceiptError('its signature is not valid')
  }
  return { receipt: receiptIn(payload), signer: Address.encode(publicKey), did: did(publicKey) }
}

function receiptIn(payload: string): Receipt {
  const members = decode(payload)
  if (members?.['version'] !== version) throw new ReceiptError('its payload is not a receipt of version 1')
  const { network, resourceUrl, payer, issuedAt, transaction } = members as unknown as Receipt
  return checkReceipt({
    network,
    resourceUrl,
    payer,
    issuedAt,
    transaction: transaction === '' ? undefined : transaction,
  })
}

/** No control characters, and no half of a surrogate pair, which encoders write differently. */
const plain = /^[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]*$/u

/**
 * Returns the receipt if its fields are those of one.
 *
 * @throws ReceiptError
 */
export function checkReceipt(receipt: Receipt): Receipt {
  const { network, resourceUrl, payer, issuedAt, transaction } = receipt
  const isNetwork = typeof network === 'string' && /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9+/=]{1,64}$/.test(network)
  if (!isNetwork) throw new ReceiptError('its network is not a CAIP-2 id')
  const isUrl = typeof resourceUrl === 'string' && resourceUrl.length <= maxUrlLength && plain.test(resourceUrl)
  if (!isUrl || !/^[a-z][a-z0-9+.-]*:\/\//i.test(resourceUrl)) {
    throw new ReceiptError(`its resource is not a URL of at most ${maxUrlLength} characters`)
  }
  const isPayer = typeof payer === 'string' && /^[A-Za-z0-9]{1,64}$/.test(payer)
  if (!isPayer) throw new ReceiptError('its payer is not an address')
  if (!Number.isSafeInteger(issuedAt) || issuedAt < 0) throw new ReceiptError('its time is not a number of seconds')
  const isId =
    transaction === undefined || (typeof transaction === 'string' && /^[A-Za-z0-9]{1,128}$/.test(transaction))
  if (!isId) throw new ReceiptError('its transaction is not a transaction id')
  return receipt
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

/** A text that is not a valid receipt, or a receipt that cannot be made. */
export class ReceiptError extends LatchkeyError<'invalid_receipt'> {
  override name = 'ReceiptError'

  constructor(why: string) {
    super('invalid_receipt', `the receipt is not valid: ${why}`, { hint: errors.invalid_receipt.hint })
  }
}
