/** The effects of transactions in the form of nodes: created ids, closing amounts, state changes, logs, inner ones. */
import { Submission, type Transaction } from '@latchkey/algorand'
import type { Effects, EvalDelta, InnerTransaction, Value as ProgramValue, ValueChange } from '@latchkey/avm'
import type { Outcome } from '../ledger/apply/index.js'
import * as MapKey from '../ledger/MapKey.js'
import * as Delta from '../ledger/programs/Delta.js'
import { SignedBytes, Text, type Value } from './HttpResponse.js'

type Txn = Transaction.Transaction
type Members = { [name: string]: Value | undefined }

/** Zero values are absent, except for the empty `pool-error`. */
export function resultOf(txn: SignedBytes, outcome: Outcome, confirmedRound?: bigint): Value {
  const { delta, ...effects } = outcome
  const changes = delta === undefined ? {} : deltaMembers(Delta.decode(delta), txn.transaction())
  return { ...effectMembers(effects), ...changes, 'confirmed-round': confirmedRound, 'pool-error': '', txn }
}

function effectMembers({
  assetClosingAmount,
  createdAppId,
  createdAssetId,
  closingAmount,
}: Omit<Effects, 'delta'>): Members {
  return {
    'application-index': createdAppId,
    'asset-closing-amount': assetClosingAmount || undefined,
    'asset-index': createdAssetId,
    'closing-amount': closingAmount || undefined,
  }
}

/** The changes of an application call, its logs and inner transactions. */
export function deltaMembers({ globals, locals, sharedAccounts, logs, inners }: EvalDelta, txn: Txn): Members {
  return {
    'global-state-delta': globals.size === 0 ? undefined : changesValue(globals),
    'inner-txns': inners.length === 0 ? undefined : inners.map(innerValue),
    'local-state-delta':
      locals.size === 0
        ? undefined
        : [...locals]
            .sort(([a], [b]) => a - b)
            .map(([index, changes]) => ({
              address: addressAt(index, txn, sharedAccounts),
              delta: changesValue(changes),
            })),
    logs: logs.length === 0 ? undefined : logs,
  }
}

/** A call whose first change of an account failed in a simulation does not list the account, as on a node. */
function addressAt(index: number, txn: Txn, sharedAccounts: readonly MapKey.MapKey[]): string {
  const account = accountAt(index, txn, sharedAccounts)
  return account === undefined ? `Invalid Account Index ${index} in LocalDelta` : MapKey.address(account)
}

function innerValue({ txn, effects: { delta, ...effects } }: InnerTransaction): Value {
  return {
    ...effectMembers(effects),
    ...(delta && deltaMembers(delta, txn)),
    'pool-error': '',
    txn: new SignedBytes(Submission.encode({ txn }), { txn }),
  }
}

/** The account that an index in a delta stands for: the sender, then the named ones, then those of the delta. */
export function accountAt(
  index: number,
  { snd, apat = [] }: Txn,
  sharedAccounts: readonly MapKey.MapKey[],
): MapKey.MapKey | undefined {
  if (index === 0) return MapKey.of(snd)
  const named = apat[index - 1]
  return named === undefined ? sharedAccounts[index - 1 - apat.length] : MapKey.of(named)
}

/** The members of an entry of a block that follow from its effects, with the names of the block. */
export function entryMembers({
  assetClosingAmount,
  closingAmount,
  createdAppId,
  createdAssetId,
  delta,
}: Effects): Members {
  return {
    aca: assetClosingAmount || undefined,
    apid: createdAppId || undefined,
    ca: closingAmount || undefined,
    caid: createdAssetId || undefined,
    dt: delta && entryDelta(delta),
  }
}

/** Keys, values and logs are text on the wire, whatever bytes they have. */
function entryDelta({ globals, locals, sharedAccounts, logs, inners }: EvalDelta): Value {
  return {
    gd: globals.size === 0 ? undefined : entryChanges(globals),
    itx:
      inners.length === 0
        ? undefined
        : inners.map(({ txn, effects }) => ({ ...entryMembers(effects), txn: Submission.toJson({ txn })['txn']! })),
    ld:
      locals.size === 0
        ? undefined
        : new Map([...locals].sort(([a], [b]) => a - b).map(([index, changes]) => [index, entryChanges(changes)])),
    lg: logs.length === 0 ? undefined : logs.map((log) => new Text(log)),
    sa: sharedAccounts.length === 0 ? undefined : sharedAccounts.map((key) => MapKey.address(key)),
  }
}

function entryChanges(changes: ReadonlyMap<MapKey.MapKey, ValueChange>): Value {
  const sorted = [...changes].sort(([a], [b]) => (a < b ? -1 : 1))
  return new Map(sorted.map(([key, change]) => [new Text(MapKey.bytes(key)), entryChange(change)]))
}

function entryChange(change: ValueChange): Value {
  if (change === undefined) return { at: 3 }
  if (typeof change === 'bigint') return { at: 2, ui: change || undefined }
  return { at: 1, bs: change.length === 0 ? undefined : new Text(change) }
}

function changesValue(changes: ReadonlyMap<MapKey.MapKey, ValueChange>): Value {
  return [...changes]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, change]) => ({ key: base64(MapKey.bytes(key)), value: changeValue(change) }))
}

/** Action 1 sets bytes, 2 an integer, and 3 deletes. */
function changeValue(change: ValueChange): Value {
  if (change === undefined) return { action: 3 }
  if (typeof change === 'bigint') return { action: 2, uint: change || undefined }
  return { action: 1, bytes: change.length === 0 ? undefined : base64(change) }
}

/** The values of application state, as nodes list them. Type 1 is bytes, 2 an integer, and zero values are present. */
export function stateValue(values: Iterable<readonly [MapKey.MapKey, ProgramValue]>): Value[] {
  return [...values]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => ({
      key: base64(MapKey.bytes(key)),
      value:
        typeof value === 'bigint' ? { bytes: '', type: 2, uint: value } : { bytes: base64(value), type: 1, uint: 0 },
    }))
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}
