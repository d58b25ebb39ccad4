/**
 * A decoded transaction before the ledger accepts it, with its canonical bytes and id, and the checks that need no
 * state.
 */
import {
  Address,
  BoundedMap,
  Group,
  Hash,
  type Multisig,
  Program,
  type Submission,
  Transaction,
} from '@latchkey/algorand'
import type { Evaluation } from '@latchkey/avm'
import * as Consensus from './Consensus.js'
import { checkApplicationCall } from './checkApplicationCall.js'
import { LedgerError } from './LedgerError.js'
import * as MapKey from './MapKey.js'
import { multisigReason, verify, verifyMultisig } from './nodeSignature.js'
import * as postQuantumSignature from './postQuantumSignature.js'
import * as LogicSignature from './programs/LogicSignature.js'

type Txn = Transaction.Transaction
export type SpecialAddresses = { readonly feeSink: MapKey.MapKey; readonly rewardsPool: MapKey.MapKey }

/** A network: its special addresses, and what transactions name it by. */
export type Chain = SpecialAddresses & {
  readonly genesisId: string
  readonly genesisHash: MapKey.MapKey
}

export type IncomingTransaction = {
  /** The canonical bytes and the id. */
  readonly decoded: Submission.Decoded
  readonly signed: Submission.Submitted
  readonly txn: Transaction.Transaction
  readonly key: MapKey.MapKey
  readonly sender: MapKey.MapKey
  /** The account whose signature it carries. */
  readonly authorizer: MapKey.MapKey
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
  signatures?: LedgerError['signatures'],
): LedgerError {
  return new LedgerError(code, reason, { index, transactionId: id, signatures })
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
  const members = transactions.map(({ decoded }) => {
    return Transaction.id(Transaction.withoutFields(decoded.transactionBytes, ['grp']))
  })
  fail(undefined, `transactionGroup: incomplete group: ${values} ({{} [${members.join(' ')}]})`)
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

/** How signatures are checked in a simulation that permits empty ones. */
export type EmptySignatures = {
  /** The signer of a transaction without a signature is determined later, so that it is not compared here. */
  readonly fixesSigners: boolean
}

/** Whether a transaction carries a post-quantum signature without its bytes, which stands for one in simulations. */
export function isPlaceholder({ sig, msig, lsig, pqsig }: Submission.Submitted): boolean {
  const isOnly = sig === undefined && msig === undefined && lsig === undefined
  return isOnly && pqsig !== undefined && pqsig.sig === undefined
}

/** Whether a program is delegated by a post-quantum signature without its bytes. */
export function isDelegatedPlaceholder({ sig, msig, lsig, pqsig }: Submission.Submitted): boolean {
  if (sig !== undefined || msig !== undefined || pqsig !== undefined || lsig?.l === undefined) return false
  const isOnly = lsig.sig === undefined && lsig.msig === undefined && lsig.lmsig === undefined
  return isOnly && lsig.pqsig !== undefined && lsig.pqsig.sig === undefined
}

/** Whether a simulation may determine the signer, because the transaction carries no complete signature. */
export function needsSigner(signed: Submission.Submitted): boolean {
  return !isSigned(signed) || isPlaceholder(signed) || isDelegatedPlaceholder(signed)
}

/**
 * Checks the signature of every transaction. With `empty`, an unsigned transaction and a placeholder pass. As on a node,
 * programs run and post-quantum signatures are verified before the signatures of Ed25519.
 */
export function checkSignatures(
  transactions: readonly IncomingTransaction[],
  programs: LogicSignature.LogicContext,
  empty?: EmptySignatures | undefined,
): void {
  let budget: ReturnType<typeof LogicSignature.budgetOf> | undefined
  const evaluations: Evaluation[] = []
  const onEvaluated = (index: number, evaluation: Evaluation): void => {
    evaluations[index] = evaluation
    programs.onEvaluated?.(index, evaluation)
  }
  const context = { ...programs, onEvaluated }
  const verifiedLater: IncomingTransaction[] = []
  for (const [index, transaction] of transactions.entries()) {
    const passes = empty !== undefined && passesWithout(transaction, empty)
    const { lsig } = transaction.signed
    if (passes && lsig === undefined) continue
    const isFixed = empty?.fixesSigners === true && needsSigner(transaction.signed)
    let reason = passes ? escrowProblem(transaction) : signatureProblem(transaction, isFixed)
    if (reason === undefined && lsig !== undefined) {
      budget ??= LogicSignature.budgetOf(transactions)
      const problemOf = passes ? LogicSignature.problemOfProgram : LogicSignature.problemOf
      reason = problemOf(transactions, index, budget, context)
    }
    if (reason !== undefined) throw errorOf('missing_signature', transaction.decoded, index, reason, evaluations)
    verifiedLater.push(transaction)
  }
  for (const transaction of verifiedLater) {
    if (isVerified(transaction)) continue
    throw new LedgerError('invalid_signature', "At least one signature didn't pass verification", {
      hint: `${transaction.decoded.id} is not signed by ${MapKey.address(transaction.authorizer)} over its canonical bytes`,
    })
  }
}

/** Whether a simulation treats a transaction as signed. A node then signs it with a key of its own. */
function passesWithout({ signed, authorizer }: IncomingTransaction, { fixesSigners }: EmptySignatures): boolean {
  if (!isSigned(signed)) return true
  const isDelegated = isDelegatedPlaceholder(signed)
  if (!isDelegated && !isPlaceholder(signed)) return false
  const signature = isDelegated ? signed.lsig!.pqsig! : signed.pqsig!
  return postQuantumSignature.placeholderProblem(signature, fixesSigners ? undefined : authorizer) === undefined
}

/** For the check, a node makes the program itself the signer of a transaction with a placeholder of a delegation. */
function escrowProblem({ signed, sender }: IncomingTransaction): string | undefined {
  return MapKey.of(Program.address(signed.lsig!.l!)) === sender ? sameSigner : undefined
}

const sameSigner = 'AuthAddr must be different from Sender'

function signatureProblem(
  { signed, sender, authorizer, decoded }: IncomingTransaction,
  isFixed: boolean,
): string | undefined {
  const { sig, msig, lsig, pqsig, sgnr } = signed
  const kinds = [sig, msig, lsig, pqsig].filter((kind) => kind !== undefined).length
  if (sgnr !== undefined && authorizer === sender && !isFixed) return sameSigner
  if (kinds === 0) return 'signedtxn has no sig'
  if (kinds > 1) return 'signedtxn should have only one type of signature'
  if (pqsig !== undefined) {
    const message = Transaction.bytesToSign(decoded.transactionBytes)
    const reason = postQuantumSignature.problemOf(pqsig, message, authorizer)
    return reason === undefined ? undefined : `pq signature validation failed: ${reason}`
  }
  if (msig !== undefined) return multisigProblem(msig, authorizer)
  return undefined
}

/**
 * Returns the first placeholder whose key is not of the account that may sign, and why. A node checks this after the
 * evaluation of a simulation that fixes signers.
 */
export function placeholderProblem(
  transactions: readonly IncomingTransaction[],
  fixedSigners: ReadonlyMap<number, MapKey.MapKey>,
): { readonly index: number; readonly reason: string } | undefined {
  for (const [index, { signed, authorizer }] of transactions.entries()) {
    const isDelegated = isDelegatedPlaceholder(signed)
    if (!isDelegated && !isPlaceholder(signed)) continue
    const signature = isDelegated ? signed.lsig!.pqsig! : signed.pqsig!
    const reason = postQuantumSignature.placeholderProblem(signature, fixedSigners.get(index) ?? authorizer)
    const kind = isDelegated ? 'pq delegated logic signature' : 'pq signature'
    if (reason !== undefined) return { index, reason: `${kind} validation failed: ${reason}` }
  }
  return undefined
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
  const { sig, msig, lsig, pqsig } = decoded.signed
  if (lsig !== undefined || pqsig !== undefined) return true
  if (msig !== undefined) return verifyMultisig(msig, Transaction.bytesToSign(decoded.transactionBytes))
  // The first two parts are 32 characters each.
  const name = key + authorizer + MapKey.of(sig!)
  if (verified.has(name)) return true
  const isValid = verify(sig!, Transaction.bytesToSign(decoded.transactionBytes), MapKey.bytes(authorizer))
  if (isValid) verified.set(name, true)
  return isValid
}

/**
 * Checks a transaction independently of the ledger's state, in the order in which nodes check it. Returns the reason to
 * reject it, or undefined.
 */
export function checkWellFormed(txn: Txn, special: SpecialAddresses): string | undefined {
  return ofType(txn, special) ?? ofOtherTypes(txn) ?? ofAny(txn, special)
}

function ofType(txn: Txn, special: SpecialAddresses): string | undefined {
  switch (txn.type) {
    case 'pay':
      return payment(txn, special)
    case 'axfer':
      return assetTransfer(txn)
    case 'acfg':
      return assetConfig(txn)
    case 'afrz':
      return assetFreeze(txn)
    case 'keyreg':
      return keyRegistration(txn, special)
    case 'appl':
      return checkApplicationCall(txn)
    case 'stpf':
      return 'state proofs not supported by this development ledger'
    case 'hb':
      return 'heartbeat transaction not supported by this development ledger'
    default:
      return `unknown tx type ${txn.type}`
  }
}

function payment(txn: Txn, { feeSink }: SpecialAddresses): string | undefined {
  const sender = MapKey.of(txn.snd)
  // Nodes compare even without a close address, so a payment from the zero address closes to its sender.
  if (MapKey.ofField(txn.close) === sender) {
    return `transaction cannot close account to its sender ${Address.encode(txn.snd)}`
  }
  return sender === feeSink ? `cannot spend from fee sink address ${Address.encode(txn.snd)}` : undefined
}

function assetTransfer(txn: Txn): string | undefined {
  if (txn.xaid === undefined && txn.aamt !== undefined) return 'asset ID cannot be zero'
  return txn.asnd !== undefined && txn.aclose !== undefined ? 'cannot close asset by clawback' : undefined
}

function assetConfig({ apar }: Txn): string | undefined {
  const name = lengthOf(apar?.an)
  const unitName = lengthOf(apar?.un)
  const url = lengthOf(apar?.au)
  const { maxAssetNameBytes, maxAssetUnitNameBytes, maxAssetUrlBytes, maxAssetDecimals } = Consensus
  if (name > maxAssetNameBytes) return `transaction asset name too big: ${name} > ${maxAssetNameBytes}`
  if (unitName > maxAssetUnitNameBytes) {
    return `transaction asset unit name too big: ${unitName} > ${maxAssetUnitNameBytes}`
  }
  if (url > maxAssetUrlBytes) return `transaction asset url too big: ${url} > ${maxAssetUrlBytes}`
  if ((apar?.dc ?? 0) > maxAssetDecimals) return `transaction asset decimals is too high (max is ${maxAssetDecimals})`
  return undefined
}

function lengthOf(text: string | Uint8Array | undefined): number {
  return text === undefined ? 0 : Buffer.byteLength(text)
}

function assetFreeze(txn: Txn): string | undefined {
  if (txn.faid === undefined) return 'asset ID cannot be zero'
  return txn.fadd === undefined ? 'freeze account cannot be empty' : undefined
}

function keyRegistration(txn: Txn, { feeSink }: SpecialAddresses): string | undefined {
  if (MapKey.of(txn.snd) === feeSink) {
    return `cannot register participation key for fee sink's address ${Address.encode(txn.snd)}`
  }
  const first = txn.votefst ?? 0n
  const last = txn.votelst ?? 0n
  if (first > last) return 'transaction first voting round need to be less than its last voting round'
  const keys = [txn.votekey, txn.selkey, txn.votekd].filter((field) => field !== undefined).length
  if (keys !== 0 && keys !== 3) {
    return 'the following transaction fields need to be clear/set together : votekey, selkey, votekd'
  }
  return keys === 0 ? goingOffline(txn) : goingOnline(txn, first, last)
}

function goingOffline(txn: Txn): string | undefined {
  if (txn.votefst !== undefined || txn.votelst !== undefined) {
    return 'on going offline key registration transaction, the vote first and vote last fields should not be set'
  }
  if (txn.sprfkey === undefined) return undefined
  return txn.nonpart === true
    ? 'non participation keyreg transactions should contain empty stateProofPK'
    : 'offline keyreg transactions should contain empty stateProofPK'
}

function goingOnline(txn: Txn, first: bigint, last: bigint): string | undefined {
  const trying = 'transaction tries to register keys to go online, but'
  if (last === 0n) return `${trying} vote last is set to zero`
  if (first > (txn.lv ?? 0n) + 1n) return `${trying} first voting round is beyond the round after last valid round`
  if (txn.nonpart === true) return `${trying} nonparticipatory flag is set`
  if (last - first > Consensus.maxKeyRegistrationRounds) return 'validity period for keyreg transaction is too long'
  return txn.sprfkey === undefined ? 'online keyreg transaction cannot have empty field StateProofPK' : undefined
}

const fieldsOf: { readonly [type: string]: readonly (keyof Txn)[] } = {
  pay: ['rcv', 'amt', 'close'],
  keyreg: ['votekey', 'selkey', 'sprfkey', 'votefst', 'votelst', 'votekd', 'nonpart'],
  acfg: ['caid', 'apar'],
  axfer: ['xaid', 'aamt', 'asnd', 'arcv', 'aclose'],
  afrz: ['fadd', 'faid', 'afrz'],
  // biome-ignore format: one line
  appl: ['apid', 'apan', 'apaa', 'apat', 'apfa', 'apas', 'apbx', 'al', 'apls', 'apgs', 'apap', 'apsu', 'apep', 'aprv'],
  stpf: ['sptype', 'sp', 'spmsg'],
  hb: ['hb'],
}

const typeOf = new Map(Object.entries(fieldsOf).flatMap(([type, fields]) => fields.map((field) => [field, type])))

function ofOtherTypes(txn: Txn): string | undefined {
  for (const field in txn) {
    const type = typeOf.get(field as keyof Txn)
    if (type !== undefined && type !== txn.type && txn[field as keyof Txn] !== undefined) {
      return `transaction of type ${txn.type} has non-zero fields for type ${type}`
    }
  }
  return undefined
}

function ofAny(txn: Txn, { rewardsPool }: SpecialAddresses): string | undefined {
  const first = txn.fv ?? 0n
  const last = txn.lv ?? 0n
  if (last < first) return `transaction invalid range (${first}--${last})`
  if (last - first > Consensus.maxValidityRounds) return `transaction window size excessive (${first}--${last})`
  const noteBytes = txn.note?.length ?? 0
  if (noteBytes > Consensus.maxNoteBytes) return `transaction note too big: ${noteBytes} > ${Consensus.maxNoteBytes}`
  const sender = MapKey.of(txn.snd)
  if (sender === rewardsPool) return 'transaction from incentive pool is invalid'
  return sender === MapKey.zero ? 'transaction cannot have zero sender' : undefined
}
