/** Logic signatures: their form, the signature that delegates an account to them, and the verdict of the program. */

import { Program, type Submission, type Transaction } from '@latchkey/algorand'
import type { Budget, Ledger as Chain, Evaluation, Tracer } from '@latchkey/avm'
import * as MapKey from '../MapKey.js'
import { multisigReason, verify, verifyMultisig } from '../nodeSignature.js'
import * as postQuantumSignature from '../postQuantumSignature.js'
import * as avm from './avm.js'
import { versionOf } from './programVersion.js'

type Signature = NonNullable<Submission.Submitted['lsig']>

/** A transaction of the group, as far as programs need it. */
type Member = {
  readonly decoded: { readonly id: string }
  readonly signed: Submission.Submitted
  readonly txn: Transaction.Transaction
  readonly authorizer: MapKey.MapKey
}

/** The environment of the programs of a group. */
export type LogicContext = {
  readonly chain: Chain
  /** Called for each program that runs. */
  readonly tracer?: ((index: number, program: Uint8Array) => Tracer | undefined) | undefined
  /** Whether rejections show the instructions before the failure, as in simulations. */
  readonly showsOpcodes?: boolean | undefined
  /** Called with the result of each program that ran. */
  readonly onEvaluated?: ((index: number, evaluation: Evaluation) => void) | undefined
}

/** The budget that the programs of a group share. */
export function budgetOf(group: readonly Member[]): Budget {
  const { Budget, defaultParameters } = avm.get()
  return new Budget(defaultParameters.signatureBudget * group.length)
}

/** Returns why a node refuses a logic signature, or undefined. */
export function problemOf(
  group: readonly Member[],
  index: number,
  budget: Budget,
  context: LogicContext,
): string | undefined {
  const transaction = group[index]!
  const signature = transaction.signed.lsig!
  return (
    problemOfForm(signature, group) ??
    problemOfDelegation(signature, transaction) ??
    rejection(group, index, budget, context)
  )
}

/** Returns why a node refuses a logic signature whose delegation is not checked, or undefined. */
export function problemOfProgram(
  group: readonly Member[],
  index: number,
  budget: Budget,
  context: LogicContext,
): string | undefined {
  return problemOfForm(group[index]!.signed.lsig!, group) ?? rejection(group, index, budget, context)
}

function problemOfForm({ l: program = new Uint8Array() }: Signature, group: readonly Member[]): string | undefined {
  const { checkProgram, defaultParameters } = avm.get()
  const version = versionOf(program)
  if (typeof version === 'string') return 'LogicSig.Logic bad version'
  if (version > BigInt(defaultParameters.maxVersion)) return 'LogicSig.Logic version too new'
  return checkProgram(program, { mode: 'signature', group: group.map(({ txn }) => txn) })
}

const maxArguments = 255
const unverified = "At least one signature didn't pass verification"

/** Without a signature, the account must be that of the program. With one, its owner delegated it to the program. */
function problemOfDelegation(
  { l: program, sig, msig, lmsig, pqsig }: Signature,
  { authorizer }: Member,
): string | undefined {
  const kinds = [sig, msig, lmsig, pqsig].filter((kind) => kind !== undefined).length
  if (kinds > 1) return 'LogicSig should have only one type of delegation signature'
  if (sig !== undefined) {
    const isValid = verify(sig, Program.bytesToSign(program!), MapKey.bytes(authorizer))
    return isValid ? undefined : unverified
  }
  if (msig !== undefined) return 'LogicSig Msig field not supported in this consensus version'
  if (pqsig !== undefined) {
    const message = postQuantumSignature.programBytes(authorizer, program!)
    const reason = postQuantumSignature.problemOf(pqsig, message, authorizer)
    return reason === undefined ? undefined : `pq delegated logic signature validation failed: ${reason}`
  }
  if (lmsig !== undefined) {
    const reason = multisigReason(lmsig, authorizer)
    if (reason !== undefined) return `logic multisig validation failed: ${reason}`
    const isValid = verifyMultisig(lmsig, Program.multisigBytesToSign(MapKey.bytes(authorizer), program!))
    return isValid ? undefined : unverified
  }
  const isOwn = MapKey.of(Program.address(program!)) === authorizer
  return isOwn ? undefined : 'LogicNot signed and not a Logic-only account'
}

function rejection(
  group: readonly Member[],
  index: number,
  budget: Budget,
  { chain, tracer, onEvaluated, showsOpcodes }: LogicContext,
): string | undefined {
  const { evaluateSignature, instructionsBefore, rejectionOf } = avm.get()
  const { signed, decoded } = group[index]!
  const program = signed.lsig!.l!
  const args = signed.lsig!.arg ?? []
  const evaluate = (): Evaluation => {
    const hooks = tracer?.(index, program)
    return evaluateSignature({
      program,
      args,
      group: group.map(({ txn }) => txn),
      index,
      ledger: chain,
      budget,
      ...(hooks !== undefined && { tracer: hooks }),
    })
  }
  const evaluation = args.length > maxArguments ? tooManyArguments() : evaluate()
  onEvaluated?.(index, evaluation)
  const reason = rejectionOf(evaluation)
  if (reason === undefined) return undefined
  const opcodes =
    showsOpcodes && evaluation.error !== undefined ? `, opcodes=${instructionsBefore(program, evaluation.pc)}` : ''
  return `transaction ${decoded.id}: ${reason}${opcodes}`
}

/** Found at the start of the evaluation, after the version. */
function tooManyArguments(): Evaluation {
  const { EvaluationError } = avm.get()
  const error = new EvaluationError('LogicSig has too many arguments')
  return { isAccepted: false, error, pc: 1, cost: 0, stack: [], scratch: [] }
}
