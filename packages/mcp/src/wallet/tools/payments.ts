/** `list_payments`, `find_payment`, and the payment log as a resource. */

import type { Chain, Payment } from '@latchkey/x402/client'
import type { McpServer } from '@modelcontextprotocol/server'
import type { AgentWallet } from '../AgentWallet.js'
import { maxUrlLength } from '../GuardedFetch.js'
import { assetAmountOf } from '../money.js'
import { errorResult, result } from '../toolResult.js'
import { notice, plainText } from '../untrusted.js'
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

/** A payment as tools return it. The seller's name for the resource is omitted; its URL is among the untrusted text. */
type PaymentOutput = {
  transaction_id: string
  pay_to: string
  price: string
  amount: string
  asset_id: string
  network: string
  state: string
  signed_at: string
}

function paymentOutput(payment: Payment, chain: Chain): PaymentOutput {
  return {
    transaction_id: payment.transactionId,
    pay_to: payment.payTo,
    price: assetAmountOf(payment, chain),
    amount: payment.charge?.amount ?? payment.amount,
    asset_id: payment.asset,
    network: payment.network,
    state: payment.state,
    signed_at: new Date(payment.signedMs).toISOString(),
  }
}

/**
 * The URLs of payments by transaction id. They are untrusted: an attacker may have written them, and may have told an
 * earlier conversation to fetch them.
 */
function urlsOutput(payments: readonly Payment[]): {
  notice: string
  urls: { [transactionId: string]: string }
} {
  return {
    notice,
    urls: Object.fromEntries(payments.map((one) => [one.transactionId, plainText(one.url, maxUrlLength)])),
  }
}

/** The same URLs as text for people and models. */
function urlsText(payments: readonly Payment[]): string {
  return payments.map((one) => `${one.transactionId} ${plainText(one.url, maxUrlLength)}`).join('\n')
}
