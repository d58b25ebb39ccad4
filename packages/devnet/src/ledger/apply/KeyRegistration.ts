import type { Transaction } from '@latchkey/algorand'
import * as Consensus from '../Consensus.js'
import { LedgerError } from '../LedgerError.js'
import * as MapKey from '../MapKey.js'
import type { Context } from './Context.js'

/** Recorded and served without effect, because a development ledger has no consensus. */
export function keyRegistration(txn: Transaction.Transaction, { sender, overlay, round }: Context): void {
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
