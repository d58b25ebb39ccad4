/** Applies a group transaction by transaction, in an overlay that is discarded if one of them fails. */
import { Hash, LatchkeyError } from '@latchkey/algorand'
import type { CallGroup, Effects, Observer, SimulationLimits } from '@latchkey/avm'
import { type Account, isNone, minBalance } from './Account.js'
import { apply, type Context, type Outcome, takeFee } from './apply/index.js'
import * as Fees from './Fees.js'
import type { Chain, IncomingTransaction } from './IncomingTransaction.js'
import { LedgerError } from './LedgerError.js'
import * as MapKey from './MapKey.js'
import { applicationHost, type ProgramChain } from './programs/ApplicationHost.js'
import * as avm from './programs/avm.js'
import * as Delta from './programs/Delta.js'
import type { StateOverlay } from './StateOverlay.js'
import { leaseKey } from './StateReader.js'

export type { Chain } from './IncomingTransaction.js'

export type Evaluation = {
  readonly chain: Chain
  /** The round that would contain the group. */
  readonly round: bigint
  readonly overlay: StateOverlay
  /** The chain as programs read it. */
  readonly programs: ProgramChain
  /** Observes and relaxes application calls, in a simulation. */
  readonly observer?: Observer | undefined
  readonly limits?: SimulationLimits | undefined
  /** Called with the group of application calls, if there are any, before the first transaction. */
  readonly onCallGroup?: ((group: CallGroup) => void) | undefined
  /** Called before each transaction. */
  readonly beforeTransaction?: ((index: number) => void) | undefined
  /** Replaces the authorizers that transactions name, in a simulation that fixes signers. */
  readonly fixedSigners?: ReadonlyMap<number, MapKey.MapKey> | undefined
}

/**
 * Returns the outcome of each member. Throws a LedgerError for the first one that fails.
 *
 * @param outcomes receives them as they become known, including the partial outcome of the one that fails.
 */
export function group(
  transactions: readonly IncomingTransaction[],
  evaluation: Evaluation,
  outcomes: Outcome[] = [],
): Outcome[] {
  const calls = callGroup(transactions, evaluation)
  for (const [index, transaction] of transactions.entries()) {
    const outcome: Outcome = {}
    outcomes.push(outcome)
    try {
      evaluation.beforeTransaction?.(index)
      evaluateOne(transaction, index, evaluation, outcome, calls)
    } catch (error) {
      throw error instanceof LedgerError ? withTransaction(error, transaction, index) : error
    }
  }
  const shortfall = Fees.shortfall(transactions.map(({ signed }) => signed))
  if (shortfall !== undefined) {
    throw new LedgerError('rule_violation', shortfall, {
      index: transactions.length - 1,
      hint: 'raise the fee of any member: fees of a group are pooled',
    })
  }
  return outcomes
}

/** The environment of the application calls of a group, or undefined if it has none. */
function callGroup(
  transactions: readonly IncomingTransaction[],
  { chain, round, overlay, programs, observer, limits, onCallGroup }: Evaluation,
): CallGroup | undefined {
  if (!transactions.some(({ txn }) => txn.type === 'appl')) return undefined
  const { CallGroup } = avm.get()
  const group = new CallGroup({
    transactions: transactions.map(({ txn }) => txn),
    ledger: applicationHost({ chain, round, overlay, programs }),
    feeUsage: Fees.groupUsage(transactions.map(({ signed }) => signed)),
    observer,
    limits,
  })
  onCallGroup?.(group)
  return group
}

/** Performs an application call. Its outcome is known as far as it got, even if it fails. */
function call(calls: CallGroup, index: number, outcome: Context['outcome']): void {
  const effects: Effects = {}
  try {
    calls.call(index, effects)
  } catch (error) {
    if (error instanceof LedgerError || !(error instanceof LatchkeyError)) throw error
    throw new LedgerError('rule_violation', error.message, { cause: error })
  } finally {
    Object.assign(outcome, Delta.outcomeOf(effects))
  }
}

/** Nodes check all members of a group for expiry before they evaluate the first. */
export function checkNotExpired(transactions: readonly IncomingTransaction[], round: bigint): void {
  const index = transactions.findIndex(({ txn }) => (txn.lv ?? 0n) < round)
  const transaction = transactions[index]
  if (transaction !== undefined) throw withTransaction(dead(transaction.txn, round), transaction, index)
}

function withTransaction(
  { message, isStandalone, hint, cause }: LedgerError,
  transaction: IncomingTransaction,
  index: number,
): LedgerError {
  const reason = isStandalone ? message : `transaction ${transaction.decoded.id}: ${message}`
  return new LedgerError('rule_violation', reason, { index, hint, cause })
}

