/** A ledger in memory, without payments and assets: applications, state and boxes, with an undo log of copies. */
import type { Value } from '../evaluator/Value.js'
import type { AccountView, Application, ApplicationLedger, StateSchema } from './model.js'

const noSchema: StateSchema = { integers: 0, byteStrings: 0 }

const account: AccountView = {
  microAlgos: 1_000_000n,
  minBalance: 100_000n,
  authorizer: undefined,
  totalSchema: noSchema,
  totalExtraPages: 0,
  appsCreated: 0,
  appsOptedIn: 0,
  assetsCreated: 0,
  assetsHeld: 0,
  boxes: 0,
  boxBytes: 0,
  isIncentiveEligible: false,
  lastProposed: 0n,
  lastHeartbeat: 0n,
}

/** A ledger whose host counts top-level transactions. */
export type TestLedger = ApplicationLedger & { readonly addTransaction: () => void }

/** Returns a ledger that counts transactions from an id on. */
export function testLedger(): TestLedger {
  let count = 1000n
  const applications = new Map<bigint, Application>()
  const schemas = new Map<string, StateSchema>()
  const records = new Map<string, Value>()
  const marks: { readonly count: bigint; readonly maps: readonly (readonly [unknown, unknown])[][] }[] = []
  const maps = [applications, schemas, records] as Map<unknown, unknown>[]
  const put = <K, V>(map: Map<K, V>, key: K, value: V | undefined): void => {
    if (value === undefined) map.delete(key)
    else map.set(key, value)
  }
  const countsOf = (prefix: string): StateSchema => {
    const values = [...records].filter(([key]) => key.startsWith(prefix)).map(([, value]) => value)
    const integers = values.filter((value) => typeof value === 'bigint').length
    return { integers, byteStrings: values.length - integers }
  }
  return {
    genesisHash: new Uint8Array(32),
    blockHeader: () => {
      throw new RangeError('no block is needed')
    },
    round: 1n,
    latestTimestamp: 1n,
    transactionCount: () => count,
    addTransaction: () => {
      count++
    },
    account: () => account,
    holding: () => undefined,
    asset: () => undefined,
    voter: () => undefined,
    onlineStake: () => 0n,
    application: (appId) => applications.get(appId),
    setApplication: (appId, application) => put(applications, appId, application),
    globalValue: (appId, key) => records.get(`g${appId}/${key}`),
    setGlobalValue: (appId, key, value) => put(records, `g${appId}/${key}`, value),
    globalCounts: (appId) => countsOf(`g${appId}/`),
    localSchema: (address, appId) => schemas.get(`${address}${appId}`),
    setLocalSchema: (address, appId, schema) => put(schemas, `${address}${appId}`, schema),
    localValue: (address, appId, key) => records.get(`l${address}${appId}/${key}`),
    setLocalValue: (address, appId, key, value) => put(records, `l${address}${appId}/${key}`, value),
    localCounts: (address, appId) => countsOf(`l${address}${appId}/`),
    box: (appId, name) => records.get(`b${appId}/${name}`) as Uint8Array | undefined,
    setBox: (appId, name, value) => put(records, `b${appId}/${name}`, value),
    mark: () => marks.push({ count, maps: maps.map((map) => [...map]) }) - 1,
    rollback: (mark) => {
      const before = marks[mark]!
      count = before.count
      for (const [index, map] of maps.entries()) {
        map.clear()
        for (const [key, value] of before.maps[index]!) map.set(key, value)
      }
    },
    innerProblem: () => undefined,
    applyInner: (group, index, effects) => {
      count++
      if (group.transactions[index]!.type === 'appl') group.call(index, effects)
    },
  }
}
