/**
 * The program that a buyer signs for the scheme `upto`: version 1 of a fixed template. Its source, and the reason for
 * each line, are in docs/schemes/upto.md. Constants have a fixed length, so that one set of terms has exactly one
 * program, and a program is recognized by comparing its bytes.
 */
import * as Address from './Address.js'
import * as Bytes from './Bytes.js'
import * as Hash from './Hash.js'
import type { Transaction } from './Transaction.js'

/** The terms of an authorization, which are the constants of its program. */
export type UptoTerms = {
  /** The account that pays. */
  readonly payer: string
  readonly payTo: string
  readonly assetId: bigint
  /** The highest amount that can be charged, in base units. */
  readonly maxAmount: bigint
  /** The lease of the transfer. The ledger accepts one transaction of the payer with it until `lastValid`. */
  readonly lease: Uint8Array
  /** The last valid round of the transfer. */
  readonly lastValid: bigint
  readonly genesisHash: Uint8Array
  /** The account that sends the first transaction of the group and pays its fees. */
  readonly facilitator: string
}

/** The version of the template. */
export const version = 1

const maxInteger = 2n ** 64n - 1n

type Slot = keyof UptoTerms
type Part = Uint8Array | Slot

/** The template: code, and the constants between it. Each line is a statement of the source. */
const parts: readonly Part[] = [
  code('0a'), // #pragma version 10
  code('3110 8104 12 44'), // txn TypeEnum; pushint 4; ==; assert
  ...isBytes('3100', 'payer'), // txn Sender
  ...isInteger('3111', 'assetId', '12'), // txn XferAsset
  ...isBytes('3114', 'payTo'), // txn AssetReceiver
  ...isInteger('3112', 'maxAmount', '0e'), // txn AssetAmount <=
  code('3113 3203 12 44'), // txn AssetSender; global ZeroAddress; ==; assert
  code('3115 3203 12 44'), // txn AssetCloseTo; global ZeroAddress; ==; assert
  code('3120 3203 12 44'), // txn RekeyTo; global ZeroAddress; ==; assert
  code('3101 14 44'), // txn Fee; !; assert
  ...isBytes('3106', 'lease'), // txn Lease
  ...isInteger('3104', 'lastValid', '12'), // txn LastValid
  ...isBytes('3211', 'genesisHash'), // global GenesisHash
  code('330000 8020'), // gtxn 0 Sender; pushbytes
  'facilitator',
  code('12'), // ==
]

const lengths: { readonly [slot in Slot]: 8 | 32 } = {
  payer: 32,
  payTo: 32,
  assetId: 8,
  maxAmount: 8,
  lease: 32,
  lastValid: 8,
  genesisHash: 32,
  facilitator: 32,
}

function code(hex: string): Uint8Array {
  return Bytes.fromHex(hex.replaceAll(' ', ''))!
}

/** Compares a field with 32 bytes: `pushbytes; ==; assert`. */
function isBytes(field: string, slot: Slot): Part[] {
  return [code(`${field} 8020`), slot, code('12 44')]
}

/** Compares a field with an integer of eight bytes: `pushbytes; btoi; == or <=; assert`. */
function isInteger(field: string, slot: Slot, comparison: string): Part[] {
  return [code(`${field} 8008`), slot, code(`17 ${comparison} 44`)]
}

/** The length of every program of the template. */
export const programLength: number = parts.reduce(
  (sum, part) => sum + (typeof part === 'string' ? lengths[part] : part.length),
  0,
)

/**
 * Builds the program of the terms.
 *
 * @throws RangeError for an integer that is not one of 64 bits, or bytes of another length
 * @throws AddressError for an address that is not valid
 */
export function build(terms: UptoTerms): Uint8Array {
  return Bytes.concat(parts.map((part) => (typeof part === 'string' ? encode(part, terms[part]) : part)))
}

