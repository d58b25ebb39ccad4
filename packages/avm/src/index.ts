export { CallGroup } from './application/applyCall.js'
export * as ByteKey from './application/ByteKey.js'
export type { Effects, EvalDelta, InnerTransaction, ValueChange } from './application/Effects.js'
export { effectEntries, encodeDelta } from './application/encodeDelta.js'
export { accountLookupError, creatorLookupError } from './application/largeIds.js'
export type {
  AccountView,
  Application,
  ApplicationLedger,
  AssetView,
  Call,
  CallGroupOptions,
  Group,
  HoldingView,
  InnerGroup,
  Observer,
  SimulationLimits,
  StatePlace,
  StateSchema,
  VoterView,
} from './application/model.js'
export {
  type StateOperands,
  type StateReference,
  stateReference,
  useZeroAddress,
} from './application/stateReference.js'
export type { ResourcePair, UnnamedBox, UnnamedResources, UnnamedSet } from './application/UnnamedResources.js'
export { type Assembly, AssemblyError, assemble } from './assembler/assemble.js'
export type { Message } from './assembler/Program.js'
export { type Disassembly, disassemble, instructionsBefore } from './disassembler/disassemble.js'
export { errors } from './errors.js'
export { Budget } from './evaluator/Budget.js'
export { type ConsensusParameters, defaultParameters } from './evaluator/ConsensusParameters.js'
export type { Mode } from './evaluator/Context.js'
export { type CheckOptions, checkProgram } from './evaluator/checkProgram.js'
export { EvaluationError } from './evaluator/EvaluationError.js'
export {
  type Evaluation,
  evaluateSignature,
  rejectionOf,
  type SignatureOptions,
} from './evaluator/evaluateSignature.js'
export { instructionAt } from './evaluator/Instructions.js'
export type { BlockHeader, Ledger } from './evaluator/Ledger.js'
export type { Machine, Tracer } from './evaluator/Machine.js'
export type { Value } from './evaluator/Value.js'
export { verifyEd25519 } from './operations/signatures.js'
