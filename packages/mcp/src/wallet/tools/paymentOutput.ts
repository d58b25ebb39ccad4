import type { Chain, Payment } from '@latchkey/x402/client'
import { assetAmountOf } from '../money.js'

/** A payment as tools return it. What a seller named the resource is left out. */
export type PaymentOutput = {
  transaction_id: string
  url: string
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
    url: payment.url,
    pay_to: payment.payTo,
    price: assetAmountOf(payment, chain),
    amount: payment.amount,
    asset_id: payment.asset,
    network: payment.network,
    state: payment.state,
    signed_at: new Date(payment.signedMs).toISOString(),
  }
}
