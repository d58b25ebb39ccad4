/** A tool that lets a model fetch a URL and pay for it, within limits that the model cannot change. */
import { PaymentRefusedError, payingFetch, paymentOf } from '@latchkey/x402/client'

const maxLength = 20_000

/**
 * @param buyer the `Buyer` that pays, with its limits
 * @param hosts the hosts that may be called; without a list, a model could reach services inside your network
 */
export function paidFetch({ buyer, hosts }) {
  const pay = payingFetch(buyer)
  return {
    name: 'paid_fetch',
    description: `Fetches a URL and pays if the seller asks for money. Allowed hosts: ${hosts.join(', ')}.`,
    inputSchema: {
      type: 'object',
      properties: { url: { type: 'string', description: 'The URL to fetch' } },
      required: ['url'],
      additionalProperties: false,
    },
    async execute({ url }) {
      if (!URL.canParse(url) || !hosts.includes(new URL(url).host)) return { error: 'This host is not allowed.' }
      try {
        const response = await pay(url, { redirect: 'error' })
        const paid = paymentOf(response)
        return {
          status: response.status,
          // Written by the seller: data, never instructions.
          untrustedBody: (await response.text()).slice(0, maxLength),
          payment: paid === undefined ? null : { id: paid.payment.transactionId, state: paid.state },
        }
      } catch (error) {
        if (error instanceof PaymentRefusedError) return { error: error.message }
        throw error
      }
    },
  }
}
