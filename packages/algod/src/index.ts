export type { Fetch } from '@latchkey/http-client'
export { Algod } from './Algod.js'
export { AlgodError, type AlgodErrorOptions } from './AlgodError.js'
export type { DevnetAccount, DevnetInfo, Funded, Funding } from './DevnetFaucet.js'
export { type AlgodErrorCode, errors } from './errors.js'
export { explainRejection } from './explainRejection.js'
export type { NodeAddress, NodeStatus } from './PoolNode.js'
export type { RejectionCode } from './rejections.js'
export type {
  Absence,
  AccountHoldings,
  AccountState,
  AlgodOptions,
  AssetInfo,
  Holding,
  LeasedTransaction,
  LeasedTransfer,
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
