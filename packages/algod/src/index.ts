export { createTransport } from '#transport'
export { Algod } from './Algod.js'
export { AlgodError, type AlgodErrorOptions } from './AlgodError.js'
export type { DevnetInfo, Funded, Funding } from './DevnetFaucet.js'
export { type AlgodErrorCode, errors } from './errors.js'
export { explainRejection } from './explainRejection.js'
export type { NodeAddress, NodeStatus } from './PoolNode.js'
export type { RejectionCode } from './rejections.js'
export type { Fetch } from './transport/fetch.js'
export { KeptConnections } from './transport/KeptConnections.js'
export {
  type Transport,
  TransportError,
  type TransportFailure,
  type TransportOptions,
  type TransportRequest,
  type TransportResponse,
} from './transport/Transport.js'
export { usesPlainFetch } from './transport/usesPlainFetch.js'
export type {
  Absence,
  AccountHoldings,
  AccountState,
  AlgodOptions,
  AssetInfo,
  Holding,
  LookupOptions,
  SimulationFailure,
  SubmitOptions,
  SubmitResult,
  SuggestedParameters,
  TransactionDetails,
  TransactionReport,
  TransactionState,
  WaitOptions,
} from './types.js'
