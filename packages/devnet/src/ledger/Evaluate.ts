/** What a group does to the ledger: one transaction after the other, in a layer that is thrown away if one fails. */
import { Hash } from '@latchkey/algorand'
import { type Account, isNone, minBalance } from './Account.js'
import * as Algos from './apply/Algos.js'
import { apply, type Outcome } from './apply/index.js'
import { type Candidate, id } from './Candidate.js'
import * as Fees from './Fees.js'
import * as Key from './Key.js'
import { LedgerError } from './LedgerError.js'
import type { StateOverlay } from './StateOverlay.js'
import { leaseKey } from './Store.js'
import { TransactionRejectedError } from './TransactionRejectedError.js'
import type { SpecialAddresses } from './WellFormed.js'

export type Chain = SpecialAddresses & {
  readonly genesisId: string
  readonly genesisHash: Key.Key
}

export type Evaluation = {
  readonly chain: Chain
  /** The round the group would be part of. */
  readonly round: bigint
  readonly layer: StateOverlay
  /** Takes the place of the authorizer that a transaction names, where it may be put right. */
  readonly authorizerOf?: ((candidate: Candidate, index: number) => Key.Key) | undefined
}

/** Each member's outcome; throws a Rejection for the first one that cannot be. */
export function group(candidates: readonly Candidate[], evaluation: Evaluation, done: Outcome[] = []): Outcome[] {
  for (const [index, candidate] of candidates.entries()) {
    try {
      done.push(transaction(candidate, index, evaluation))
    } catch (error) {
      throw error instanceof LedgerError ? rejection(error, candidate, index) : error
    }
  }
  const shortfall = Fees.shortfall(candidates.map(({ txn }) => txn))
  if (shortfall !== undefined) {
    throw new TransactionRejectedError({
      stage: 'state',
      reason: shortfall,
      index: candidates.length - 1,
      hint: 'raise the fee of any member: fees of a group are counted together',
    })
  }
  return done
}

/** Whoever takes groups in looks for what is over in all members first, before any of them is evaluated. */
export function checkNotOver(candidates: readonly Candidate[], round: bigint): void {
  const index = candidates.findIndex(({ txn }) => (txn.lv ?? 0n) < round)
  const candidate = candidates[index]
  if (candidate !== undefined) throw rejection(dead(candidate.txn, round), candidate, index)
}

function rejection(
  { message, isBare, hint }: LedgerError,
  candidate: Candidate,
  index: number,
): TransactionRejectedError {
  const reason = isBare ? message : `transaction ${id(candidate)}: ${message}`
  return new TransactionRejectedError({ stage: 'state', reason, index, hint })
}

function transaction(candidate: Candidate, index: number, evaluation: Evaluation): Outcome {
  const { layer, chain, round } = evaluation
  checkAlive(candidate, chain, round)
  checkRepeated(candidate, layer, round)
  checkAuthorizer(candidate, layer, evaluation.authorizerOf?.(candidate, index) ?? candidate.authorizer)
  const { txn, sender } = candidate
  Algos.move(layer, sender, chain.feeSink, txn.fee ?? 0n)
  if (txn.rekey !== undefined) rekey(layer, sender, Key.of(txn.rekey))
  const outcome = apply(txn, { sender, layer, round })
  checkBalances(layer, chain)
  layer.addTransaction(candidate.key, txn.lv ?? 0n)
  if (txn.lx !== undefined) layer.addLease(leaseKey(sender, Key.of(txn.lx)), txn.lv ?? 0n)
  return outcome
}

function checkAlive({ txn }: Candidate, chain: Chain, round: bigint): void {
  if (round < (txn.fv ?? 0n) || round > (txn.lv ?? 0n)) throw dead(txn, round)
  if (txn.gen !== undefined && txn.gen !== chain.genesisId) {
    throw new LedgerError(`tx.GenesisID <${txn.gen}> does not match expected <${chain.genesisId}>`, { isBare: true })
  }
  if (txn.gh === undefined) throw new LedgerError('required tx.GenesisHash is missing', { isBare: true })
  if (Key.of(txn.gh) !== chain.genesisHash) {
    const expected = Hash.toText(Key.bytes(chain.genesisHash))
    throw new LedgerError(`tx.GenesisHash <${Hash.toText(txn.gh)}> does not match expected <${expected}>`, {
      isBare: true,
      hint: 'the transaction was made for another network; ask this node for suggested parameters',
    })
  }
}

function dead({ fv: first = 0n, lv: last = 0n }: Candidate['txn'], round: bigint): LedgerError {
  return new LedgerError(`txn dead: round ${round} outside of ${first}--${last}`, {
    isBare: true,
    hint: round > last ? 'sign it again with fresh suggested parameters' : `it may come from round ${first} on`,
  })
}

function checkRepeated(candidate: Candidate, layer: StateOverlay, round: bigint): void {
  const { txn, sender } = candidate
  const lease = txn.lx === undefined ? undefined : leaseKey(sender, Key.of(txn.lx))
  const repeated = layer.findRepeated({ digest: candidate.key, lease, round })
  if (repeated === 'transaction')
    throw new LedgerError(`transaction already in ledger: ${id(candidate)}`, { isBare: true })
  if (repeated === 'lease') {
    const holder = `(${Key.address(sender)}, ${Key.address(Key.of(txn.lx!))})`
    throw new LedgerError(`transaction ${id(candidate)} using an overlapping lease (sender, lease):${holder}`, {
      isBare: true,
    })
  }
}

function checkAuthorizer({ sender }: Candidate, layer: StateOverlay, authorizer: Key.Key): void {
  const expected = layer.account(sender).authorizer ?? sender
  if (authorizer === expected) return
  const [should, was] = [Key.address(expected), Key.address(authorizer)]
  throw new LedgerError(`should have been authorized by ${should} but was actually authorized by ${was}`)
}

function rekey(layer: StateOverlay, sender: Key.Key, to: Key.Key): void {
  layer.putAccount(sender, { ...layer.account(sender), authorizer: to === sender ? undefined : to })
}

/** Of every account written so far: a member of a group cannot borrow from a later one. */
function checkBalances(layer: StateOverlay, { feeSink, rewardsPool }: Chain): void {
  for (const [key, account] of layer.accounts) {
    if (key === feeSink || key === rewardsPool || isNone(account)) continue
    const least = minBalance(account)
    if (account.microAlgos < least) throw belowMinimum(key, account, least)
  }
}

function belowMinimum(key: Key.Key, account: Account, least: bigint): LedgerError {
  const { microAlgos, assetsHeld } = account
  return new LedgerError(
    `account ${Key.address(key)} balance ${microAlgos} below min ${least} (${assetsHeld} assets)`,
    {
      hint: `send it ${least - microAlgos} microAlgos more, or close it with a close-remainder-to address`,
    },
  )
}
