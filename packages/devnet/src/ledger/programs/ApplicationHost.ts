/** The state of a group as application calls read and change it, and their inner transactions. */
import type { AccountView, ApplicationLedger, Ledger as ChainReader, Effects, InnerGroup } from '@latchkey/avm'
import { minBalance, noApps } from '../Account.js'
import { apply, takeFee } from '../apply/index.js'
import { type Chain, checkWellFormed } from '../IncomingTransaction.js'
import * as MapKey from '../MapKey.js'
import type { StateOverlay } from '../StateOverlay.js'
import type { StateReader } from '../StateReader.js'

/** The values that programs read in addition to the state of the group. */
export type ProgramChain = ChainReader & {
  /** The timestamp of the last block. */
  readonly latestTimestamp: () => bigint
  /** The online stake of all accounts, as of the balances that vote in this round. */
  readonly onlineStake: () => bigint
  /** The online stake of an account at that time. */
  readonly voter: ApplicationLedger['voter']
}

type HostOptions = {
  readonly chain: Chain
  readonly round: bigint
  readonly overlay: StateOverlay
  readonly programs: ProgramChain
}

export function applicationHost({ chain, round, overlay, programs }: HostOptions): ApplicationLedger {
  return {
    genesisHash: programs.genesisHash,
    blockHeader: programs.blockHeader,
    round,
    latestTimestamp: programs.latestTimestamp(),
    transactionCount: () => overlay.transactionCount(),
    account: (key) => accountView(overlay, key),
    holding: (key, assetId) => overlay.holding(key, assetId),
    asset: (assetId) => overlay.asset(assetId),
    voter: programs.voter,
    onlineStake: programs.onlineStake,
    application: (appId) => overlay.application(appId)?.params,
    setApplication: (appId, application) => overlay.putApplication(appId, application),
    globalValue: (appId, key) => overlay.application(appId)?.globals.get(key),
    setGlobalValue: (appId, key, value) => overlay.putGlobal(appId, key, value),
    globalCounts: (appId) => overlay.application(appId)?.globals.counts ?? none,
    localSchema: (key, appId) => overlay.local(key, appId)?.schema,
    setLocalSchema: (key, appId, schema) => overlay.putLocal(key, appId, schema),
    localValue: (key, appId, name) => overlay.local(key, appId)?.values.get(name),
    setLocalValue: (key, appId, name, value) => overlay.putLocalValue(key, appId, name, value),
    localCounts: (key, appId) => overlay.local(key, appId)?.values.counts ?? none,
    box: (appId, name) => overlay.box(appId, name),
    setBox: (appId, name, value) => overlay.putBox(appId, name, value),
    mark: () => overlay.mark(),
    rollback: (mark) => overlay.rollback(mark),
    innerProblem: (txn) => checkWellFormed(txn, chain),
    applyInner: (group, index, effects) => applyInner({ group, index, effects, chain, round, overlay }),
  }
}

const none = { integers: 0, byteStrings: 0 }

function accountView(state: StateReader, key: MapKey.MapKey): AccountView {
  const account = state.account(key)
  const { apps = noApps } = account
  return {
    microAlgos: account.microAlgos,
    minBalance: minBalance(account),
    authorizer: account.authorizer,
    totalSchema: { integers: apps.integers, byteStrings: apps.byteStrings },
    totalExtraPages: apps.extraPages,
    appsCreated: apps.created,
    appsOptedIn: apps.optedIn,
    assetsCreated: account.assetsCreated,
    assetsHeld: account.assetsHeld,
    boxes: apps.boxes,
    boxBytes: apps.boxBytes,
    isIncentiveEligible: account.incentiveEligible,
    lastProposed: 0n,
    lastHeartbeat: account.lastHeartbeat,
  }
}

type Inner = Pick<HostOptions, 'chain' | 'round' | 'overlay'> & {
  readonly group: InnerGroup
  readonly index: number
  readonly effects: Effects
}

/** Inner transactions are checked for their form and authorization by the evaluator, and have no signature. */
function applyInner({ group, index, effects, chain, round, overlay }: Inner): void {
  const txn = group.transactions[index]!
  overlay.addInnerTransaction()
  takeFee(overlay, txn, chain)
  if (txn.type === 'appl') group.call(index, effects)
  else {
    apply(txn, { sender: MapKey.of(txn.snd), overlay, round, outcome: effects })
    group.record(index, effects)
  }
}
