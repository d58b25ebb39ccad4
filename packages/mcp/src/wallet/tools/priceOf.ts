/** `price_of`: asks for the price of a URL without paying. */
import { TimeLimit } from '@latchkey/algorand'
import type { McpServer } from '@modelcontextprotocol/server'
import type { AgentWallet, PriceOf } from '../AgentWallet.js'
import { plainReason } from '../explainError.js'
import { type RequestArguments, readRequest } from '../GuardedFetch.js'
import { errorResult, result } from '../toolResult.js'
import { notice, plainText } from '../untrusted.js'
import { headers, list, nullable, object, oneOf, quote, schema, text, url } from './schemas.js'

const maxDescription = 500

const reason = {
  type: 'object',
  properties: { code: { type: 'string' } },
  description: 'why an offer cannot be paid',
} as const

export function registerPriceOf(server: McpServer, wallet: AgentWallet): void {
  const config = {
    title: 'Price of a URL',
    description:
      'Gets the price of a URL without paying. The next paid_fetch with the same arguments pays this price to this account, or nothing. For methods other than GET and HEAD, call paid_fetch with a low max: if the price is higher, it pays nothing and reports the price.',
    inputSchema: schema<RequestArguments>(
      { url, method: oneOf(['GET', 'HEAD'], 'request method (default: GET)'), headers },
      ['method', 'headers'],
    ),
    outputSchema: schema({
      status: { type: 'integer', description: 'HTTP status; 402 means that payment is required' },
      is_free: {
        type: 'boolean',
        description: 'whether the URL is free; false for an error such as 404',
      },
      prices: list(quote, 'prices that can be paid now; paid_fetch pays the first'),
      reasons: list(reason, 'why other offers cannot be paid'),
      untrusted: nullable(
        object({
          notice: text('how to treat the content'),
          description: text("the seller's description of the resource"),
        }),
      ),
    }),
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },
  } as const
  server.registerTool('price_of', config, async (given, { mcpReq }) => {
    try {
      const request = readRequest(given)
      const found = await wallet.priceOf(request, TimeLimit.signal(priceMs, mcpReq.signal))
      const description = plainText(found.description, maxDescription)
      return result(
        {
          status: found.status,
          is_free: isFree(found.status),
          prices: found.quotes,
          reasons: found.reasons.map(plainReason),
          untrusted: description === '' ? null : { notice, description },
        },
        summary(request.url, found),
        [{ what: "The seller's description", text: description }],
      )
    } catch (error) {
      return errorResult(error)
    }
  })
}

const priceMs = 45_000

/** An error without a price says nothing about what the resource costs. */
function isFree(status: number): boolean {
  return status < 400
}

function summary(address: string, { status, quotes, reasons }: PriceOf): string {
  if (isFree(status)) return `${address} is free: it returned status ${status} without asking for payment.`
  if (status !== 402) return `${address} returned the error ${status} and no price. Check the URL.`
  const [first] = quotes
  if (first !== undefined) {
    const others = quotes.slice(1).map(({ price }) => `, or ${price}`)
    return `${address} costs ${first.price}${others.join('')}, to ${first.pay_to}. Call paid_fetch with max "${first.price}" to pay for it.`
  }
  const codes = [...new Set(reasons.map(({ code }) => code))].join(', ')
  return `${address} asks for a payment that this agent cannot make: ${codes}.`
}
