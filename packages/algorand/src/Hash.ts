import * as crypto from 'node:crypto'
import * as Base32 from './internal/Base32.js'
import * as Bytes from './internal/Bytes.js'

/** Prefixes that keep a signature or hash made for one purpose from being valid for another. */
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

export type Domain = (typeof domains)[keyof typeof domains]

const prefixes = new Map<Domain, Uint8Array>(
  Object.values(domains).map((domain) => [domain, new Uint8Array(Buffer.from(domain, 'latin1'))]),
)

const digestLength = 32
const textLength = 52

/** SHA-512/256: its own initial state, not SHA-512 cut short. */
export function sha512_256(data: Uint8Array): Uint8Array {
  // Of all ways to ask Node for a short hash, this takes less than half the time of any that makes a Buffer.
  const digest = crypto.hash('sha512-256', data, 'binary')
  const out = new Uint8Array(digestLength)
  for (let index = 0; index < digestLength; index++) out[index] = digest.charCodeAt(index)
  return out
}

export function hash(domain: Domain, ...parts: readonly Uint8Array[]): Uint8Array {
  return sha512_256(prefixed(domain, ...parts))
}

/** The domain's prefix followed by the parts: what is hashed, and also what is signed. */
export function prefixed(domain: Domain, ...parts: readonly Uint8Array[]): Uint8Array {
  const prefix = prefixes.get(domain)
  if (prefix === undefined) throw new TypeError('unknown hash domain')
  return Bytes.concat([prefix, ...parts])
}

/** A digest as nodes show ids of transactions and hashes of blocks: 52 characters. */
export function toText(digest: Uint8Array): string {
  if (digest.length !== digestLength) throw new RangeError(`a digest has ${digestLength} bytes, not ${digest.length}`)
  return Base32.encode(digest)
}

/** The digest, or undefined for anything but the one spelling that `toText` gives it. */
export function fromText(text: string): Uint8Array | undefined {
  return text.length === textLength ? Base32.decode(text) : undefined
}
