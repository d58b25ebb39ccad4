/** The buyer's API: a `fetch` that pays, and the search for paid resources. Runs in Node, browsers and edge runtimes. */
export { AlgodError, type NodeAddress } from '@latchkey/algod'
export { LatchkeyError } from '@latchkey/algorand'
export { KmdClientError } from '@latchkey/kmd-client'
export {
  decodePayment,
  decodeReceipt,
  decodeRequired,
  HeaderError,
  type Money,
  type PassScope,
  type PassStatus,
  type PaymentPayload,
  type PaymentRequired,
  type PaymentRequirements,
  PriceError,
  passHeader,
  passStatusHeader,
  paymentRequired,
  paymentResponse,
  paymentSignature,
  type Receipt,
} from '@latchkey/x402-wire'
export { type AssetInfo, Chain, ChainError, type ChainOptions } from '../chain/Chain.js'
export * as Funds from '../chain/Funds.js'
export { type ErrorCode, errors, X402Error } from '../errors.js'
export { type HookAbort, HookError, type HookResult, type OneOrMore } from '../hooks.js'
export { type AgentSignerOptions, fromAgent } from '../signer/Agent.js'
export { fromKmd, type KmdSignerOptions } from '../signer/Kmd.js'
export * as Signer from '../signer/Signer.js'
export { SignerError } from '../signer/Signer.js'
export {
  Buyer,
  type BuyerOptions,
  type OfferList,
  type PayOptions,
  type SignedPayment,
} from './buyer/Buyer.js'
export type {
  BuyerHooks,
  PaymentCreatedContext,
  PaymentCreationContext,
  PaymentCreationFailureContext,
  PaymentResponseContext,
} from './buyer/BuyerHooks.js'
export type { AssetLimit, LimitOptions, Offer } from './buyer/Offer.js'
export {
  MemoryPassCache,
  type PaidRequest,
  type PassCache,
  passOf,
  type StoredPass,
} from './buyer/PaidRequest.js'
export {
  PaymentRefusedError,
  type RefusalCode,
  type RefusalReason,
  refusalReasons,
} from './buyer/PaymentRefusedError.js'
export { type PayingFetchOptions, type PaymentDecision, PaymentRequestError, payingFetch } from './buyer/payingFetch.js'
export { LostResponseError, type PaymentResult, paymentOf, receiptOf } from './buyer/sendPayment.js'
export { type DescribeOfferOptions, describeOffer } from './discover/describeOffer.js'
export { type DiscoverOptions, DiscoveryError, discover } from './discover/discover.js'
export type { FoundResource } from './discover/readResource.js'
export {
  findPaymentState,
  MemoryPayments,
  type MemoryPaymentsOptions,
  type Payment,
  type PaymentLog,
  PaymentLogError,
  type PaymentState,
  type Spent,
  type UnansweredPayment,
} from './store/Payments.js'
