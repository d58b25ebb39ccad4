/** Application calls from their start to their end. */
import { Address, type Transaction } from '@latchkey/algorand'
import { checkProgram } from '../evaluator/checkProgram.js'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import { versionOf } from '../evaluator/Instructions.js'
import { extraProgramBytes } from './BoxAccess.js'
import * as ByteKey from './ByteKey.js'
import * as Effects from './Effects.js'
import { creatorLookupError } from './largeIds.js'
import { callBudget, programBytesPerPage } from './limits.js'
import { type Application, Call, Group, type Origin, type StateSchema, schemaProblem } from './model.js'
import { runCall } from './runCall.js'

type Txn = Transaction.Transaction

const noOp = 0n
const optIn = 1n
const closeOut = 2n
const clearState = 3n
const update = 4n
const deletion = 5n

const noBytes = new Uint8Array()
/** Updates cannot lower versions from this one on. */
const downgradeVersion = 4n

/**
 * Performs an application call after its fee and rekeying.
 *
 * @throws EvaluationError
 */
export function applyCall(group: Group, index: number, effects: Effects.Effects): void {
  const { ledger } = group
  const txn = group.transactions[index]!
  const { apan: onCompletion = noOp, aprv: rejectVersion = 0n } = txn
  const sender = ByteKey.of(txn.snd)
  const appId = txn.apid ?? create(group, txn, effects)
  const application = ledger.application(appId)
  if (application === undefined) {
    const problem = creatorLookupError('application', appId)
    if (problem !== undefined) throw new EvaluationError(problem)
    if (onCompletion !== clearState) {
      throw new EvaluationError(`only ClearState is supported for an application (${appId}) that does not exist`)
    }
  } else {
    if (rejectVersion > 0n && application.version >= rejectVersion) {
      throw new EvaluationError(`app version (${application.version}) >= reject version (${rejectVersion})`)
    }
    if (txn.apid === undefined) checkPrograms(group, txn)
    else if (onCompletion === update) checkUpdate(group, txn, application)
  }
  group.pool.boxes.open(ledger)
  if (onCompletion === clearState) {
    clear(group, index, appId, application, effects)
    return
  }
  if (onCompletion === optIn) allocate(group, sender, appId, application!)
  approve(new Call(group, index, appId, application!, 'approval'), effects)
  if (onCompletion === closeOut) close(group, sender, appId)
  else if (onCompletion === update) change(group, txn, appId, sender)
  else if (onCompletion === deletion) ledger.setApplication(appId, undefined)
}

function create({ ledger, pool }: Group, txn: Txn, effects: Effects.Effects): bigint {
  const { apap = noBytes, apsu = noBytes, apgs, apls, apep = 0 } = txn
  const appId = ledger.transactionCount() + 1n
  effects.createdAppId = appId
  ledger.setApplication(appId, {
    creator: ByteKey.of(txn.snd),
    approvalProgram: apap,
    clearStateProgram: apsu,
    globalSchema: schemaOf(apgs),
    localSchema: schemaOf(apls),
    extraPages: apep,
    version: 0n,
    sizeSponsor: undefined,
    allowsForeignBoxReads: false,
    allowsFamilyBoxAccess: false,
  })
  pool.resources.createdApps.add(appId)
  pool.boxes.nameCreated(appId, txn)
  pool.boxes.writeProgram(appId, extraProgramBytes(apap, apsu), 'creating')
  return appId
}

/** The numbers are small: well-formed transactions have at most 64 values. */
function schemaOf(schema: Txn['apgs']): StateSchema {
  return { integers: Number(schema?.nui ?? 0n), byteStrings: Number(schema?.nbs ?? 0n) }
}

function checkPrograms(group: Group, { apap = noBytes, apsu = noBytes, al }: Txn): void {
  const options = {
    mode: 'application' as const,
    group: group.transactions,
    parameters: group.pool.parameters,
    maxCost: callBudget,
    hasAccessList: al !== undefined,
  }
  const approval = checkProgram(apap, options)
  if (approval !== undefined) throw new EvaluationError(`check failed on ApprovalProgram: ${approval}`)
  const clearState = checkProgram(apsu, options)
  if (clearState !== undefined) throw new EvaluationError(`check failed on ClearStateProgram: ${clearState}`)
}

function checkUpdate(group: Group, txn: Txn, application: Application): void {
  const { apap = noBytes, apsu = noBytes } = txn
  expectNoDowngrade('approval', apap, application.approvalProgram)
  expectNoDowngrade('clearstate', apsu, application.clearStateProgram)
  checkPrograms(group, txn)
}

function expectNoDowngrade(name: string, program: Uint8Array, before: Uint8Array): void {
  const [next, last] = [versionOf(program), versionOf(before)]
  if (last < downgradeVersion || next >= last) return
  throw new EvaluationError(`${name} program version downgrade: ${next} < ${last}`)
}

