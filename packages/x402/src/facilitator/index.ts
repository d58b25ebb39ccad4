/** The facilitator's API: verifies and settles payments for sellers. */
export { AlgodError, type NodeAddress } from '@latchkey/algod'
export { LatchkeyError } from '@latchkey/algorand'
export { KmdClientError } from '@latchkey/kmd-client'
export {
  type PaymentPayload,
  type PaymentRequirements,
  PriceError,
  type SettleResponse,
  type SupportedResponse,
  type VerifyResponse,
} from '@latchkey/x402-wire'
export { type AssetInfo, Chain, ChainError, type ChainOptions } from '../chain/Chain.js'
export { type ErrorCode, errors, OptionsError, X402Error } from '../errors.js'
export { type HookAbort, HookError, type HookResult, type OneOrMore } from '../hooks.js'
export { fromKmd, type KmdSignerOptions } from '../signer/Kmd.js'
export * as Signer from '../signer/Signer.js'
export { SignerError } from '../signer/Signer.js'
export { catalogueRequestPrefix, type DiscoveryOptions } from './discovery/DiscoveryOptions.js'
export { Facilitator } from './Facilitator.js'
export type {
  FacilitatorContext,
  FacilitatorFailure,
  FacilitatorHooks,
  FacilitatorSettleResult,
  FacilitatorVerifyResult,
} from './FacilitatorHooks.js'
export type { ErrorListener, ErrorSubject, FacilitatorOptions } from './FacilitatorOptions.js'
export {
  type Connection,
  createFacilitatorHandler,
  type FacilitatorHandler,
  type FacilitatorHandlerOptions,
} from './handler.js'
export type { FacilitatorStatus, FeeAccountStatus, NetworkStatus } from './health/Health.js'
export type { HealthCheck, HealthCheckName } from './health/HealthChecks.js'
export type { Caller, PolicyOptions } from './limits/Policy.js'
export { type PaymentErrorCode, paymentErrors } from './PaymentError.js'
export {
  type Admission,
  decideHold,
  decideSettlement,
  type HoldDecision,
  type HoldFacts,
  limitsOfSettlement,
  type SettlementDecision,
} from './store/holdDecisions.js'
export {
  type Listing,
  type ListingCaps,
  type ListingContent,
  type ListingCount,
  type ListingPage,
  type ListingQuery,
  type ListingStore,
  MemoryListings,
} from './store/Listings.js'
export type {
  HeldAhead,
  HoldResult,
  HoldStore,
  PaymentHold,
  ReplicaSettings,
  SettingDigests,
  SettlementClaim,
  SettlementLeases,
  SettlementLimits,
  SharedSettings,
} from './store/Settlement.js'
export {
  MemorySettlements,
  type Settlement,
  type SettlementOutcome,
  type SettlementState,
  type SettlementStore,
  type StoreConnections,
} from './store/Settlements.js'
