/**
 * Asks a seller for the offer of a resource: an unpaid request whose 402 is the seller's own word. The address comes
 * from a buyer, so a request that may change something is sent only if the seller itself says that it is paid: in its
 * OpenAPI document, or in the list of its tools.
 */
import { Json } from '@latchkey/algorand'
import { decodeRequired, PaymentHeaders, type PaymentRequired, paymentRequired } from '@latchkey/x402-wire'
import type { SystemFacts } from '../../../addresses.js'
import type { OfferRequest } from './FetchOffer.js'
import { GuardedRequests } from './GuardedRequests.js'
import { fetchToolOffer } from './toolOffer.js'

/** The methods of requests that are sent without asking for the seller's document first. */
const usual: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST'])
const maxDocumentBytes = 512 * 1024

/** Returns the offer, or undefined if the response is not a 402 with one. Rejects if the seller cannot be asked. */
export async function fetchOffer(
  request: OfferRequest,
  facts: Partial<SystemFacts> = {},
): Promise<PaymentRequired | undefined> {
  const { url, method, tool } = request
  const requests = new GuardedRequests(request, facts)
  if (tool !== undefined) return fetchToolOffer((one) => requests.send({ ...one, url }), tool)
  if (!usual.has(method) && !(await isPaid(requests, request))) return undefined
  const response = await requests.send({ method, url })
  if (response === undefined || response.status !== 402) return undefined
  const header = response.headers[paymentRequired.toLowerCase()]
  return typeof header === 'string' ? PaymentHeaders.orUndefined(() => decodeRequired(header)) : undefined
}

/** Whether the seller's OpenAPI document lists the request as paid. */
async function isPaid(requests: GuardedRequests, { url, method }: OfferRequest): Promise<boolean> {
  const document = new URL('/openapi.json', url)
  const response = await requests.send({ method: 'GET', url: document, maxBodyBytes: maxDocumentBytes })
  return response?.status === 200 && isPaidOperation(response.text, { method, path: url.pathname })
}

/** More than a gate lists. */
const maxPaths = 5_000

/** Whether a document, written by a stranger, lists the request with `x-payment-info`. */
export function isPaidOperation(text: string, { method, path }: { method: string; path: string }): boolean {
  const paths = Json.parseObject(text)?.['paths']
  if (!Json.isObject(paths)) return false
  const segments = path.split('/')
  for (const [template, operations] of Object.entries(paths).slice(0, maxPaths)) {
    if (!Json.isObject(operations) || !matches(template, segments)) continue
    const operation = operations[method.toLowerCase()]
    if (Json.isObject(operation) && Json.isObject(operation['x-payment-info'])) return true
  }
  return false
}

function matches(template: string, path: readonly string[]): boolean {
  const segments = template.split('/')
  if (segments.length !== path.length) return false
  return segments.every((segment, index) => /^\{[^{}]+\}$/.test(segment) || segment === path[index])
}
