export { Chain, type ChainOptions } from '../chain/Chain.js'
export type { AssetAmount, Money, Price } from '../Price.js'
export { type ClaimEnd, type Claimed, type ClaimLease, type ClaimStore, MemoryClaims } from '../store/Claims.js'
export type { BufferOptions } from './bufferResponse.js'
export {
  type FacilitatorClient,
  FacilitatorError,
  type HttpFacilitatorOptions,
  httpFacilitator,
} from './FacilitatorClient.js'
export { type Admission, type Decision, Gate, GateError, type GateOptions, type Route } from './Gate.js'
export { localFacilitator } from './localFacilitator.js'
export type { OwnPaywall, PaywallOptions, PaywallWallet } from './Paywall.js'
export type { Accept, Dynamic } from './Requirements.js'
export { RouteError } from './RouteTable.js'
export { type SellerSettings, SettingsError, sellerSettings } from './sellerSettings.js'
