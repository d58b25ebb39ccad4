export {
  type AccountState,
  Algod,
  AlgodError,
  type AlgodOptions,
  type AlgodRequest,
  type NodeAddress,
  type SimulationFailure,
  type SubmitResult,
  type SuggestedParameters,
  type TransactionState,
} from './Algod.js'
