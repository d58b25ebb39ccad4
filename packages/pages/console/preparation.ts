/**
 * Prepares a transfer for review: queries the network, checks, builds the bytes, and has them described and simulated.
 */
import { Transaction } from '@latchkey/algorand'
import type { Api } from './api.js'
import { ConsoleError } from './errors.js'
import { build, feeOf, type Transfer } from './model/transfer.js'
import { type TransferProblem, transferProblems } from './model/transferChecks.js'
import type { ReviewedTransaction } from './signing.js'

export type Preparation =
  | { isReady: true; transaction: ReviewedTransaction }
  | { isReady: false; problems: readonly TransferProblem[] }

export async function prepare(api: Api, transfer: Transfer): Promise<Preparation> {
  const parameters = await api.transactionParameters()
  const problems = await findProblems(api, transfer, feeOf(parameters))
  if (problems.length > 0) return { isReady: false, problems }
  const original = build(transfer, parameters)
  const [{ descriptions }, rejection] = await Promise.all([api.describe(original), api.simulate(original)])
  if (rejection !== '') return { isReady: false, problems: [{ text: rejection }] }
  const [description] = descriptions
  // Ensures that exactly the bytes built here are reviewed and signed.
  if (description === undefined || description.transactionId !== Transaction.id(original)) {
    throw new ConsoleError('wrong_signature')
  }
  return { isReady: true, transaction: { description, original } }
}

async function findProblems(api: Api, transfer: Transfer, feeMicroAlgos: bigint): Promise<TransferProblem[]> {
  const receiver = 'receiver' in transfer ? transfer.receiver : undefined
  const addresses = [transfer.sender, ...(receiver === undefined ? [] : [receiver])]
  const assetId = transfer.kind === 'pay' ? undefined : transfer.assetId
  const [accounts, asset, holdings] = await Promise.all([
    api.accounts(addresses),
    assetId === undefined ? undefined : api.asset(assetId),
    assetId === undefined ? [] : api.holdings(assetId, addresses),
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
