export { createTransport } from '#transport'
export {
  type AccountHoldings,
  type AccountState,
  Algod,
  type AlgodOptions,
  type AssetInfo,
  type Holding,
  type LookupOptions,
  type SimulationFailure,
  type SubmitOptions,
  type SubmitResult,
  type SuggestedParameters,
  type TransactionDetails,
  type TransactionState,
} from './Algod.js'
export { AlgodError, type AlgodErrorOptions } from './AlgodError.js'
export type { DevnetInfo, Funded, Funding } from './DevnetFaucet.js'
export { type AlgodErrorCode, errors } from './errors.js'
export { explainRejection } from './explainRejection.js'
export type { NodeAddress } from './NodePool.js'
export type { RejectionCode } from './rejections.js'
export type { Fetch } from './transport/fetch.js'
export {
  type Transport,
  TransportError,
  type TransportFailure,
  type TransportOptions,
  type TransportRequest,
  type TransportResponse,
} from './transport/Transport.js'
