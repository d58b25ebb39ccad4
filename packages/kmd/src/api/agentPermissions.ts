/**
 * Defines what an agent's token may be used for. Every operation of both wires has a rule here, and so do the documents
 * that are not operations. Anything not in the table is forbidden, and a test fails until its rule is added.
 */

/** `allowed` operations check the wallet, keys and addresses of the request themselves. */
export type Rule = { readonly isAllowed: boolean; readonly why: string }

const allowed = (why: string): Rule => ({ isAllowed: true, why })
const forbidden = (why: string): Rule => ({ isAllowed: false, why })

const noSecrets = forbidden('keys do not leave the daemon for an agent')
const noChanges = forbidden('an agent changes nothing in a wallet')
const onlyTransactions = forbidden('the rules are about transactions with one signature; nothing else can be counted')
const ownersAlone = forbidden('this is for the owner, who sets the limits of agents')
const consoles = forbidden('this is for the console')
const ownKeys = allowed('for its own keys only')
const publicData = allowed('this is public on the network, and needed to make a payment')
const itself = allowed('it is about the agent itself')

export const agentRules: { readonly [operationId: string]: Rule } = {
  // The reference wire
  GetVersion: allowed('clients ask for it first, and it tells nothing'),
  ListWallets: allowed('its own wallet only'),
  InitWalletHandleToken: allowed('its own wallet only; such a handle opens nothing by itself'),
  GetWalletInfo: allowed('for its own handles'),
  RenewWalletHandleToken: allowed('for its own handles'),
  ReleaseWalletHandleToken: allowed('for its own handles'),
  ListKeysInWallet: ownKeys,
  SignTransaction: allowed('within its rules'),
  CreateWallet: noChanges,
  RenameWallet: noChanges,
  GenerateKey: noChanges,
  ImportKey: noChanges,
  DeleteKey: noChanges,
  ImportMultisig: noChanges,
  DeleteMultisig: noChanges,
  ExportKey: noSecrets,
  ExportMasterKey: noSecrets,
  ListMultisig: onlyTransactions,
  ExportMultisig: onlyTransactions,
  SignMultisigTransaction: onlyTransactions,
  SignProgram: onlyTransactions,
  SignMultisigProgram: onlyTransactions,

  // Latchkey's own operations
  GetHealth: forbidden('it names wallets and files of the owner'),
  ChangeWalletPassword: noChanges,
  DeleteWallet: noChanges,
  CreateConsoleLink: consoles,
  OpenConsole: consoles,
  CloseConsole: consoles,
  GetSignings: forbidden('it has the signatures of the owner and of other agents'),
  ListContacts: ownersAlone,
  SetContact: ownersAlone,
  DeleteContact: ownersAlone,
  ListPendingBackups: consoles,
  BackUpWallet: noSecrets,
  FinishWalletBackup: consoles,

  // The node
  GetNode: publicData,
  GetTransactionParameters: publicData,
  GetAssets: publicData,
  GetAccounts: ownKeys,
  GetHoldings: ownKeys,
  SubmitTransaction: allowed('transactions with a signature of its own keys only'),
  GetTransactionOutcome: publicData,
  FindTransactions: forbidden('GetTransactionOutcome tells what became of a payment'),
  DescribeTransaction: forbidden('TestOwnAgent tells what the rules say of a transaction'),
  SimulateTransaction: forbidden('it works for any account, and costs the node of the owner more than a payment'),
  FundAccount: forbidden('an agent must not be able to raise what it can spend'),

  // Agents
  ListAgents: ownersAlone,
  CreateAgent: ownersAlone,
  ShowAgent: ownersAlone,
  PauseAgent: ownersAlone,
  ResumeAgent: ownersAlone,
  ConfirmAgents: ownersAlone,
  RevokeAgent: ownersAlone,
  SetAgentRules: ownersAlone,
  RotateAgentToken: ownersAlone,
  TestAgent: ownersAlone,
  GetOwnAgent: itself,
  SignAsAgent: allowed('within its rules'),
  TestOwnAgent: itself,
  ListOwnRecords: itself,

  // Approvals
  WaitForApproval: itself,
  ListApprovals: ownersAlone,
  WatchApprovals: ownersAlone,
  ApprovePayment: ownersAlone,
  DenyPayment: ownersAlone,

  // The audit log
  SearchAudit: ownersAlone,
  VerifyAudit: ownersAlone,
  PrepareAnchor: ownersAlone,
  RecordAnchor: ownersAlone,

  // Documents
  SwaggerHandler: allowed('the API is described in public'),
  GetMetrics: forbidden('they are about all wallets and clients of the owner'),
  ConsoleFiles: consoles,
}

export function mayUse(operationId: string): boolean {
  return Object.hasOwn(agentRules, operationId) && agentRules[operationId]!.isAllowed
}
