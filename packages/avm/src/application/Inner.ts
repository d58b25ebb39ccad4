/** Inner transactions: their construction, their checks, and their submission to the host. */
import { Address, Hash, LatchkeyError, Msgpack, type Transaction } from '@latchkey/algorand'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import { versionOf } from '../evaluator/Instructions.js'
import * as Availability from './Availability.js'
import { appAddress } from './appAddress.js'
import * as ByteKey from './ByteKey.js'
import type { Effects } from './Effects.js'
import * as Fees from './Fees.js'
import { missingApplication } from './largeIds.js'
import { appAccountsVersion, maxCallDepth, maxGroupSize, minInnerVersion, sharedResourcesVersion } from './limits.js'
import { type Call, type Draft, type Group, innerId, type Origin } from './model.js'

export { setField } from './innerFields.js'

type Txn = Transaction.Transaction

const optIn = 1n
const clearState = 3n
const wholeUsage = 1_000_000n

/**
 * Begins an inner group.
 *
 * @throws EvaluationError
 */
export function begin(call: Call): void {
  if (call.kind === 'clearState') throw new EvaluationError('clear state programs can not issue inner transactions')
  if (call.building !== undefined) throw new EvaluationError('itxn_begin without itxn_submit')
  call.building = []
  add(call, call.building)
}

/**
 * Begins the next transaction of an inner group.
 *
 * @throws EvaluationError
 */
export function next(call: Call): void {
  if (call.building === undefined) throw new EvaluationError('itxn_next without itxn_begin')
  add(call, call.building)
}

/** By default a transaction pays what its group still needs after all credit. */
function add(call: Call, building: Draft[]): void {
  const { pool } = call.group
  // One more than can be submitted can be begun, because programs of version 5 failed at the submission only.
  expectRoom(call, building, maxGroupSize - 1)
  const { fv, lv } = call.transaction
  const usage = building.reduce((sum, txn) => sum + Fees.usage(txn), wholeUsage)
  const surplus = pool.feeCredit + Fees.surplus(Fees.paid(building), usage, pool.parameters.minTxnFee)
  const txn: Draft = { type: '', snd: ByteKey.bytes(appAddress(call.appId)) }
  if (surplus < 0n) txn.fee = Fees.inMicroAlgos(-surplus)
  if (fv !== undefined) txn.fv = fv
  if (lv !== undefined) txn.lv = lv
  building.push(txn)
}

function expectRoom({ group: { pool } }: Call, { length }: readonly Draft[], most: number): void {
  if (length <= most && length <= pool.innersLeft) return
  throw new EvaluationError(`too many inner transactions ${length} with ${pool.innersLeft} left`)
}

/**
 * Submits the inner group to the host.
 *
 * @throws EvaluationError
 */
export function submit(call: Call): void {
  const { building: transactions, group: outer } = call
  const { pool } = outer
  if (transactions === undefined) throw new EvaluationError('itxn_submit without itxn_begin')
  expectRoom(call, transactions, maxGroupSize)
  const origin = { call, firstIndex: call.delta.inners.length }
  payFees(call, transactions)
  for (const txn of transactions) {
    const problem = pool.ledger.innerProblem(txn)
    if (problem !== undefined) throw new EvaluationError(problem)
    const calledVersion = txn.type === 'appl' ? expectCallable(call, txn) : undefined
    if (call.version >= sharedResourcesVersion) expectPairs(call, txn, calledVersion)
  }
  if (transactions.length > 1) assignGroup(origin, transactions)
  pool.innersLeft -= transactions.length
  call.building = undefined
  perform(call, outer.createInner(transactions, origin))
}

function perform(call: Call, group: Group): void {
  const { observer } = group.pool
  call.submitted = group
  observer?.beforeInnerGroup?.(group)
  // A simulation reports all members of a group, even if an earlier one fails.
  const members = group.transactions.map((txn) => ({ txn, effects: {} as Effects }))
  call.delta.inners.push(...members)
  for (const [index, { txn, effects }] of members.entries()) {
    observer?.beforeInnerTransaction?.(group, index)
    try {
      // An earlier transaction of the group may have rekeyed the sender.
      expectAuthorized(call, txn)
      apply(group, index, effects)
    } catch (error) {
      observer?.afterInnerTransaction?.(group, index, effects, error)
      observer?.afterInnerGroup?.(group, error)
      throw error
    }
    group.record(index, effects)
    observer?.afterInnerTransaction?.(group, index, effects, undefined)
  }
  observer?.afterInnerGroup?.(group, undefined)
}

function apply(group: Group, index: number, effects: Effects): void {
  try {
    group.ledger.applyInner(group, index, effects)
  } catch (error) {
    if (!(error instanceof LatchkeyError)) throw error
    throw new EvaluationError(`inner tx ${index} failed: ${error.message}`, { cause: error })
  }
}

/** The ids that make up the group id are those of the transactions without it. */
function assignGroup(origin: Origin, transactions: readonly Draft[]): void {
  const writer = new Msgpack.Writer().mapHeader(1).str('txlist').arrayHeader(transactions.length)
  for (const [index, txn] of transactions.entries()) writer.bin(innerId(origin, index, txn))
  const grp = Hash.hash(Hash.domains.group, writer.bytes())
  for (const txn of transactions) txn.grp = grp
}

