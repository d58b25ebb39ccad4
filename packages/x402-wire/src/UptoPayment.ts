/**
 * Payments of the scheme `upto`: one signature authorizes any transfer up to a maximum. The facilitator builds the
 * transfer after the work, with the amount that was used.
 */
import {
  Address,
  Bytes,
  Ed25519,
  Group,
  Json,
  Program,
  Submission,
  type Transaction,
  UptoProgram,
  type UptoTerms,
} from '@latchkey/algorand'
import { minRoundSeconds, validityRounds } from './buildPayment.js'
import { WireError } from './errors.js'
import type { PaymentRequirements } from './parsePayment.js'
import { decodeBase64 } from './texts.js'

/** The payload of the scheme `upto`. Bytes are standard base64. */
export type UptoPayload = {
  /** A program of the template, with the terms of the authorization. */
  readonly program: string
  /** The random part of the lease. */
  readonly nonce: string
  /** The Ed25519 signature of `Program` followed by the program. */
  readonly signature: string
  /** The address of the key that signed, if the payer is rekeyed to it. */
  readonly signer?: string | undefined
}

/** An authorization, read and checked: its program is of the template, its lease is derived, its signature is valid. */
export type Authorization = {
  /** The permanent id of the payment, before and after it is settled: `upto-` and the lease in base32. */
  readonly id: string
  readonly terms: UptoTerms
  readonly program: Uint8Array
  readonly signature: Uint8Array
  /** The key that signed: the payer's, or the one that the payer is rekeyed to. */
  readonly signer: string
}

/** A transfer is valid for at most this many rounds. */
export const maxValidityRounds: bigint = UptoProgram.maxValidityRounds
/** How long the settlement may take after the work. */
export const settleSeconds = 60
/** How long the buyer may take between building an authorization and sending it, for example to have it approved. */
const sendSeconds = 60
const idPrefix = 'upto-'
const idPattern = /^upto-[A-Z2-7]{52}$/
const noncePattern = /^[A-Za-z0-9+/]{22}==$/
const signaturePattern = /^[A-Za-z0-9+/]{86}==$/
const programCharacters = Math.ceil(UptoProgram.programLength / 3) * 4

/** The id of an authorization with this lease. */
export function idOf(lease: Uint8Array): string {
  return UptoProgram.idOf(lease)
}

/**
 * The lease of an authorization, from its id.
 *
 * @throws {@link UptoError} for another id
 */
export function leaseOfId(id: string): Uint8Array {
  const lease = UptoProgram.leaseOfId(id)
  if (lease === undefined) throw new UptoError('invalid_upto_payload', 'the id is not that of an authorization')
  return lease
}

/** Whether the id of a payment is that of an authorization, not of a transaction. */
export function isId(id: string): boolean {
  return id.startsWith(idPrefix) && idPattern.test(id)
}

/**
 * Reads the payload of a payment and checks everything that needs no requirement and no node.
 *
 * @throws {@link UptoError}
 */
export function read(payload: unknown): Authorization {
  const { program: programText, nonce: nonceText, signature: signatureText, signer: signerText } = membersOf(payload)
  // The length is compared before anything is decoded.
  const program = programText.length === programCharacters ? decodeBase64(programText) : undefined
  const terms = program && UptoProgram.parse(program)
  if (program === undefined || terms === undefined) {
    throw new UptoError('invalid_upto_program', 'the program is not version 1 of the template')
  }
  const nonce = noncePattern.test(nonceText) ? decodeBase64(nonceText) : undefined
  const signature = signaturePattern.test(signatureText) ? decodeBase64(signatureText) : undefined
  if (nonce === undefined || signature === undefined) {
    throw new UptoError('invalid_upto_payload', 'the nonce or the signature is not base64 of the right length')
  }
  const signer = signerText ?? terms.payer
  if (!Address.isValid(signer)) throw new UptoError('invalid_upto_payload', 'the signer is not an address')
  if (!Bytes.equal(UptoProgram.leaseOf(terms, nonce), terms.lease)) {
    throw new UptoError('invalid_upto_lease', 'the lease is not derived from the terms and the nonce')
  }
  checkTerms(terms)
  if (!Ed25519.verify(signature, Program.bytesToSign(program), Address.decode(signer))) {
    throw new UptoError('invalid_upto_signature', 'the signature of the program is invalid')
  }
  return { id: idOf(terms.lease), terms, program, signature, signer }
}

