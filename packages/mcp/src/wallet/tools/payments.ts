/** `list_payments`, `find_payment`, and the payment log as a resource. */
import type { McpServer } from '@modelcontextprotocol/server'
import type { AgentWallet } from '../AgentWallet.js'
import { errorResult, result } from '../toolResult.js'
import { paymentOutput, urlsOutput, urlsText } from './paymentOutput.js'
import { list, payment, paymentUrls, schema, transactionId, url } from './schemas.js'

const defaultCount = 20
const maxCount = 100

/** The URI of the resource. */
export const paymentsUri = 'latchkey://payments'

const annotations = { readOnlyHint: true, idempotentHint: true, openWorldHint: false } as const

export function registerPayments(server: McpServer, wallet: AgentWallet): void {
  const listConfig = {
    title: 'Payments',
    description: 'Lists the payments that this server has made, newest first, with their last known states.',
    inputSchema: schema<{ count?: number; url?: string }>(
      {
        count: {
          type: 'integer',
          minimum: 1,
          maximum: maxCount,
          description: `how many payments (default: ${defaultCount})`,
        },
        url: { ...(url as object), description: 'list only payments for this URL' },
      },
      ['count', 'url'],
    ),
    outputSchema: schema({
      payments: list(payment, 'newest first'),
      total: { type: 'integer' },
      untrusted: paymentUrls,
    }),
    annotations,
  } as const
  server.registerTool('list_payments', listConfig, async (given) => {
    try {
      const all = wallet.payments().filter((one) => given.url === undefined || one.url === given.url)
      const shown = all.slice(0, given.count ?? defaultCount)
      const payments = shown.map((one) => paymentOutput(one, wallet.chain))
      const lines = payments.map((one) => `${one.signed_at} ${one.price} ${one.state} ${one.transaction_id}`)
      return result(
        { payments, total: all.length, untrusted: urlsOutput(shown) },
        lines.length === 0 ? 'No payments.' : lines.join('\n'),
        [{ what: 'The URLs of the payments', text: urlsText(shown) }],
      )
    } catch (error) {
      return errorResult(error)
    }
  })
  const findConfig = {
    title: 'Find a payment',
    description: 'Looks up a payment on the ledger by its transaction id and shows whether it is settled.',
    inputSchema: schema<{ transaction_id: string }>({ transaction_id: transactionId }),
    outputSchema: schema({ payment, untrusted: paymentUrls }),
    annotations,
  } as const
  server.registerTool('find_payment', findConfig, async ({ transaction_id: id }) => {
    try {
      const one = await wallet.findPayment(id)
      const found = paymentOutput(one, wallet.chain)
      return result(
        { payment: found, untrusted: urlsOutput([one]) },
        `The payment ${found.transaction_id} of ${found.price} is ${found.state}.`,
        [{ what: 'The URL of the payment', text: urlsText([one]) }],
      )
    } catch (error) {
      return errorResult(error)
    }
  })
  const metadata = {
    title: 'Payment log',
    description: `The latest ${maxCount} payments of this server, newest first`,
    mimeType: 'application/json',
  }
  server.registerResource('payments', paymentsUri, metadata, () => {
    const shown = wallet.payments().slice(0, maxCount)
    const payments = shown.map((one) => paymentOutput(one, wallet.chain))
    const text = JSON.stringify({ payments, untrusted: urlsOutput(shown) }, undefined, 2)
    return { contents: [{ uri: paymentsUri, mimeType: metadata.mimeType, text }] }
  })
}