function expectAuthorized({ appId, group }: Call, { snd }: Txn): void {
  const sender = ByteKey.of(snd)
  const own = appAddress(appId)
  const authorizer = group.ledger.account(sender).authorizer ?? sender
  if (authorizer === own) return
  const [app, other] = [Address.encode(ByteKey.bytes(own)), Address.encode(ByteKey.bytes(authorizer))]
  throw new EvaluationError(`app ${appId} (addr ${app}) unauthorized ${other}`)
}

/** Checks an inner application call. Returns the version of its program. */
function expectCallable(call: Call, { apid, apan, apap, apsu }: Txn): bigint {
  let [approval, clear] = [apap ?? new Uint8Array(), apsu ?? new Uint8Array()]
  if (apid !== undefined) {
    expectNoRecursion(call, apid)
    const application = call.group.ledger.application(apid)
    if (application === undefined) throw missingApplication(apid)
    approval = application.approvalProgram
    clear = application.clearStateProgram
  } else expectNoRecursion(call, 0n)
  const version = versionOf(apan === clearState ? clear : approval)
  expectVersion(version)
  // An account could not leave an application whose clear state program cannot be called.
  if (apan === optIn) expectVersion(versionOf(clear))
  return version
}

function expectVersion(version: bigint): void {
  if (version >= BigInt(minInnerVersion)) return
  throw new EvaluationError(`inner app call with version v${version} < v${minInnerVersion}`)
}

function expectNoRecursion(call: Call, appId: bigint): void {
  if (appId === call.appId) throw new EvaluationError('attempt to self-call')
  let depth = 0
  for (let caller = call.group.parent; caller !== undefined; caller = caller.group.parent) {
    if (caller.appId === appId) throw new EvaluationError(`attempt to re-enter ${appId}`)
    depth++
  }
  if (depth >= maxCallDepth) throw new EvaluationError(`appl depth (${depth}) exceeded`)
}

/**
 * Checks that an inner transaction uses no holding or local state that the calling program could not use. Programs before
 * shared resources can use all pairs of what their transaction names.
 */
function expectPairs(call: Call, txn: Txn, calledVersion: bigint | undefined): void {
  const expectHolding = (name: string, address: Uint8Array | ByteKey.ByteKey | undefined, assetId: bigint): void => {
    if (address === undefined) return
    const key = typeof address === 'string' ? address : ByteKey.of(address)
    if (Availability.isHoldingAvailable(call, key, assetId)) return
    throw new EvaluationError(
      `${name}unavailable Holding ${assetId}+${Address.encode(ByteKey.bytes(key))} would be accessible`,
    )
  }
  if (txn.type === 'axfer' && txn.xaid !== undefined) {
    expectHolding('axfer Sender: ', txn.snd, txn.xaid)
    expectHolding('axfer AssetReceiver: ', txn.arcv, txn.xaid)
    expectHolding('axfer AssetSender: ', txn.asnd, txn.xaid)
    expectHolding('axfer AssetCloseTo: ', txn.aclose, txn.xaid)
  }
  if (txn.type === 'afrz') expectHolding('afrz FreezeAccount: ', txn.fadd, txn.faid ?? 0n)
  if (calledVersion === undefined || calledVersion >= BigInt(sharedResourcesVersion)) return
  const { apid, apat = [], apfa = [], apas = [] } = txn
  const called = apid === undefined ? [] : [apid]
  const expectLocal = (name: string, address: ByteKey.ByteKey, appId: bigint): void => {
    if (Availability.isLocalAvailable(call, address, appId)) return
    const text = Address.encode(ByteKey.bytes(address))
    throw new EvaluationError(`${name}unavailable Local State ${appId}+${text} would be accessible`)
  }
  // An access list does not make the account of an application available with it.
  const addresses = [...[txn.snd, ...apat].map(ByteKey.of), ...called.map(appAddress)]
  if (calledVersion >= BigInt(appAccountsVersion)) addresses.push(...apfa.map(appAddress))
  for (const address of addresses) {
    for (const assetId of apas) expectHolding('appl ForeignAssets: ', address, assetId)
    for (const appId of called) expectLocal('appl ApplicationID: ', address, appId)
    for (const appId of apfa) expectLocal('appl ForeignApps: ', address, appId)
  }
}

function payFees({ group: { pool } }: Call, transactions: readonly Txn[]): void {
  const usage = transactions.reduce((sum, txn) => sum + Fees.usage(txn), 0n)
  const paid = Fees.paid(transactions)
  const surplus = pool.feeCredit + Fees.surplus(paid, usage, pool.parameters.minTxnFee)
  if (surplus < 0n) {
    const missing = Fees.format(Fees.inMicroAlgos(-surplus))
    throw new EvaluationError(`group fee ${Fees.format(paid)} too small (needs ${missing} more)`)
  }
  pool.feeCredit = surplus
}