type Texts = { program: string; nonce: string; signature: string; signer: string | undefined }

function membersOf(payload: unknown): Texts {
  const { program, nonce, signature, signer } = Json.isObject(payload) ? payload : {}
  const isReadable = [program, nonce, signature].every((one) => typeof one === 'string')
  if (!isReadable || (signer !== undefined && typeof signer !== 'string')) {
    throw new UptoError('invalid_upto_payload', 'the payload has no program, nonce and signature')
  }
  return { program, nonce, signature, signer } as Texts
}

/** The term of an authorization that differs from its requirement. */
export type Mismatch = 'network' | 'asset' | 'payTo' | 'facilitator' | 'amount'

/**
 * Returns the first term that does not match a requirement; undefined if all match. `amount` of the requirement is the
 * maximum.
 */
export function mismatch(
  { terms }: Authorization,
  { asset, payTo, amount, extra }: PaymentRequirements,
  genesisHash: Uint8Array,
): Mismatch | undefined {
  if (!Bytes.equal(terms.genesisHash, genesisHash)) return 'network'
  if (terms.assetId.toString() !== asset) return 'asset'
  if (terms.payTo !== payTo) return 'payTo'
  if (terms.facilitator !== (extra as Json.Members | undefined)?.['feePayer']) return 'facilitator'
  return terms.maxAmount.toString() === amount ? undefined : 'amount'
}

/** The first round of every transfer of the authorization. */
export function firstValidOf(terms: Pick<UptoTerms, 'lastValid'>): bigint {
  return UptoProgram.firstValidOf(terms)
}

/** A transfer to build. */
export type TransferOrder = {
  readonly amount: bigint
  /** The fee of both transactions, which the facilitator pays. */
  readonly feeMicroAlgos: bigint
}

/** The transactions that settle an authorization. */
export type TransferGroup = {
  /** The facilitator's transaction, without a signature. */
  readonly fee: Submission.Decoded
  /** The transfer, with the buyer's logic signature. */
  readonly transfer: Submission.Decoded
}

/**
 * Builds the group that transfers an amount. The same order builds the same bytes.
 *
 * @throws {@link UptoError} for an amount above the maximum
 */
export function buildTransfer(authorization: Authorization, { amount, feeMicroAlgos }: TransferOrder): TransferGroup {
  const { id, terms, program, signature, signer } = authorization
  if (amount < 0n || amount > terms.maxAmount) {
    throw new UptoError('upto_amount_exceeds_maximum', `${amount} is above the maximum of ${terms.maxAmount}`)
  }
  const transfer = UptoProgram.transferOf(terms, amount)
  const { fv, lv, gh } = transfer
  const sponsor = Address.decode(terms.facilitator)
  const feeTransaction: Transaction.Transaction = {
    ...(fv === undefined ? {} : { fv }),
    lv,
    gh,
    type: 'pay',
    snd: sponsor,
    rcv: sponsor,
    fee: feeMicroAlgos,
    note: Bytes.fromUtf8(`x402-fee-payer-${id}`),
  }
  const [feeMember, transferMember] = Group.assign([feeTransaction, transfer])
  return {
    fee: Submission.withBytes({ txn: feeMember! }),
    transfer: Submission.withBytes({
      txn: transferMember!,
      lsig: { l: program, sig: signature },
      ...(signer === terms.payer ? {} : { sgnr: Address.decode(signer) }),
    }),
  }
}

/** Whether a transaction on the ledger is the transfer of an authorization. */
export function isTransfer(
  terms: Pick<UptoTerms, 'payer' | 'payTo' | 'assetId' | 'maxAmount' | 'lease'>,
  txn: Transaction.Transaction,
): boolean {
  return (
    txn.type === 'axfer' &&
    Address.encode(txn.snd) === terms.payer &&
    txn.arcv !== undefined &&
    Address.encode(txn.arcv) === terms.payTo &&
    txn.xaid === terms.assetId &&
    (txn.aamt ?? 0n) <= terms.maxAmount &&
    txn.lx !== undefined &&
    Bytes.equal(txn.lx, terms.lease)
  )
}

