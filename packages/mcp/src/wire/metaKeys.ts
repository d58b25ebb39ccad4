/** The `_meta` keys with which the x402 transport for MCP carries payments. */

/** In a request: the payment, a `PaymentPayload`. */
export const paymentKey = 'x402/payment'
/** In a result: the receipt, a `SettlementResponse`. */
export const paymentResponseKey = 'x402/payment-response'
