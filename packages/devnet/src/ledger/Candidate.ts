/** A group on its way into the ledger: decoded, each transaction with its canonical bytes and its id. */
import { Bytes, Ed25519, Group, Hash, Multisig, Submission, Transaction } from '@latchkey/algorand'
import * as Key from './Key.js'
import { type Stage, TransactionRejectedError } from './TransactionRejectedError.js'
import * as WellFormed from './WellFormed.js'

export type Candidate = {
  readonly signed: Submission.Submitted
  readonly txn: Transaction.Transaction
  /** The canonical encoding of the transaction: what is signed. */
  readonly bytes: Uint8Array
  /** The canonical encoding of the whole, signature and all. */
  readonly signedBytes: Uint8Array
  readonly digest: Uint8Array
  readonly key: Key.Key
  readonly sender: Key.Key
  /** Whose signature it carries, or claims to. */
  readonly authorizer: Key.Key
  readonly isSigned: boolean
}

export function id(candidate: Candidate): string {
  return Hash.toText(candidate.digest)
}

/** What is wrong with a group that the ledger need not be asked about. Signatures are checked apart from this. */
export function prepare(group: readonly Submission.Submitted[], special: WellFormed.SpecialAddresses): Candidate[] {
  const candidates = group.map((signed, index) => {
    const reason = WellFormed.check(signed.txn, special)
    if (reason !== undefined) throw refused('malformed', signed, index, reason)
    return candidateOf(signed)
  })
  checkGroup(candidates)
  return candidates
}

function refused(stage: Stage, signed: Submission.Submitted, index: number, reason: string): TransactionRejectedError {
  return new TransactionRejectedError({ stage, reason, index, transactionId: idOf(signed.txn) })
}

function idOf(txn: Transaction.Transaction): string {
  return Transaction.id(Submission.transactionBytes(txn))
}

function candidateOf(signed: Submission.Submitted): Candidate {
  const { txn } = signed
  const bytes = Transaction.encode(txn)
  const digest = Transaction.digest(bytes)
  const sender = Key.of(txn.snd)
  return {
    signed,
    txn,
    bytes,
    signedBytes: Submission.encode(signed),
    digest,
    key: Key.of(digest),
    sender,
    authorizer: signed.sgnr === undefined ? sender : Key.of(signed.sgnr),
    isSigned: [signed.sig, signed.msig, signed.lsig, signed.pqsig].some((kind) => kind !== undefined),
  }
}

function checkGroup(candidates: readonly Candidate[]): void {
  const [first] = candidates
  if (first === undefined || (candidates.length === 1 && first.txn.grp === undefined)) return
  const refuse = (index: number | undefined, reason: string): never => {
    throw new TransactionRejectedError({ stage: 'group', reason, index })
  }
  const claimed = Key.ofField(first.txn.grp)
  if (claimed === Key.zero) {
    refuse(0, `transactionGroup: [0] had zero Group but was submitted in a group of ${candidates.length}`)
  }
  for (const [index, { txn }] of candidates.entries()) {
    const own = Key.ofField(txn.grp)
    if (own === claimed) continue
    const values = `${Hash.toText(Key.bytes(own))} != ${Hash.toText(Key.bytes(claimed))}`
    refuse(index, `transactionGroup: inconsistent group values: ${values}`)
  }
  const actual = Group.id(candidates.map(({ txn }) => txn))
  if (Key.of(actual) === claimed) return
  const values = `${Hash.toText(Key.bytes(claimed))} != ${Hash.toText(actual)}`
  refuse(undefined, `transactionGroup: incomplete group: ${values} (of ${candidates.length} submitted)`)
}

/** Every transaction authorised by a signature that holds; those without one too, if `allowsEmpty`. */
export function checkSignatures(candidates: readonly Candidate[], allowsEmpty: boolean): void {
  for (const [index, candidate] of candidates.entries()) {
    const reason = signatureFault(candidate, allowsEmpty)
    if (reason !== undefined) throw refused('unsigned', candidate.signed, index, reason)
  }
  for (const candidate of candidates) {
    if (candidate.isSigned && !isVerified(candidate)) {
      throw new TransactionRejectedError({
        stage: 'signature',
        reason: "At least one signature didn't pass verification",
        hint: `${id(candidate)} is not signed by ${Key.address(candidate.authorizer)} over its canonical bytes`,
      })
    }
  }
}

function signatureFault(candidate: Candidate, allowsEmpty: boolean): string | undefined {
  const { sig, msig, lsig, pqsig, sgnr } = candidate.signed
  if (sgnr !== undefined && candidate.authorizer === candidate.sender) return 'AuthAddr must be different from Sender'
  const kinds = [sig, msig, lsig, pqsig].filter((kind) => kind !== undefined).length
  if (kinds === 0) return allowsEmpty ? undefined : 'signedtxn has no sig'
  if (kinds > 1) return 'signedtxn should have only one type of signature'
  if (lsig !== undefined) return 'logic signatures (lsig) are not supported: this development ledger runs no programs'
  if (pqsig !== undefined) return 'Falcon signatures (pqsig) are not supported by this development ledger'
  if (msig !== undefined) return multisigFault(msig, candidate.authorizer)
  return undefined
}

function multisigFault(msig: Multisig.Signature, authorizer: Key.Key): string | undefined {
  const reason = multisigReason(msig, authorizer)
  return reason === undefined ? undefined : `multisig validation failed: ${reason}`
}

function multisigReason(msig: Multisig.Signature, authorizer: Key.Key): string | undefined {
  const [first] = msig.subsig
  if (first === undefined || isBlank(first)) return 'Invalid number of signatures'
  if (msig.v !== 1) return 'unknown version'
  if (msig.thr < 1 || msig.thr > msig.subsig.length) return 'Invalid threshold'
  if (Key.of(Multisig.address(Multisig.preimage(msig))) !== authorizer) return 'Invalid address'
  const signatures = msig.subsig.filter(({ s }) => s !== undefined).length
  return signatures < msig.thr ? 'Invalid number of signatures' : undefined
}

/** Nodes take a first member without key and signature as the end of the list. */
function isBlank({ pk, s }: Multisig.Subsignature): boolean {
  return Bytes.isZero(pk) && s === undefined
}

function isVerified({ signed, bytes, authorizer }: Candidate): boolean {
  const message = Transaction.bytesToSign(bytes)
  if (signed.msig !== undefined) return Multisig.verify(signed.msig, message)
  return Ed25519.verify(signed.sig!, message, Key.bytes(authorizer))
}
