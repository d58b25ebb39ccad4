/**
 * Asks a seller for the offer of a resource: an unpaid request whose 402 is the seller's own word. The address comes
 * from a buyer, so a request that may change something is sent only if the seller itself says that it is paid: in its
 * OpenAPI document, or in the list of its tools.
 */
import { decodeRequired, PaymentHeaders, type PaymentRequired, paymentRequired } from '@latchkey/x402-wire'
import type { SystemFacts } from '../../../addresses.js'
import type { OfferRequest } from './FetchOffer.js'
import { GuardedRequests } from './GuardedRequests.js'
import { isPaidOperation } from './isPaidOperation.js'
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
