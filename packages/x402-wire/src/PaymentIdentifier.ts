/**
 * The extension `payment-identifier`: the buyer names a purchase, and each further payment under the same name is the
 * same purchase, which is charged once.
 */
import { Bytes, Json } from '@latchkey/algorand'
import type { PaymentPayload } from './parsePayment.js'

/** The key of this extension in `extensions`. */
export const key = 'payment-identifier'
const [minLength, maxLength] = [16, 128]
const pattern = '^[a-zA-Z0-9_-]+$'
const isPlain = new RegExp(pattern)

/** The declaration that a seller adds to `extensions` of a PaymentRequired. */
export function declaration(isRequired: boolean): { readonly [key]: object } {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { required: { type: 'boolean' }, id: { type: 'string', minLength, maxLength, pattern } },
    required: ['required'],
  }
  return { [key]: { info: { required: isRequired }, schema } }
}

/** Whether a seller supports or requires identifiers; undefined if it does neither. */
export function declared(extensions: unknown): 'optional' | 'required' | undefined {
  const info = infoOf(extensions)
  if (info === undefined || typeof info['required'] !== 'boolean') return undefined
  return info['required'] ? 'required' : 'optional'
}

/** Creates an identifier in the form of the published packages. */
export function create(): string {
  return `pay_${Bytes.toHex(Bytes.random(16))}`
}

/** Whether a text is an identifier: 16 to 128 letters, digits, `-` and `_`. */
export function isValid(text: unknown): text is string {
  return typeof text === 'string' && text.length >= minLength && text.length <= maxLength && isPlain.test(text)
}

/** Adds an identifier to a payment. The payment is unchanged if the seller did not declare the extension. */
export function add(payload: PaymentPayload, id: string): PaymentPayload {
  if (declared(payload.extensions) === undefined) return payload
  const extension = payload.extensions![key] as { info: object }
  const info = { ...extension.info, id }
  return { ...payload, extensions: { ...payload.extensions, [key]: { ...extension, info } } }
}

/** The identifier in a payment: undefined if there is none, and null for a value that is not an identifier. */
export function read({ extensions }: PaymentPayload): string | null | undefined {
  const id = infoOf(extensions)?.['id']
  if (id === undefined) return undefined
  return isValid(id) ? id : null
}

function infoOf(extensions: unknown): Json.Members | undefined {
  const extension = Json.isObject(extensions) ? extensions[key] : undefined
  const info = Json.isObject(extension) ? extension['info'] : undefined
  return Json.isObject(info) ? info : undefined
}
