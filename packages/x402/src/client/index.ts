/** The buyer's API: a `fetch` that pays. Runs in Node, browsers and edge runtimes. */
export { AlgodError, type NodeAddress } from '@latchkey/algod'
export { LatchkeyError } from '@latchkey/algorand'
export { KmdClientError } from '@latchkey/kmd-client'
export { type AssetInfo, Chain, ChainError, type ChainOptions } from '../chain/Chain.js'
export * as Funds from '../chain/Funds.js'
export { type ErrorCode, errors, X402Error } from '../errors.js'
export { type Money, PriceError } from '../Price.js'
export { type AgentSignerOptions, fromAgent } from '../signer/Agent.js'
export { fromKmd, type KmdSignerOptions } from '../signer/Kmd.js'
export * as Signer from '../signer/Signer.js'
export { SignerError } from '../signer/Signer.js'
export {
  decodePayment,
  decodeReceipt,
  decodeRequired,
  HeaderError,
  paymentRequired,
  paymentResponse,
  paymentSignature,
  type Receipt,
} from '../wire/Headers.js'
export { type PassScope, type PassStatus, passHeader, passStatusHeader } from '../wire/PaymentPass.js'
export type { PaymentPayload, PaymentRequired, PaymentRequirements } from '../wire/types.js'
export {
  Buyer,
  type BuyerOptions,
  type OfferList,
  type PayOptions,
  type SignedPayment,
} from './Buyer.js'
export { findPaymentState } from './findPaymentState.js'
export type { AssetLimit, LimitOptions } from './Limits.js'
export { LostResponseError } from './LostResponseError.js'
export { MemoryPayments, type MemoryPaymentsOptions } from './MemoryPayments.js'
export type { Offer } from './Offer.js'
export type { PaidRequest } from './PaidRequest.js'
export { MemoryPassCache, type PassCache, type StoredPass } from './PassCache.js'
export { PaymentRefusedError, type RefusalCode, type RefusalReason, refusalReasons } from './PaymentRefusedError.js'
export {
  type Payment,
  type PaymentLog,
  PaymentLogError,
  type PaymentState,
  type Spent,
  type UnansweredPayment,
} from './Payments.js'
export { type PayingFetchOptions, PaymentRequestError, payingFetch } from './payingFetch.js'
export { type PaymentResult, paymentOf, receiptOf } from './sendPayment.js'
export { passOf } from './showPass.js'
