/** The seller's API: a gate in front of routes. Runs in Node and edge runtimes. */
export { AlgodError, type NodeAddress } from '@latchkey/algod'
export { LatchkeyError } from '@latchkey/algorand'
export { PaywallError } from '@latchkey/pages/paywall'
export {
  type AssetAmount,
  Discovery,
  type Money,
  type PassScope,
  type PaymentPayload,
  type PaymentRequired,
  type PaymentRequirements,
  type Price,
  PriceError,
  passHeader,
  passStatusHeader,
  type SettleResponse,
  type SupportedResponse,
  type VerifyResponse,
} from '@latchkey/x402-wire'
export { type AssetInfo, Chain, ChainError, type ChainOptions } from '../chain/Chain.js'
export { type ErrorCode, errors, OptionsError, X402Error } from '../errors.js'
export { type HookAbort, HookError, type HookResult, type OneOrMore } from '../hooks.js'
export * as ReceiptSigner from '../signer/ReceiptSigner.js'
export { SignerError } from '../signer/Signer.js'
export type { Admission, Decision, FreeDecision } from './exchange/Admission.js'
export {
  type FacilitatorCallOptions,
  type FacilitatorClient,
  FacilitatorError,
  type HttpFacilitatorOptions,
  httpFacilitator,
  localFacilitator,
} from './exchange/FacilitatorClient.js'
export { type PassUse, type Payment, paymentOf } from './exchange/Payment.js'
export { UsageError } from './exchange/Usage.js'
export type {
  CanceledContext,
  CancelReason,
  DecidingHooks,
  GrantAccess,
  HookRequest,
  HookRequestReader,
  PaymentContext,
  SettleContext,
  SettleFailureContext,
  SettlePhase,
  SettleResultContext,
  VerifyFailureContext,
  VerifyResultContext,
} from './gate/DecidingHooks.js'
export { Gate, GateError } from './gate/Gate.js'
export type {
  GateEvent,
  GateHooks,
  GateOptions,
  GatePassOptions,
  PassOptions,
  PaymentEvent,
  PaymentIdentifierOption,
  PaymentRequiredEvent,
  PricedRoute,
  RefusedEvent,
  Route,
  RouteAccept,
} from './gate/GateOptions.js'
export type { HeaderList } from './gate/responses.js'
export { type SellerSettings, SettingsError, sellerSettings } from './gate/sellerSettings.js'
export type { CustomPaywall, PaywallOptions, PaywallWallet } from './paywall/Paywall.js'
export type { RequestPath } from './routes/GateRequest.js'
export type { DiscoveryOptions } from './routes/openApi.js'
export type { Accept, Dynamic, UpToPrice } from './routes/Requirements.js'
export type {
  DescribedRoute,
  RouteInput,
  RouteOutput,
  RouteSchema,
  StandardJsonSchema,
} from './routes/RouteDiscovery.js'
export { RouteError } from './routes/RouteTable.js'
export { revenueCsv, salesCsv } from './sales/salesCsv.js'
export { type SalesHandler, type SalesPageOptions, salesPage } from './sales/salesPage.js'
export type { ClaimPurchase, ClaimRenewals, HeldAnswer, HeldClaim, StoredPurchase } from './store/Claims.js'
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
} from './store/Claims.js'
export { type IssuedPass, MemoryPasses, type NewPass, type PassStore, type TakeResult } from './store/PassStore.js'
export {
  type NextSale,
  nextSale,
  type Revenue,
  type Sale,
  type SaleOutcome,
  type SalePage,
  type SalePosition,
  type SaleQuery,
  type SaleStore,
  SalesError,
} from './store/Sales.js'
export {
  MemoryUsage,
  type MeteredWork,
  type NotedWork,
  type ReturnedWork,
  type UnpaidWork,
  type UsageStore,
  type WorkState,
} from './store/UsageStore.js'
