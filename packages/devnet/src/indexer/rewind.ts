/** Computes an account as of an earlier round by undoing its transactions. */
import { Submission, type Transaction } from '@latchkey/algorand'
import type { Effects } from '../ledger/apply/Context.js'
import type { Ledger } from '../ledger/Ledger.js'
import * as MapKey from '../ledger/MapKey.js'
import * as Delta from '../ledger/programs/Delta.js'
import type { Value } from '../rest/HttpResponse.js'
import type { Members } from './accountJson.js'
import type { TransactionIndex } from './TransactionIndex.js'
import type { Slice } from './Turns.js'

export type Rewinding = {
  readonly ledger: Ledger
  readonly transactions: TransactionIndex
  readonly slice: Slice
  readonly key: MapKey.MapKey
  readonly round: bigint
  readonly account: Members
}

/** The difference to the current balances. */
type Difference = { microAlgos: bigint; readonly assets: Map<bigint, bigint> }

/**
 * As on an indexer, keys, status and minimum balance are not those of that round. Funding without a transaction is not
 * undone. Returns the reason if it is not possible.
 */
export async function rewind({
  ledger,
  transactions,
  slice,
  key,
  round,
  account,
}: Rewinding): Promise<Members | string> {
  const { chain } = ledger.genesis
  if (key === chain.feeSink) return 'unable to rewind the FeeSink'
  if (key === chain.rewardsPool) return 'unable to rewind the RewardsPool'
  if (round + 1n < ledger.oldestRound) return `blocks before round ${ledger.oldestRound} are not kept`
  const { revision } = transactions
  const list = transactions.ofAccount(key)
  const difference: Difference = { microAlgos: 0n, assets: new Map() }
  let above = transactions.range.high
  for (;;) {
    const position = (list?.indexOf(above) ?? 0) - 1
    const entry = list === undefined || position < 0 ? undefined : transactions.entry(list.sequence(position))
    if (entry === undefined || entry.block.round <= round) break
    above = list!.sequence(position)
    const { signed, outcome } = entry.block.transactions[entry.intra]!
    undo(Submission.decodeFirst(signed).signed.txn, outcome, key, difference)
    for (const inner of Delta.innersOf(outcome.delta)) undo(inner.txn, inner.effects, key, difference)
    await slice.pause()
    if (transactions.revision !== revision) return 'the ledger was reverted during the request'
  }
  const amount = BigInt(account['amount'] as bigint) + difference.microAlgos
  return {
    ...account,
    amount,
    'amount-without-pending-rewards': amount,
    assets: withDifference(account['assets'] as Members[] | undefined, difference.assets),
    'min-balance': 0,
    round,
  }
}

function undo(txn: Transaction.Transaction, outcome: Effects, key: MapKey.MapKey, difference: Difference): void {
  const is = (bytes: Uint8Array | undefined): boolean => bytes !== undefined && MapKey.of(bytes) === key
  const addAsset = (assetId: bigint, amount: bigint): void => {
    difference.assets.set(assetId, (difference.assets.get(assetId) ?? 0n) + amount)
  }
  const isSender = is(txn.snd)
  if (isSender) difference.microAlgos += txn.fee ?? 0n
  if (txn.type === 'pay') {
    const closed = outcome.closingAmount ?? 0n
    if (isSender) difference.microAlgos += (txn.amt ?? 0n) + closed
    if (MapKey.ofField(txn.rcv) === key) difference.microAlgos -= txn.amt ?? 0n
    if (is(txn.close)) difference.microAlgos -= closed
  } else if (txn.type === 'acfg' && outcome.createdAssetId !== undefined && isSender) {
    addAsset(outcome.createdAssetId, -(txn.apar?.t ?? 0n))
  } else if (txn.type === 'axfer') {
    const assetId = txn.xaid ?? 0n
    const closed = outcome.assetClosingAmount ?? 0n
    if (txn.asnd === undefined ? isSender : is(txn.asnd)) addAsset(assetId, (txn.aamt ?? 0n) + closed)
    if (MapKey.ofField(txn.arcv) === key) addAsset(assetId, -(txn.aamt ?? 0n))
    if (is(txn.aclose)) addAsset(assetId, -closed)
  }
}

/** Adds holdings that no longer exist, with their earlier amounts. */
function withDifference(holdings: readonly Members[] = [], difference: ReadonlyMap<bigint, bigint>): Value | undefined {
  const left = new Map(difference)
  const shown: Value[] = holdings.map((holding) => {
    const assetId = holding['asset-id'] as bigint
    const change = left.get(assetId) ?? 0n
    left.delete(assetId)
    return { ...holding, amount: (holding['amount'] as bigint) + change }
  })
  for (const [assetId, amount] of left) {
    if (amount >= 0n) shown.push({ amount, 'asset-id': assetId, 'is-frozen': false })
  }
  return shown.length === 0 ? undefined : shown
}