function evaluateOne(
  transaction: IncomingTransaction,
  index: number,
  evaluation: Evaluation,
  outcome: Context['outcome'],
  calls: CallGroup | undefined,
): void {
  const { overlay, chain, round } = evaluation
  checkAlive(transaction, chain, round)
  checkDuplicate(transaction, overlay, round)
  checkAuthorizer(transaction, overlay, evaluation.fixedSigners?.get(index) ?? transaction.authorizer)
  const { txn, sender } = transaction
  takeFee(overlay, txn, chain)
  if (txn.type === 'appl') call(calls!, index, outcome)
  else {
    apply(txn, { sender, overlay, round, outcome })
    calls?.record(index, outcome)
  }
  checkBalances(overlay, chain)
  overlay.addTransaction(transaction.key, txn.lv ?? 0n)
  if (txn.lx !== undefined) overlay.addLease(leaseKey(sender, MapKey.of(txn.lx)), txn.lv ?? 0n)
}

function checkAlive({ txn }: IncomingTransaction, chain: Chain, round: bigint): void {
  if (round < (txn.fv ?? 0n) || round > (txn.lv ?? 0n)) throw dead(txn, round)
  if (txn.gen !== undefined && txn.gen !== chain.genesisId) {
    throw new LedgerError('rule_violation', `tx.GenesisID <${txn.gen}> does not match expected <${chain.genesisId}>`, {
      isStandalone: true,
    })
  }
  if (txn.gh === undefined)
    throw new LedgerError('rule_violation', 'required tx.GenesisHash is missing', { isStandalone: true })
  if (MapKey.of(txn.gh) !== chain.genesisHash) {
    const expected = Hash.toText(MapKey.bytes(chain.genesisHash))
    throw new LedgerError(
      'rule_violation',
      `tx.GenesisHash <${Hash.toText(txn.gh)}> does not match expected <${expected}>`,
      {
        isStandalone: true,
        hint: 'the transaction was made for another network; use the suggested parameters of this node',
      },
    )
  }
}

function dead({ fv: first = 0n, lv: last = 0n }: IncomingTransaction['txn'], round: bigint): LedgerError {
  return new LedgerError('rule_violation', `txn dead: round ${round} outside of ${first}--${last}`, {
    isStandalone: true,
    hint: round > last ? 'sign it again with fresh suggested parameters' : `it is valid from round ${first} on`,
  })
}

function checkDuplicate(transaction: IncomingTransaction, overlay: StateOverlay, round: bigint): void {
  const { txn, sender } = transaction
  const lease = txn.lx === undefined ? undefined : leaseKey(sender, MapKey.of(txn.lx))
  const repeated = overlay.findDuplicate({ digest: transaction.key, lease, round })
  if (repeated === 'transaction')
    throw new LedgerError('rule_violation', `transaction already in ledger: ${transaction.decoded.id}`, {
      isStandalone: true,
    })
  if (repeated === 'lease') {
    const holder = `(${MapKey.address(sender)}, ${MapKey.address(MapKey.of(txn.lx!))})`
    throw new LedgerError(
      'rule_violation',
      `transaction ${transaction.decoded.id} using an overlapping lease (sender, lease):${holder}`,
      {
        isStandalone: true,
      },
    )
  }
}

function checkAuthorizer({ sender }: IncomingTransaction, overlay: StateOverlay, authorizer: MapKey.MapKey): void {
  const expected = overlay.account(sender).authorizer ?? sender
  if (authorizer === expected) return
  const [should, was] = [MapKey.address(expected), MapKey.address(authorizer)]
  throw new LedgerError(
    'rule_violation',
    `should have been authorized by ${should} but was actually authorized by ${was}`,
  )
}

/** Checks every account written so far, because a member of a group cannot borrow from a later one. */
function checkBalances(overlay: StateOverlay, { feeSink, rewardsPool }: Chain): void {
  for (const [key, account] of overlay.accounts) {
    if (key === feeSink || key === rewardsPool || isNone(account)) continue
    const least = minBalance(account)
    if (account.microAlgos < least) throw belowMinimum(key, account, least)
  }
}

function belowMinimum(key: MapKey.MapKey, account: Account, least: bigint): LedgerError {
  const { microAlgos, assetsHeld } = account
  return new LedgerError(
    'rule_violation',
    `account ${MapKey.address(key)} balance ${microAlgos} below min ${least} (${assetsHeld} assets)`,
    {
      hint: `send it ${least - microAlgos} microAlgos more, or close it with a close-remainder-to address`,
    },
  )
}
