/**
 * A decoded transaction before the ledger accepts it, with its canonical bytes and id, and the checks that need no
 * state.
 */
import { BoundedMap, Group, Hash, type Multisig, type Submission, Transaction } from '@latchkey/algorand'
import * as Consensus from './Consensus.js'
import { checkWellFormed, type SpecialAddresses } from './checkWellFormed.js'
import { LedgerError } from './LedgerError.js'
import * as MapKey from './MapKey.js'
import { multisigReason, verify, verifyMultisig } from './nodeSignature.js'
import * as postQuantumSignature from './postQuantumSignature.js'
import * as LogicSignature from './programs/LogicSignature.js'

export type IncomingTransaction = {
  /** The canonical bytes and the id. */
  readonly decoded: Submission.Decoded
  readonly signed: Submission.Submitted
  readonly txn: Transaction.Transaction
  readonly key: MapKey.MapKey
  readonly sender: MapKey.MapKey
  /** The account whose signature it carries. */
  readonly authorizer: MapKey.MapKey
  readonly isSigned: boolean
}

/** Checks everything about a group that does not depend on the state, apart from signatures. */
export function prepare(group: readonly Submission.Decoded[], special: SpecialAddresses): IncomingTransaction[] {
  const transactions = group.map((decoded, index) => {
    const reason = checkWellFormed(decoded.signed.txn, special)
    if (reason !== undefined) throw errorOf('malformed_transaction', decoded, index, reason)
    return incomingOf(decoded)
  })
  checkGroup(transactions)
  checkLogicSizes(transactions)
  return transactions
}

function errorOf(
  code: 'malformed_transaction' | 'missing_signature',
  { id }: Submission.Decoded,
  index: number,
  reason: string,
): LedgerError {
  return new LedgerError(code, reason, { index, transactionId: id })
}

function incomingOf(decoded: Submission.Decoded): IncomingTransaction {
  const { signed } = decoded
  const { txn } = signed
  const sender = MapKey.of(txn.snd)
  return {
    decoded,
    signed,
    txn,
    key: MapKey.of(decoded.digest),
    sender,
    authorizer: signed.sgnr === undefined ? sender : MapKey.of(signed.sgnr),
    isSigned: isSigned(signed),
  }
}

/** Whether the transaction carries a signature of any kind. */
export function isSigned({ sig, msig, lsig, pqsig }: Submission.Submitted): boolean {
  return sig !== undefined || msig !== undefined || lsig !== undefined || pqsig !== undefined
}

/**
 * Recently verified complete groups, by the digests of their members: a payment is simulated before it is submitted.
 */
const complete = new BoundedMap<string, true>(4_096)

function checkGroup(transactions: readonly IncomingTransaction[]): void {
  const [first] = transactions
  if (first === undefined || (transactions.length === 1 && first.txn.grp === undefined)) return
  const fail = (index: number | undefined, reason: string): never => {
    throw new LedgerError('invalid_group', reason, { index })
  }
  const claimed = MapKey.ofField(first.txn.grp)
  if (claimed === MapKey.zero) {
    fail(0, `transactionGroup: [0] had zero Group but was submitted in a group of ${transactions.length}`)
  }
  for (const [index, { txn }] of transactions.entries()) {
    const own = MapKey.ofField(txn.grp)
    if (own === claimed) continue
    const values = `${Hash.toText(MapKey.bytes(own))} != ${Hash.toText(MapKey.bytes(claimed))}`
    fail(index, `transactionGroup: inconsistent group values: ${values}`)
  }
  // Each key is 32 characters and identifies its group.
  const keys = transactions.map(({ key }) => key).join('')
  if (complete.has(keys)) return
  const actual = Group.idOfEncoded(transactions.map(({ decoded }) => decoded.transactionBytes))
  if (MapKey.of(actual) === claimed) {
    complete.set(keys, true)
    return
  }
  const values = `${Hash.toText(MapKey.bytes(claimed))} != ${Hash.toText(actual)}`
  fail(undefined, `transactionGroup: incomplete group: ${values} (of ${transactions.length} submitted)`)
}