function allocate({ ledger }: Group, sender: ByteKey.ByteKey, appId: bigint, { localSchema }: Application): void {
  if (ledger.localSchema(sender, appId) !== undefined) {
    throw new EvaluationError(`account ${addressOf(sender)} has already opted in to app ${appId}`)
  }
  ledger.setLocalSchema(sender, appId, localSchema)
}

function approve(call: Call, effects: Effects.Effects): void {
  effects.delta = call.delta
  let isAccepted = false
  try {
    isAccepted = runCall(call)
  } finally {
    if (!isAccepted && call.group.pool.observer !== undefined) forgetLastLog(call)
    if (Effects.isEmpty(call.delta)) delete effects.delta
    call.group.scratches[call.index] = call.machine.scratch
  }
  if (!isAccepted) throw new EvaluationError('transaction rejected by ApprovalProgram')
}

/** Simulations report the logs of a failed program as of its last instruction, without a log by that instruction. */
function forgetLastLog({ delta, loggedAt, machine }: Call): void {
  if (loggedAt === machine.program.length - 1) delta.logs.pop()
}

/** A clear state program cannot prevent that the local state is dropped. If it fails, only its own changes are undone. */
function clear(
  group: Group,
  index: number,
  appId: bigint,
  application: Application | undefined,
  effects: Effects.Effects,
): void {
  const { ledger, pool } = group
  const sender = ByteKey.of(group.transactions[index]!.snd)
  if (ledger.localSchema(sender, appId) === undefined) {
    throw new EvaluationError(`cannot clear state: ${addressOf(sender)} is not currently opted in to app ${appId}`)
  }
  if (application !== undefined) {
    const { remaining } = pool.budget
    if (remaining < callBudget) {
      throw new EvaluationError(`attempted ClearState execution with low OpcodeBudget ${remaining}`)
    }
    const mark = ledger.mark()
    const call = new Call(group, index, appId, application, 'clearState')
    if (isAcceptedByClear(call)) {
      if (!Effects.isEmpty(call.delta)) effects.delta = call.delta
    } else ledger.rollback(mark)
    group.scratches[index] = call.machine.scratch
  }
  ledger.setLocalSchema(sender, appId, undefined)
}

function isAcceptedByClear(call: Call): boolean {
  try {
    return runCall(call)
  } catch (error) {
    if (error instanceof EvaluationError && error.call === call) return false
    throw error
  }
}

function close({ ledger }: Group, sender: ByteKey.ByteKey, appId: bigint): void {
  if (ledger.localSchema(sender, appId) === undefined) {
    const where = ledger.account(sender).appsOptedIn === 0 ? `any app, and in particular ${appId}` : `app ${appId}`
    throw new EvaluationError(`account ${addressOf(sender)} is not opted in to ${where}`)
  }
  ledger.setLocalSchema(sender, appId, undefined)
}

/** Replaces the programs, and the sizes if the transaction has some. */
function change({ ledger, pool }: Group, txn: Txn, appId: bigint, sender: ByteKey.ByteKey): void {
  const { apap = noBytes, apsu = noBytes, apgs, apep } = txn
  const before = ledger.application(appId)
  if (before === undefined) return
  pool.boxes.writeProgram(appId, extraProgramBytes(apap, apsu), 'updating')
  const isResized = apgs !== undefined || apep !== undefined
  const extraPages = isResized ? (apep ?? 0) : before.extraPages
  expectProgramsFit(apap.length, apsu.length, programBytesPerPage * (1 + extraPages))
  if (isResized) expectGlobalsFit(ledger.globalCounts(appId), schemaOf(apgs))
  ledger.setApplication(appId, {
    ...before,
    approvalProgram: apap,
    clearStateProgram: apsu,
    version: before.version + 1n,
    globalSchema: isResized ? schemaOf(apgs) : before.globalSchema,
    extraPages,
    sizeSponsor: isResized ? (sender === before.creator ? undefined : sender) : before.sizeSponsor,
  })
}

/** An update without a number of pages keeps those of the application, which a check of the transaction does not know. */
function expectProgramsFit(approval: number, clearState: number, most: number): void {
  if (approval > most) throw new EvaluationError(`approval program too long. (${approval} > ${most})`)
  if (clearState > most) throw new EvaluationError(`clear state program too long. (${clearState} > ${most})`)
  if (approval + clearState > most) {
    throw new EvaluationError(`app programs too long. (${approval} + ${clearState} > ${most})`)
  }
}

function expectGlobalsFit(counts: StateSchema, schema: StateSchema): void {
  const problem = schemaProblem(counts, schema)
  if (problem !== undefined) throw new EvaluationError(`unable to change global schema: ${problem}`)
}

function addressOf(key: ByteKey.ByteKey): string {
  return Address.encode(ByteKey.bytes(key))
}

/** A group of transactions with application calls, top-level or made by an application, applied in order. */
export class CallGroup extends Group {
  override call(index: number, effects: Effects.Effects): void {
    applyCall(this, index, effects)
    this.record(index, effects)
  }

  override createInner(transactions: readonly Transaction.Transaction[], origin: Origin): Group {
    return new CallGroup({ transactions, ledger: this.ledger, feeUsage: 0n }, origin)
  }
}
