/** Hashes, and the domain prefixes that separate hashes and signatures by purpose. */
import * as platform from '#platform'
import { errors } from './errors.js'
import * as Bytes from './internal/Bytes.js'
import { LatchkeyError } from './LatchkeyError.js'

/** Prefixes that prevent a signature or hash for one purpose from being valid for another. */
export const domains = {
  transaction: 'TX',
  group: 'TG',
  program: 'Program',
  multisigProgram: 'MsigProgram',
  multisigAddress: 'MultisigAddr',
  message: 'MX',
  programData: 'ProgData',
  genesis: 'GE',
  blockHeader: 'BH',
  signedTransactionInBlock: 'STIB',
  transactionLeaf: 'TL',
  merkleNode: 'MA',
} as const

/** One of the prefixes. */
export type Domain = (typeof domains)[keyof typeof domains]

const prefixes = new Map<Domain, Uint8Array>(
  Object.values(domains).map((domain) => [domain, Bytes.fromUtf8(domain).slice()]),
)

const digestLength = 32
const textLength = 52

/** SHA-512/256, the hash of Algorand. It has its own initial state and is not truncated SHA-512. */
export function sha512_256(data: Uint8Array): Uint8Array {
  return platform.sha512_256(data)
}

/** SHA-256. */
export function sha256(data: Uint8Array): Uint8Array {
  return platform.sha256(data)
}

/** HMAC with SHA-256 (RFC 2104). */
export function hmacSha256(key: Uint8Array, data: Uint8Array): Uint8Array {
  return platform.hmacSha256(key, data)
}

/** SHA-512/256 of the domain's prefix followed by the parts. */
export function hash(domain: Domain, ...parts: readonly Uint8Array[]): Uint8Array {
  return sha512_256(prefixed(domain, ...parts))
}

/** The domain's prefix followed by the parts: the bytes that are hashed or signed. */
export function prefixed(domain: Domain, ...parts: readonly Uint8Array[]): Uint8Array {
  const prefix = prefixes.get(domain)
  if (prefix === undefined) throw new TypeError('unknown hash domain')
  return Bytes.concat([prefix, ...parts])
}

/**
 * Encodes a digest as 52 characters, the form in which nodes show transaction ids and block hashes.
 *
 * @throws HashError with the code `invalid_digest`.
 */
export function toText(digest: Uint8Array): string {
  if (digest.length !== digestLength) throw new HashError(`a digest has ${digestLength} bytes, not ${digest.length}`)
  return Bytes.toBase32(digest)
}

/** Decodes a digest. Returns undefined for anything but the exact spelling of {@link toText}. */
export function fromText(text: string): Uint8Array | undefined {
  return text.length === textLength ? Bytes.fromBase32(text) : undefined
}

/** The bytes are not a digest. */
export class HashError extends LatchkeyError<'invalid_digest'> {
  override name = 'HashError'

  constructor(message: string) {
    super('invalid_digest', message, { hint: errors.invalid_digest.hint })
  }
}