/** An authorization to build. */
export type AuthorizationOrder = {
  readonly payer: string
  readonly payTo: string
  readonly assetId: bigint
  readonly maxAmount: bigint
  readonly facilitator: string
  readonly genesisHash: Uint8Array
  readonly lastRound: bigint
  /** Whether the network is public. Other networks may produce rounds faster. */
  readonly isPublicNetwork: boolean
  readonly maxTimeoutSeconds: number
}

/** An authorization that is not signed yet. */
export type UnsignedAuthorization = {
  readonly id: string
  readonly terms: UptoTerms
  readonly nonce: Uint8Array
  /** The round in which the authorization was built. No transfer can be confirmed before the next one. */
  readonly firstValid: bigint
}

/**
 * How many rounds an authorization must still be valid for when it arrives: the longest work, `maxTimeoutSeconds` of the
 * requirement, and the settlement after it, at the fastest rounds of a public network.
 */
export function requiredRounds({ maxTimeoutSeconds }: Pick<AuthorizationOrder, 'maxTimeoutSeconds'>): bigint {
  return roundsIn(maxTimeoutSeconds + settleSeconds)
}

/** How many rounds may pass in a time on a public network. */
export function roundsIn(seconds: number): bigint {
  return BigInt(Math.ceil(seconds / minRoundSeconds))
}

/** Chooses a nonce, and derives the terms for the buyer to sign. */
export function buildAuthorization(order: AuthorizationOrder): UnsignedAuthorization {
  const { payer, payTo, assetId, maxAmount, facilitator, genesisHash, lastRound } = order
  const maxTimeoutSeconds = order.maxTimeoutSeconds + settleSeconds + sendSeconds
  const lastValid = lastRound + BigInt(validityRounds({ ...order, maxTimeoutSeconds }))
  const nonce = Bytes.random(UptoProgram.nonceLength)
  const terms = { payer, payTo, assetId, maxAmount, facilitator, genesisHash, lastValid }
  const lease = UptoProgram.leaseOf(terms, nonce)
  return { id: idOf(lease), terms: { ...terms, lease }, nonce, firstValid: lastRound }
}

/**
 * Checks an authorization before a key signs it: the terms are complete, for this payer, and the lease is derived from
 * them, so that no other authorization with the same lease exists.
 *
 * @throws {@link UptoError}
 */
export function checkUnsigned({ id, terms, nonce }: UnsignedAuthorization, payer: string): void {
  if (terms.payer !== payer) throw new UptoError('invalid_upto_program', 'the authorization is for another payer')
  checkTerms(terms)
  if (!Bytes.equal(UptoProgram.leaseOf(terms, nonce), terms.lease) || id !== idOf(terms.lease)) {
    throw new UptoError('invalid_upto_lease', 'the lease is not derived from the terms and the nonce')
  }
}

function checkTerms(terms: UptoTerms): void {
  const problem = UptoProgram.problemOf(terms)
  if (problem !== undefined) throw new UptoError('invalid_upto_program', problem)
}

/** The bytes that the key of the payer signs. */
export function bytesToSign({ terms }: UnsignedAuthorization): Uint8Array {
  return Program.bytesToSign(UptoProgram.build(terms))
}

/**
 * The payload in the form that buyers send.
 *
 * @param signer the address of the key that signed
 */
export function toPayload({ terms, nonce }: UnsignedAuthorization, signature: Uint8Array, signer: string): UptoPayload {
  return {
    program: Bytes.toBase64(UptoProgram.build(terms)),
    nonce: Bytes.toBase64(nonce),
    signature: Bytes.toBase64(signature),
    ...(signer === terms.payer ? {} : { signer }),
  }
}

/** The error codes of a payload that is not an authorization. */
export type UptoErrorCode =
  | 'invalid_upto_payload'
  | 'invalid_upto_program'
  | 'invalid_upto_lease'
  | 'invalid_upto_signature'
  | 'upto_amount_exceeds_maximum'

/** A payload that is not an authorization, or an amount that it does not cover. */
export class UptoError extends WireError<UptoErrorCode> {
  override name = 'UptoError'
}
