/** The parts of the daemon's responses that views show, as the description of the API has them. */
import type {
  agentOperations,
  approvalOperations,
  consoleOperations,
  describeOperations,
  extraOperations,
  nodeOperations,
  submitOperations,
  transferOperations,
  walletOperations,
} from '@latchkey/kmd-api/operations'
import type { ResponseFor } from './daemon.js'

export type Wallet = Pick<ResponseFor<typeof walletOperations.ListWallets>['wallets'][number], 'id' | 'name'>
export type Health = ResponseFor<typeof extraOperations.GetHealth>
export type NodeStatus = ResponseFor<typeof nodeOperations.GetNode>
export type Account = ResponseFor<typeof nodeOperations.GetAccounts>['accounts'][number]
export type Asset = Account['assets'][number]
export type AssetDetails = ResponseFor<typeof transferOperations.GetAssets>['assets'][number]
export type Holding = ResponseFor<typeof transferOperations.GetHoldings>['holdings'][number]
export type TransactionParameters = ResponseFor<typeof transferOperations.GetTransactionParameters>
export type TransactionDescription = ResponseFor<typeof describeOperations.DescribeTransaction>['transactions'][number]
export type TransactionStatus = ResponseFor<typeof nodeOperations.FindTransactions>['transactions'][number]
export type SignatureEntry = ResponseFor<typeof consoleOperations.GetSignings>['signings'][number]
export type Submitted = ResponseFor<typeof submitOperations.SubmitTransaction>
export type Outcome = ResponseFor<typeof submitOperations.GetTransactionOutcome>
export type Agent = ResponseFor<typeof agentOperations.ShowAgent>['agent']
export type AgentLimitUse = ResponseFor<typeof agentOperations.ShowAgent>['budget'][number]
export type Approval = ResponseFor<typeof approvalOperations.ListApprovals>['approvals'][number]
