/** The schemes `exact` and `upto` on Algorand for the published `@x402` packages. */
export { AlgodError, type NodeAddress } from '@latchkey/algod'
export { LatchkeyError } from '@latchkey/algorand'
export { KmdClientError } from '@latchkey/kmd-client'
export { PagesError, PaywallError, type PaywallOptions, type PaywallWallet } from '@latchkey/pages/paywall'
export { HeaderError, PriceError } from '@latchkey/x402-wire'
export { type AssetInfo, Chain, ChainError, type ChainOptions } from '../chain/Chain.js'
export {
  PaymentRefusedError,
  type RefusalCode,
  type RefusalReason,
  refusalReasons,
} from '../client/buyer/PaymentRefusedError.js'
export { type ErrorCode, errors, OptionsError, X402Error } from '../errors.js'
export { fromKmd, type KmdSignerOptions } from '../signer/Kmd.js'
export * as Signer from '../signer/Signer.js'
export { SignerError } from '../signer/Signer.js'
export { AlgorandClientScheme, type AlgorandClientSchemeOptions } from './AlgorandClientScheme.js'
export { AlgorandFacilitatorScheme, type AlgorandFacilitatorSchemeOptions } from './AlgorandFacilitatorScheme.js'
export {
  AlgorandPaywall,
  type AlgorandPaywallOptions,
  type PaywallConfig,
  type PaywallProvider,
} from './AlgorandPaywall.js'
export { AlgorandServerScheme, type AlgorandServerSchemeOptions } from './AlgorandServerScheme.js'
