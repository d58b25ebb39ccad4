/** Applies transactions to an overlay: fees, payments and key registrations here, transactions of assets in `Assets`. */
import type { Transaction } from '@latchkey/algorand'
import { type AppTotals, none } from '../Account.js'
import * as Consensus from '../Consensus.js'
import { formatMicroAlgos } from '../Fees.js'
import { LedgerError } from '../LedgerError.js'
import * as MapKey from '../MapKey.js'
import type { StateOverlay } from '../StateOverlay.js'
import { assetConfig, assetFreeze, assetTransfer } from './Assets.js'
import type { Context } from './Context.js'

export type { Context, Outcome } from './Context.js'

const byType: { readonly [type: string]: (txn: Transaction.Transaction, context: Context) => void } = {
  pay: payment,
  axfer: assetTransfer,
  acfg: assetConfig,
  afrz: assetFreeze,
  keyreg: keyRegistration,
}

/** Applies a well-formed transaction whose fee has already been taken. */
export function apply(txn: Transaction.Transaction, context: Context): void {
  byType[txn.type]!(txn, context)
}

/** Moves the fee of a transaction, and rekeys its sender. */
export function takeFee(
  overlay: StateOverlay,
  txn: Transaction.Transaction,
  { feeSink }: { readonly feeSink: MapKey.MapKey },
): void {
  const sender = MapKey.of(txn.snd)
  const fee = txn.fee ?? 0n
  moveAlgos(overlay, sender, feeSink, fee)
  if (sender !== feeSink) overlay.feesCollected += fee
  if (txn.rekey === undefined) return
  const to = MapKey.of(txn.rekey)
  overlay.putAccount(sender, { ...overlay.account(sender), authorizer: to === sender ? undefined : to })
}

function payment(txn: Transaction.Transaction, { sender, overlay, outcome }: Context): void {
  if (txn.amt !== undefined || txn.rcv !== undefined) moveAlgos(overlay, sender, MapKey.ofField(txn.rcv), txn.amt ?? 0n)
  if (txn.close === undefined) return
  const closingAmount = overlay.account(sender).microAlgos
  outcome.closingAmount = closingAmount
  moveAlgos(overlay, sender, MapKey.of(txn.close), closingAmount)
  const { assetsHeld, assetsCreated, apps } = overlay.account(sender)
  if (assetsHeld > 0) {
    throw new LedgerError('rule_violation', `cannot close: ${assetsHeld} outstanding assets`, {
      hint: 'close out of its assets first',
    })
  }
  if (assetsCreated > 0)
    throw new LedgerError('rule_violation', `cannot close: ${assetsCreated} outstanding created assets`)
  if (apps !== undefined) checkApps(apps)
  overlay.putAccount(sender, none)
}

function checkApps({ optedIn, created, boxes }: AppTotals): void {
  const refuse = (what: string): never => {
    throw new LedgerError('rule_violation', `cannot close: ${what}`)
  }
  if (optedIn > 0) refuse(`${optedIn} outstanding applications opted in. Please opt out or clear them`)
  if (boxes > 0) refuse(`${boxes} outstanding boxes`)
  if (created > 0) refuse(`${created} outstanding created applications`)
}

/** A move of nothing writes an account only if it has this much, for which a node may have rewards. */
const rewardUnitMicroAlgos = 1_000_000n

/** Moves Algos. Nodes report the accounts that were written, and the order. */
export function moveAlgos(overlay: StateOverlay, from: MapKey.MapKey, to: MapKey.MapKey, microAlgos: bigint): void {
  const source = overlay.account(from)
  if (source.microAlgos < microAlgos) {
    const [has, spends] = [formatMicroAlgos(source.microAlgos), formatMicroAlgos(microAlgos)]
    const reason = `overspend (account ${MapKey.address(from)}, data {MicroAlgos:${has}}, tried to spend ${spends})`
    throw new LedgerError('rule_violation', reason, {
      hint: `it lacks ${microAlgos - source.microAlgos} microAlgos`,
    })
  }
  if (microAlgos > 0n || source.microAlgos >= rewardUnitMicroAlgos) {
    overlay.putAccount(from, { ...source, microAlgos: source.microAlgos - microAlgos })
  }
  const target = overlay.account(to)
  if (microAlgos > 0n || target.microAlgos >= rewardUnitMicroAlgos) {
    overlay.putAccount(to, { ...target, microAlgos: target.microAlgos + microAlgos })
  }
}

/** Recorded and served without effect, because a development ledger has no consensus. */
function keyRegistration(txn: Transaction.Transaction, { sender, overlay, round }: Context): void {
  const account = overlay.account(sender)
  if (account.status === 'Not Participating') {
    throw new LedgerError(
      'rule_violation',
      `cannot change online/offline status of non-participating account ${MapKey.address(sender)}`,
    )
  }
  if (txn.votekey === undefined || txn.selkey === undefined) {
    const status = txn.nonpart === true ? 'Not Participating' : 'Offline'
    overlay.putAccount(sender, { ...account, status, participation: undefined })
    return
  }
  const trying = 'transaction tries to mark an account as online with'
  const firstRound = txn.votefst ?? 0n
  const lastRound = txn.votelst ?? 0n
  if (lastRound <= round) throw new LedgerError('rule_violation', `${trying} last voting round in the past`)
  if (firstRound > round + 1n)
    throw new LedgerError('rule_violation', `${trying} first voting round beyond the next voting round`)
  overlay.putAccount(sender, {
    ...account,
    status: 'Online',
    incentiveEligible: account.incentiveEligible || (txn.fee ?? 0n) >= Consensus.incentiveFeeMicroAlgos,
    lastHeartbeat: round + Consensus.balanceLookbackRounds,
    participation: {
      voteKey: txn.votekey,
      selectionKey: txn.selkey,
      stateProofKey: txn.sprfkey!,
      firstRound,
      lastRound,
      keyDilution: txn.votekd ?? 0n,
    },
  })
}
