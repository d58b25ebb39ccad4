export { Chain, type ChainOptions } from '../chain/Chain.js'
export type { Money } from '../Price.js'
export { fromKmd, type KmdSignerOptions } from '../signer/Kmd.js'
export * as Signer from '../signer/Signer.js'
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
export {
  Buyer,
  type BuyerOptions,
  type Offer,
  PaymentRefusedError,
  type PayOptions,
  type SignedPayment,
  UnknownPaymentError,
} from './Buyer.js'
export type { AssetLimit, LimitOptions } from './Limits.js'
export { MemoryPayments, type Payment, type PaymentLog, type PaymentState, type Spent } from './Payments.js'
export { LostResponseError, type PayingFetchOptions, payingFetch, RedirectError, receiptOf } from './payingFetch.js'
