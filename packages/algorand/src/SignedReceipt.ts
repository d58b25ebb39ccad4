/**
 * Receipts of the x402 extension `offer-receipt`: a seller's signed statement that a payment opened a resource, as a
 * compact JWS (RFC 7515) with EdDSA and the DID of its key (`did:key`).
 *
 * The bytes to sign are made from typed fields, never from bytes of the caller. They always begin with the encoded
 * header, `eyJhbGciOiJFZERTQSIs`, so a signature of a receipt is no signature of a transaction, a program or anything
 * else with a prefix of {@link Hash.domains}.
 */
import * as Address from './Address.js'
import { errors } from './errors.js'
import { did, fieldProblem, open, signingInput } from './internal/sellerJws.js'
import type * as Json from './Json.js'
import { LatchkeyError } from './LatchkeyError.js'

export { attach, did, maxLength, publicKeyOf } from './internal/sellerJws.js'

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

const version = 1

/**
 * The bytes that a key signs for a receipt.
 *
 * @throws ReceiptError for a field that no receipt can have
 * @throws Ed25519Error with the code `invalid_key_length`
 */
export function bytesToSign(publicKey: Uint8Array, receipt: Receipt): Uint8Array {
  const { issuedAt, network, payer, resourceUrl, transaction } = checkReceipt(receipt)
  return signingInput(publicKey, { issuedAt, network, payer, resourceUrl, transaction, version })
}

/**
 * Verifies a receipt with the key that it names. Whether that key is the seller's is for the caller to decide.
 *
 * @throws ReceiptError if it is not a receipt, or its signature is not valid
 */
export function verify(jws: string): Verified {
  const opened = open(jws)
  if (typeof opened === 'string') throw new ReceiptError(opened)
  const { payload, publicKey } = opened
  return { receipt: receiptIn(payload), signer: Address.encode(publicKey), did: did(publicKey) }
}

function receiptIn(members: Json.Members | undefined): Receipt {
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

/**
 * Returns the receipt if its fields are those of one.
 *
 * @throws ReceiptError
 */
export function checkReceipt(receipt: Receipt): Receipt {
  const { network, resourceUrl, payer, issuedAt, transaction } = receipt
  const problem = fieldProblem(network, resourceUrl)
  if (problem !== undefined) throw new ReceiptError(problem)
  const isPayer = typeof payer === 'string' && /^[A-Za-z0-9]{1,64}$/.test(payer)
  if (!isPayer) throw new ReceiptError('its payer is not an address')
  if (!Number.isSafeInteger(issuedAt) || issuedAt < 0) throw new ReceiptError('its time is not a number of seconds')
  const isId =
    transaction === undefined || (typeof transaction === 'string' && /^[A-Za-z0-9]{1,128}$/.test(transaction))
  if (!isId) throw new ReceiptError('its transaction is not a transaction id')
  return receipt
}

/** A text that is not a valid receipt, or a receipt that cannot be made. */
export class ReceiptError extends LatchkeyError<'invalid_receipt'> {
  override name = 'ReceiptError'

  constructor(why: string) {
    super('invalid_receipt', `the receipt is not valid: ${why}`, { hint: errors.invalid_receipt.hint })
  }
}
