/** The seller's API: a gate in front of routes. Runs in Node and edge runtimes. */
export { AlgodError, type NodeAddress } from '@latchkey/algod'
export { LatchkeyError } from '@latchkey/algorand'
export { PaywallError } from '@latchkey/pages/paywall'
export { type AssetInfo, Chain, ChainError, type ChainOptions } from '../chain/Chain.js'
export { type ErrorCode, errors, OptionsError, X402Error } from '../errors.js'
export { type AssetAmount, type Money, type Price, PriceError } from '../Price.js'
export type { ClaimRenewals, HeldClaim } from '../store/ClaimRenewals.js'
export {
  type ClaimEnd,
  type ClaimLease,
  type ClaimResult,
  type ClaimStore,
  type ClaimWrite,
  decideClaim,
  MemoryClaims,
  type MemoryClaimsOptions,
  type StoredClaim,
} from '../store/Claims.js'
export type { HeldAnswer } from '../store/HeldAnswer.js'
export { type IssuedPass, MemoryPasses, type NewPass, type PassStore, type TakeResult } from '../store/PassStore.js'
export {
  type NextSale,
  nextSale,
  type Revenue,
  type Sale,
  type SaleOutcome,
  type SalePage,
  type SaleQuery,
  type SaleStore,
} from '../store/Sales.js'
export { type PassScope, passHeader, passStatusHeader } from '../wire/PaymentPass.js'
export type {
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '../wire/types.js'
export type { Admission, Decision } from './Admission.js'
export {
  type FacilitatorCallOptions,
  type FacilitatorClient,
  FacilitatorError,
  type HttpFacilitatorOptions,
  httpFacilitator,
} from './FacilitatorClient.js'
export { Gate, GateError } from './Gate.js'
export type { GateEvent, GateHooks, PaymentEvent, PaymentRequiredEvent, RefusedEvent } from './GateHooks.js'
export type { GateOptions, GatePassOptions, PassOptions, Route } from './GateOptions.js'
export { localFacilitator } from './localFacilitator.js'
export { HookError } from './Notifications.js'
export type { RequestPath } from './PaidRoutes.js'
export type { PassUse, Payment } from './Payment.js'
export type { CustomPaywall, PaywallOptions, PaywallWallet } from './Paywall.js'
export { paymentOf } from './paymentOf.js'
export type { Accept, Dynamic } from './Requirements.js'
export { RouteError } from './RouteTable.js'
export type { HeaderList } from './responses.js'
export { SalesError } from './SalesLog.js'
export { revenueCsv, salesCsv } from './salesCsv.js'
export { type SalesHandler, type SalesPageOptions, salesPage } from './salesPage.js'
export { type SellerSettings, SettingsError, sellerSettings } from './sellerSettings.js'
