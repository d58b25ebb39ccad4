export type { Fetch } from '@latchkey/http-client'
export { SpendLimit } from '@latchkey/kmd-api/rules'
export type {
  AgentClient,
  AgentHistory,
  AgentHistoryOptions,
  AgentSignOptions,
  WaitForApprovalOptions,
} from './AgentClient.js'
export type {
  AgentOptions,
  AgentPasswordOptions,
  Agents,
  AgentWithToken,
  ConfirmAgentsOptions,
  CreateAgentOptions,
  ShownAgent,
} from './Agents.js'
export type { Approval, ApprovalList, ApprovalState, Approvals } from './Approvals.js'
export type {
  Audit,
  AuditActor,
  AuditAnchor,
  AuditPage,
  AuditQuery,
  AuditRecord,
  AuditVerification,
  PreparedAnchor,
  RecordAnchorOptions,
} from './Audit.js'
export type {
  Agent,
  AgentAsk,
  AgentDecision,
  AgentLimit,
  AgentLimitUse,
  AgentNetworkItem,
  AgentPeriod,
  AgentRefusal,
  AgentRules,
  AgentState,
  NewAgentRules,
} from './agentTypes.js'
export type { CallOptions } from './Connection.js'
export type { Contact, Contacts } from './Contacts.js'
export { type ClientErrorCode, type DaemonErrorCode, errors, type KmdClientErrorCode } from './errors.js'
export {
  type AgentConnectOptions,
  type ConnectOptions,
  type ConsoleLink,
  type Health,
  Kmd,
  type NodeInfo,
  type UnlockOptions,
} from './Kmd.js'
export { KmdClientError, type KmdClientErrorOptions } from './KmdClientError.js'
export type { Password, PasswordProvider, PasswordValue } from './Password.js'
export type { PasswordOptions, WalletInfo } from './Session.js'
export type {
  ImportMultisigOptions,
  MultisigPreimage,
  PartialMultisig,
  PublicKey,
  SignMultisigProgramOptions,
  SignMultisigTransactionOptions,
  SignOfferOptions,
  SignProgramOptions,
  SignReceiptOptions,
  SignTransactionOptions,
  Wallet,
} from './Wallet.js'
export type { CreateWalletOptions, SelectOptions, Selector, Wallets } from './Wallets.js'