/** A group pools the bytes that its members may use for the arguments of logic signatures. */
function checkLogicSizes(transactions: readonly IncomingTransaction[]): void {
  let bytes = 0
  for (const [index, { signed }] of transactions.entries()) {
    const { lsig } = signed
    if (lsig === undefined) continue
    if (lsig.l === undefined || lsig.l.length === 0) {
      throw new LedgerError('invalid_group', 'LogicSig fields without LogicSig program', { index })
    }
    for (const { length } of lsig.arg ?? []) bytes += length
  }
  const each = Consensus.maxLogicArgumentBytes
  const pool = each * transactions.length
  if (bytes <= pool) return
  const limit = `the available size pool of ${pool} bytes (per-LogicSig allowance is ${each})`
  throw new LedgerError('invalid_group', `txgroup had ${bytes} bytes of LogicSig args, more than ${limit}`)
}

/**
 * Checks the signature of every transaction. An unsigned transaction passes if `allowsEmpty`. As on a node, the programs
 * of logic signatures run before the other signatures are verified.
 */
export function checkSignatures(
  transactions: readonly IncomingTransaction[],
  allowsEmpty: boolean,
  programs: LogicSignature.LogicContext,
): void {
  let budget: ReturnType<typeof LogicSignature.budgetOf> | undefined
  for (const [index, transaction] of transactions.entries()) {
    let reason = signatureProblem(transaction, allowsEmpty)
    if (reason === undefined && transaction.signed.lsig !== undefined) {
      budget ??= LogicSignature.budgetOf(transactions)
      reason = LogicSignature.problemOf(transactions, index, budget, programs)
    }
    if (reason !== undefined) throw errorOf('missing_signature', transaction.decoded, index, reason)
  }
  for (const transaction of transactions) {
    if (!isEmpty(transaction) && transaction.signed.lsig === undefined && !isVerified(transaction)) {
      throw new LedgerError('invalid_signature', "At least one signature didn't pass verification", {
        hint: `${transaction.decoded.id} is not signed by ${MapKey.address(transaction.authorizer)} over its canonical bytes`,
      })
    }
  }
}

/** Whether a transaction has no signature to verify. Empty ones have been refused where they are not permitted. */
function isEmpty({ isSigned, signed: { pqsig } }: IncomingTransaction): boolean {
  return !isSigned || (pqsig !== undefined && pqsig.sig === undefined)
}

function signatureProblem(transaction: IncomingTransaction, allowsEmpty: boolean): string | undefined {
  const { sig, msig, lsig, pqsig, sgnr } = transaction.signed
  const kinds = [sig, msig, lsig, pqsig].filter((kind) => kind !== undefined).length
  // A node then signs it with its own key, so the named signer is not checked here.
  if (kinds === 0 && allowsEmpty) return undefined
  if (sgnr !== undefined && transaction.authorizer === transaction.sender)
    return 'AuthAddr must be different from Sender'
  if (kinds === 0) return 'signedtxn has no sig'
  if (kinds > 1) return 'signedtxn should have only one type of signature'
  if (pqsig !== undefined) return postQuantumProblem(pqsig, transaction.authorizer, allowsEmpty)
  if (msig !== undefined) return multisigProblem(msig, transaction.authorizer)
  return undefined
}

/** Without its signature, the key shows who would sign, and the fee, to a simulation that permits empty signatures. */
function postQuantumProblem(
  pqsig: Submission.PostQuantumSignature,
  authorizer: MapKey.MapKey,
  allowsEmpty: boolean,
): string | undefined {
  if (pqsig.sig === undefined && !allowsEmpty) return 'signedtxn has no sig'
  return postQuantumSignature.problemOf(pqsig, authorizer)
}

function multisigProblem(msig: Multisig.Signature, authorizer: MapKey.MapKey): string | undefined {
  const reason = multisigReason(msig, authorizer)
  return reason === undefined ? undefined : `multisig validation failed: ${reason}`
}

/**
 * Recently verified signatures, by everything they depend on: the digest of the signed bytes, the key and the
 * signature. A payment is simulated before it is submitted, and this check takes longer than everything else.
 */
const verified = new BoundedMap<string, true>(4_096)

function isVerified({ decoded, key, authorizer }: IncomingTransaction): boolean {
  const { sig, msig, pqsig } = decoded.signed
  if (pqsig !== undefined) {
    return postQuantumSignature.verify(pqsig, Transaction.bytesToSign(decoded.transactionBytes))
  }
  if (msig !== undefined) return verifyMultisig(msig, Transaction.bytesToSign(decoded.transactionBytes))
  // The first two parts are 32 characters each.
  const name = key + authorizer + MapKey.of(sig!)
  if (verified.has(name)) return true
  const isValid = verify(sig!, Transaction.bytesToSign(decoded.transactionBytes), MapKey.bytes(authorizer))
  if (isValid) verified.set(name, true)
  return isValid
}
