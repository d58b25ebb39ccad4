/** The pure half of x402 on Algorand: headers, prices, payments and their extensions. */
export { UptoProgram, type UptoTerms } from '@latchkey/algorand'
export { LatchkeyError } from '@latchkey/algorand/error'
export {
  type BuiltPayment,
  buildPayment,
  checkFee,
  FeeError,
  feePayerOf,
  type PaymentOrder,
  type TransactionParameters,
  withoutSpellings,
} from './buildPayment.js'
export * as Discovery from './Discovery.js'
export { type ErrorCode, errors, WireError, X402Error } from './errors.js'
export * as OfferReceipt from './OfferReceipt.js'
export * as PaymentGroup from './PaymentGroup.js'
export { GroupError, type GroupErrorCode } from './PaymentGroup.js'
export * as PaymentHeaders from './PaymentHeaders.js'
export {
  decodePayment,
  decodeReceipt,
  decodeRequired,
  HeaderError,
  paymentRequired,
  paymentResponse,
  paymentSignature,
  type Receipt,
} from './PaymentHeaders.js'
export * as PaymentIdentifier from './PaymentIdentifier.js'
export * as PaymentPass from './PaymentPass.js'
export {
  isPassText,
  maxPassLength,
  maxPassMinutes,
  maxPassRequests,
  type PassScope,
  type PassStatus,
  type PassTerms,
  passHeader,
  passStatusHeader,
} from './PaymentPass.js'
export type { Proof } from './PaymentSecret.js'
export * as PaymentSecret from './PaymentSecret.js'
export * as Prices from './Prices.js'
export { type AssetAmount, type Money, type Price, PriceError } from './Prices.js'
export {
  type PaymentPayload,
  type PaymentRequired,
  type PaymentRequirements,
  parsePayload,
  parseRequirements,
  type ResourceInfo,
  type SettleResponse,
  type SupportedResponse,
  type VerifyResponse,
} from './parsePayment.js'
export { decodeBase64, parseJson } from './texts.js'
export * as UptoPayment from './UptoPayment.js'
export { UptoError, type UptoErrorCode, type UptoPayload } from './UptoPayment.js'
