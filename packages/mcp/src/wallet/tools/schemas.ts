/** JSON Schemas of arguments and results. */
import { fromJsonSchema, type JsonSchemaType, type StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { maxRequestBodyLength, maxUrlLength } from '../GuardedFetch.js'

type Properties = { readonly [name: string]: JsonSchemaType }

/** The schema of an object with these members. All members are required except the `optional` ones. */
export function object(properties: Properties, optional: readonly string[] = []): JsonSchemaType {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, required, additionalProperties: false } as JsonSchemaType
}

export function schema<T>(properties: Properties, optional: readonly string[] = []): StandardSchemaWithJSON<T, T> {
  return fromJsonSchema<T>(object(properties, optional))
}

export const text = (description: string): JsonSchemaType => ({ type: 'string', description })
export const nullable = (one: JsonSchemaType): JsonSchemaType => ({ anyOf: [one, { type: 'null' }] }) as JsonSchemaType
export const list = (items: JsonSchemaType, description: string): JsonSchemaType =>
  ({ type: 'array', items, description }) as JsonSchemaType
export const oneOf = (values: readonly string[], description: string): JsonSchemaType =>
  ({ type: 'string', enum: values, description }) as JsonSchemaType

export const url: JsonSchemaType = {
  type: 'string',
  maxLength: maxUrlLength,
  description: 'absolute URL: https, or http where the owner of this server allowed it',
}

export const headers = {
  type: 'object',
  additionalProperties: { type: 'string' },
  maxProperties: 32,
  description: 'request headers; this server sets payment and connection headers',
} as unknown as JsonSchemaType

export const body: JsonSchemaType = {
  type: 'string',
  maxLength: maxRequestBodyLength,
  description: 'request body, for methods that have one',
}

export const transactionId: JsonSchemaType = {
  type: 'string',
  pattern: '^(upto-)?[A-Z2-7]{52}$',
  description: 'transaction id of a payment, or the id of an authorization for a price by usage',
}

export const approvalId: JsonSchemaType = {
  type: 'string',
  pattern: '^[A-Za-z0-9_-]{1,100}$',
  description: 'id of an approval, from paid_fetch',
}

export const quote = object({
  pay_to: text('the account that is paid'),
  amount: text('base units'),
  asset_id: text('asset id; 0 is ALGO'),
  network: text('CAIP-2 id'),
  price: text('the amount with its unit, such as $0.01'),
})

export const left = list(
  object({
    limit: text('the limit, such as $5/day'),
    left: text('how much of it is left'),
    resets_at: nullable(text('when more becomes available')),
  }),
  "what this agent may still spend under the owner's limits",
)

export const payment = object({
  transaction_id: text('transaction id'),
  pay_to: text('the account that was paid'),
  price: text('the amount with its unit'),
  amount: text('base units'),
  asset_id: text('asset id; 0 is ALGO'),
  network: text('CAIP-2 id'),
  state: oneOf(['open', 'settled', 'expired'], 'state on the ledger: open may still be settled, expired never will be'),
  signed_at: text('when it was signed'),
})

export const paymentUrls = object({
  notice: text('how to treat the content'),
  urls: {
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'the URLs paid for, by transaction id',
  } as unknown as JsonSchemaType,
})
