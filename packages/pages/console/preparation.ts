/**
 * Prepares a transfer for review: queries the network, checks, builds the bytes, and has them described and simulated.
 */
import { Transaction } from '@latchkey/algorand'
import { describeOperations, transferOperations } from '@latchkey/kmd-api/operations'
import { loadAccounts } from './accounts.js'
import type { Daemon } from './daemon.js'
import { ConsoleError } from './errors.js'
import { build, feeOf, type Transfer } from './model/transfer.js'
import { type TransferProblem, transferProblems } from './model/transferChecks.js'
import type { AssetDetails, Holding } from './responseTypes.js'
import type { ReviewedTransaction } from './signing.js'

export type Preparation =
  | { isReady: true; transaction: ReviewedTransaction }
  | { isReady: false; problems: readonly TransferProblem[] }

export async function prepare(daemon: Daemon, transfer: Transfer): Promise<Preparation> {
  const parameters = await daemon.call(transferOperations.GetTransactionParameters)
  const problems = await findProblems(daemon, transfer, feeOf(parameters))
  if (problems.length > 0) return { isReady: false, problems }
  const original = build(transfer, parameters)
  const [{ transactions }, simulation] = await Promise.all([
    daemon.call(describeOperations.DescribeTransaction, { transaction: original }),
    daemon.call(transferOperations.SimulateTransaction, { transaction: original }),
  ])
  if (!simulation.isAccepted) {
    return { isReady: false, problems: [{ text: simulation.explanation || 'The node rejected the transaction.' }] }
  }
  const [description] = transactions
  // Ensures that exactly the bytes built here are reviewed and signed.
  if (description === undefined || description.transactionId !== Transaction.id(original)) {
    throw new ConsoleError('wrong_signature')
  }
  return { isReady: true, transaction: { description, original } }
}

async function findProblems(daemon: Daemon, transfer: Transfer, feeMicroAlgos: bigint): Promise<TransferProblem[]> {
  const receiver = 'receiver' in transfer ? transfer.receiver : undefined
  const addresses = [transfer.sender, ...(receiver === undefined ? [] : [receiver])]
  const assetId = transfer.kind === 'pay' ? undefined : transfer.assetId
  const [accounts, asset, holdings] = await Promise.all([
    loadAccounts(daemon, addresses),
    assetId === undefined ? undefined : loadAsset(daemon, assetId),
    assetId === undefined ? [] : loadHoldings(daemon, assetId, addresses),
  ])
  return transferProblems({
    transfer,
    feeMicroAlgos,
    sender: accounts[0]!,
    receiver: receiver === undefined ? undefined : accounts[1],
    asset,
    senderHolding: holdings[0],
    receiverHolding: receiver === undefined ? undefined : holdings[1],
  })
}

export async function loadAsset(daemon: Daemon, assetId: string): Promise<AssetDetails | undefined> {
  return (await daemon.call(transferOperations.GetAssets, { asset_ids: [assetId] })).assets[0]
}

async function loadHoldings(daemon: Daemon, assetId: string, addresses: readonly string[]): Promise<Holding[]> {
  return (await daemon.call(transferOperations.GetHoldings, { asset_id: assetId, addresses })).holdings
}
