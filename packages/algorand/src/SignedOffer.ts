/**
 * Offers of the x402 extension `offer-receipt`: a seller's signed statement of a price, as a compact JWS (RFC 7515) with
 * EdDSA and the DID of its key (`did:key`). A buyer can prove with it what the seller asked for.
 *
 * The bytes to sign are made from typed fields, as those of a {@link SignedReceipt}, and a signature is valid for nothing
 * else.
 */
import * as Address from './Address.js'
import { errors } from './errors.js'
import { did, fieldProblem, open, signingInput } from './internal/sellerJws.js'
import { LatchkeyError } from './LatchkeyError.js'

export { attach } from './internal/sellerJws.js'

/** The content of an offer. */
export type Offer = {
  /** The URL that is offered. */
  readonly resourceUrl: string
  /** The scheme of the payment, such as `exact`. */
  readonly scheme: string
  /** The CAIP-2 id of the network. */
  readonly network: string
  /** The id of the asset. */
  readonly asset: string
  /** The address that is paid. */
  readonly payTo: string
  /** Base units of the asset. */
  readonly amount: string
  /** Seconds since 1970. */
  readonly validUntil: number
}

/** An offer whose signature is valid. */
export type Verified = {
  readonly offer: Offer
  /** The address of the key that signed it. */
  readonly signer: string
  /** The DID of that key. */
  readonly did: string
}

const version = 1

/**
 * The bytes that a key signs for an offer.
 *
 * @throws OfferError for a field that no offer can have
 * @throws Ed25519Error with the code `invalid_key_length`
 */
export function bytesToSign(publicKey: Uint8Array, offer: Offer): Uint8Array {
  const { amount, asset, network, payTo, resourceUrl, scheme, validUntil } = checkOffer(offer)
  return signingInput(publicKey, { amount, asset, network, payTo, resourceUrl, scheme, validUntil, version })
}

/**
 * Verifies an offer with the key that it names. Whether that key is the seller's, and whether the offer is still valid,
 * is for the caller to decide.
 *
 * @throws OfferError if it is not an offer, or its signature is not valid
 */
export function verify(jws: string): Verified {
  const opened = open(jws)
  if (typeof opened === 'string') throw new OfferError(opened)
  const { payload, publicKey } = opened
  if (payload?.['version'] !== version) throw new OfferError('its payload is not an offer of version 1')
  const { amount, asset, network, payTo, resourceUrl, scheme, validUntil } = payload as unknown as Offer
  const offer = checkOffer({ resourceUrl, scheme, network, asset, payTo, amount, validUntil })
  return { offer, signer: Address.encode(publicKey), did: did(publicKey) }
}

/**
 * Returns the offer if its fields are those of one.
 *
 * @throws OfferError
 */
export function checkOffer(offer: Offer): Offer {
  const { network, resourceUrl, scheme, asset, payTo, amount, validUntil } = offer
  const problem = fieldProblem(network, resourceUrl)
  if (problem !== undefined) throw new OfferError(problem)
  const isText = (value: unknown, pattern: RegExp): boolean => typeof value === 'string' && pattern.test(value)
  if (!isText(scheme, /^[a-z0-9-]{1,32}$/)) throw new OfferError('its scheme is not the name of one')
  if (!isText(asset, /^[A-Za-z0-9]{1,64}$/)) throw new OfferError('its asset is not the id of one')
  if (!isText(payTo, /^[A-Za-z0-9]{1,64}$/)) throw new OfferError('its payee is not an address')
  if (!isText(amount, /^(0|[1-9][0-9]{0,77})$/)) throw new OfferError('its amount is not a number of base units')
  if (!Number.isSafeInteger(validUntil) || validUntil < 0) throw new OfferError('its time is not a number of seconds')
  return offer
}

/** A text that is not a valid offer, or an offer that cannot be made. */
export class OfferError extends LatchkeyError<'invalid_offer'> {
  override name = 'OfferError'

  constructor(why: string) {
    super('invalid_offer', `the offer is not valid: ${why}`, { hint: errors.invalid_offer.hint })
  }
}
