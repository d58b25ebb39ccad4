/**
 * The extension `offer-receipt`: offers that the seller has signed, in the 402, and a receipt that it has signed, in the
 * settlement that it reports.
 */
import { Json, SignedReceipt } from '@latchkey/algorand'
import type { PaymentRequired, SettleResponse } from './parsePayment.js'

/** The key of the extension. */
export const key = 'offer-receipt'

const text = { type: 'string' } as const

/** The schema that the published packages send with a receipt. */
const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    receipt: { type: 'object', properties: { format: text, signature: text }, required: ['format', 'signature'] },
  },
  required: ['receipt'],
} as const

/** The schema of offers. The published one also describes another format, and would fill the header. */
const offerSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: { offers: { type: 'array' } },
  required: ['offers'],
} as const

/** Adds signed offers to a 402, by their positions in `accepts`. */
export function addOffers(required: PaymentRequired, offers: ReadonlyMap<number, string>): PaymentRequired {
  if (offers.size === 0) return required
  const signed = [...offers].map(([acceptIndex, signature]) => ({ format: 'jws', acceptIndex, signature }))
  const extension = { info: { offers: signed }, schema: offerSchema }
  return { ...required, extensions: { ...required.extensions, [key]: extension } }
}

/** Adds a signed receipt to a settlement. */
export function add(settlement: SettleResponse, jws: string): SettleResponse {
  const extension = { info: { receipt: { format: 'jws', signature: jws } }, schema }
  return { ...settlement, extensions: { ...settlement.extensions, [key]: extension } }
}

/** The receipt in the settlement that a seller reports, unverified; undefined if there is none in this format. */
export function read(settlement: Json.Members): string | undefined {
  const extensions = settlement['extensions']
  const extension = Json.isObject(extensions) ? extensions[key] : undefined
  const info = Json.isObject(extension) ? extension['info'] : undefined
  const receipt = Json.isObject(info) ? info['receipt'] : undefined
  if (!Json.isObject(receipt) || receipt['format'] !== 'jws') return undefined
  const { signature } = receipt
  return typeof signature === 'string' && signature.length <= SignedReceipt.maxLength ? signature : undefined
}
