import type { Chain, Payment } from '@latchkey/x402/client'
import { maxUrlLength } from '../FetchRequest.js'
import { assetAmountOf } from '../money.js'
import { notice, plainText } from '../untrusted.js'

/** A payment as tools return it. The seller's name for the resource is omitted; its URL is among the untrusted text. */
export type PaymentOutput = {
  transaction_id: string
  pay_to: string
  price: string
  amount: string
  asset_id: string
  network: string
  state: string
  signed_at: string
}

export function paymentOutput(payment: Payment, chain: Chain): PaymentOutput {
  return {
    transaction_id: payment.transactionId,
    pay_to: payment.payTo,
    price: assetAmountOf(payment, chain),
    amount: payment.amount,
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
export function urlsOutput(payments: readonly Payment[]): {
  notice: string
  urls: { [transactionId: string]: string }
} {
  return {
    notice,
    urls: Object.fromEntries(payments.map((one) => [one.transactionId, plainText(one.url, maxUrlLength)])),
  }
}

/** The same URLs as text for people and models. */
export function urlsText(payments: readonly Payment[]): string {
  return payments.map((one) => `${one.transactionId} ${plainText(one.url, maxUrlLength)}`).join('\n')
}