/** Returns the terms of a program; undefined for every other program. */
export function parse(program: Uint8Array): UptoTerms | undefined {
  if (program.length !== programLength) return undefined
  const found = new Map<Slot, Uint8Array>()
  let at = 0
  for (const part of parts) {
    const length = typeof part === 'string' ? lengths[part] : part.length
    const bytes = program.slice(at, at + length)
    at += length
    if (typeof part === 'string') found.set(part, bytes)
    else if (!Bytes.equal(bytes, part)) return undefined
  }
  return {
    payer: Address.encode(found.get('payer')!),
    payTo: Address.encode(found.get('payTo')!),
    assetId: toInteger(found.get('assetId')!),
    maxAmount: toInteger(found.get('maxAmount')!),
    lease: found.get('lease')!,
    lastValid: toInteger(found.get('lastValid')!),
    genesisHash: found.get('genesisHash')!,
    facilitator: Address.encode(found.get('facilitator')!),
  }
}

/** The SHA-256 of the template with all constants zero, as published in its specification. */
export function templateHash(): string {
  const zero = parts.map((part) => (typeof part === 'string' ? new Uint8Array(lengths[part]) : part))
  return Bytes.toHex(Hash.sha256(Bytes.concat(zero)))
}

/** The length of the random part of an authorization. */
export const nonceLength = 16

const leaseDomain = Bytes.fromUtf8('x402-upto-v1')

/**
 * The lease of an authorization: a digest of all other terms and a random nonce. Two authorizations with the same lease
 * are therefore the same authorization, and cannot have different last valid rounds, with which the ledger would accept
 * both.
 *
 * @throws RangeError for a nonce of another length
 */
export function leaseOf(terms: Omit<UptoTerms, 'lease'>, nonce: Uint8Array): Uint8Array {
  if (nonce.length !== nonceLength) throw new RangeError(`a nonce has ${nonceLength} bytes, not ${nonce.length}`)
  const slots = ['payer', 'payTo', 'assetId', 'maxAmount', 'lastValid', 'genesisHash', 'facilitator'] as const
  return Hash.sha512_256(Bytes.concat([leaseDomain, ...slots.map((slot) => encode(slot, terms[slot])), nonce]))
}

/** The id of the authorization with this lease: `upto-` and the lease in base32. */
export function idOf(lease: Uint8Array): string {
  return `${idPrefix}${Hash.toText(lease)}`
}

/** The lease in the id of an authorization; undefined for any other text. */
export function leaseOfId(id: string): Uint8Array | undefined {
  return id.startsWith(idPrefix) ? Hash.fromText(id.slice(idPrefix.length)) : undefined
}

const idPrefix = 'upto-'

/** Returns why no key may sign the terms; undefined if one may. */
export function problemOf({ assetId, maxAmount, payer, payTo, facilitator }: UptoTerms): string | undefined {
  if (assetId === 0n || maxAmount === 0n) return 'the program names no asset or no amount'
  if (payer === facilitator || payer === payTo) return 'the payer is also the facilitator or the receiver'
  return undefined
}

/** A transfer is valid for at most this many rounds. */
export const maxValidityRounds = 1_000n

/** The first round of every transfer of the authorization. */
export function firstValidOf({ lastValid }: Pick<UptoTerms, 'lastValid'>): bigint {
  return lastValid > maxValidityRounds ? lastValid - maxValidityRounds : 0n
}

/** The transfer of an amount, without its group. */
export function transferOf(terms: UptoTerms, amount: bigint): Transaction {
  const firstValid = firstValidOf(terms)
  return {
    ...(firstValid === 0n ? {} : { fv: firstValid }),
    lv: terms.lastValid,
    gh: terms.genesisHash,
    type: 'axfer',
    snd: Address.decode(terms.payer),
    arcv: Address.decode(terms.payTo),
    ...(amount === 0n ? {} : { aamt: amount }),
    xaid: terms.assetId,
    lx: terms.lease,
    note: Bytes.fromUtf8(idOf(terms.lease)),
  }
}

function encode(slot: Slot, value: string | bigint | Uint8Array): Uint8Array {
  if (typeof value === 'bigint') return fromInteger(value)
  const bytes = typeof value === 'string' ? Address.decode(value) : value
  if (bytes.length !== lengths[slot]) throw new RangeError(`${slot} has ${lengths[slot]} bytes, not ${bytes.length}`)
  return bytes
}

function fromInteger(value: bigint): Uint8Array {
  if (value < 0n || value > maxInteger) throw new RangeError(`${value} is not an unsigned integer of 64 bits`)
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, value)
  return bytes
}

function toInteger(bytes: Uint8Array): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0)
}
