/** `price_of`: asks for the price of a URL without paying. */
import type { McpServer } from '@modelcontextprotocol/server'
import type { AgentWallet, PriceOf } from '../AgentWallet.js'
import { plainReason } from '../explainError.js'
import { type RequestArguments, readRequest } from '../FetchRequest.js'
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
      'Asks what a URL costs, and pays nothing. The next paid_fetch with the same arguments pays this price to this account, or nothing. For other methods than GET and HEAD call paid_fetch with a low max: it tells the price if that is higher.',
    inputSchema: schema<RequestArguments>({ url, method: oneOf(['GET', 'HEAD'], 'request method (GET)'), headers }, [
      'method',
      'headers',
    ]),
    outputSchema: schema({
      status: { type: 'integer', description: 'HTTP status; 402 asks for a payment' },
      is_free: { type: 'boolean', description: 'whether the server answered without asking for a payment' },
      prices: list(quote, 'prices that can be paid now, the one that would be paid first'),
      reasons: list(reason, 'why other offers cannot be paid'),
      untrusted: nullable(
        object({ notice: text('how to treat it'), description: text('what the seller says it sells') }),
      ),
    }),
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },
  } as const
  server.registerTool('price_of', config, async (given, { mcpReq }) => {
    try {
      const request = readRequest(given)
      const found = await wallet.priceOf(request, AbortSignal.any([mcpReq.signal, AbortSignal.timeout(priceMs)]))
      const description = plainText(found.description, maxDescription)
      return result(
        {
          ...{ status: found.status, is_free: found.status !== 402, prices: found.quotes },
          reasons: found.reasons.map(plainReason),
          untrusted: description === '' ? null : { notice, description },
        },
        summary(request.url, found),
        [{ what: 'The description of the seller', text: description }],
      )
    } catch (error) {
      return errorResult(error)
    }
  })
}

const priceMs = 45_000

function summary(address: string, { status, quotes, reasons }: PriceOf): string {
  if (status !== 402) return `${address} answered with status ${status}, without asking for a payment.`
  const [first] = quotes
  if (first !== undefined) {
    const others = quotes.slice(1).map(({ price }) => `, or ${price}`)
    return `${address} costs ${first.price}${others.join('')}, to ${first.payTo}. Call paid_fetch with max "${first.price}" to pay for it.`
  }
  const codes = [...new Set(reasons.map(({ code }) => code))].join(', ')
  return `${address} asks for a payment that this agent cannot make: ${codes}.`
}
