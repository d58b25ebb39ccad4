/** The changes of recent blocks. */
import { Msgpack } from '@latchkey/algorand'
import type { Account } from '../ledger/Account.js'
import * as Block from '../ledger/Block.js'
import type { Ledger } from '../ledger/Ledger.js'
import * as MapKey from '../ledger/MapKey.js'
import type { Total, Totals } from '../ledger/State.js'
import type { AppResource, AssetRecord, BoxMod, StateDelta } from '../ledger/StateDelta.js'
import { ApiError } from './ApiError.js'
import * as accountEncoding from './accountEncoding.js'
import { applicationRecord, localRecord } from './applicationEncoding.js'
import { headerJson } from './blocks.js'
import * as HttpResponse from './HttpResponse.js'
import { SignedBytes, Text, type Value } from './HttpResponse.js'
import { type Route, type RouteContext, transactionId, uint } from './Route.js'

export const deltaRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v2/deltas/{round}',
    summary: 'State changes of one of the last 100 rounds',
    query: ['format'],
    handle: getDelta,
  },
  {
    method: 'GET',
    path: '/v2/deltas/{round}/txn/group',
    summary: 'State changes of each group of a round: not supported',
    query: ['format'],
    handle: getRoundGroups,
  },
  {
    method: 'GET',
    path: '/v2/deltas/txn/group/{id}',
    summary: 'State changes of a group: not supported',
    query: ['format'],
    handle: getGroup,
  },
]

function getDelta({ node, path, query }: RouteContext) {
  const round = uint('round', path[0]!)
  const format = query.format()
  const { ledger } = node
  const delta = ledger.deltas.get(round)
  const block = ledger.block(round)
  if (delta === undefined || block === undefined) {
    throw new ApiError(404, `failed retrieving State Delta: ${problemOf(round, ledger)}`)
  }
  const encode = format === 'json' ? json : msgpack
  const pool = ledger.genesis.chain.rewardsPool
  // A node writes the rewards pool at the beginning of every round.
  const accounts = new Map([[pool, ledger.state.account(pool)], ...delta.accounts])
  return HttpResponse.inFormat(deltaValue({ ...delta, accounts }, block.header, encode), format)
}

/** Matches a node that has earlier rounds in its database. */
function problemOf(round: bigint, { last, deltas }: Ledger): string {
  const stored = last.round - BigInt(deltas.size)
  if (round < stored) return `round ${round} before dbRound ${stored}`
  if (round > last.round) return `round ${round} too high: dbRound ${stored}, deltas ${deltas.size}`
  return `round ${round} not in deltas: dbRound ${stored}, deltas ${deltas.size}, offset 0`
}

const noTracer = 'failed retrieving the expected tracer from ledger'

/** Only followers with a tracer have the changes of single groups. */
function getRoundGroups({ path, query }: RouteContext): never {
  uint('round', path[0]!)
  query.format()
  throw new ApiError(501, noTracer)
}

function getGroup({ path, query }: RouteContext): never {
  query.format()
  transactionId(path[0]!)
  throw new ApiError(501, noTracer)
}

/** The two formats write addresses and headers differently, and JSON has no leases. */
type Encoding = {
  address: (key: MapKey.MapKey) => Value
  header: (header: Uint8Array) => Value
  leases: (leases: ReadonlyMap<string, bigint>) => Value
  /** The sort key of transaction ids: their written form. */
  order: (id: Buffer) => string
}

const json: Encoding = {
  address: MapKey.address,
  header: headerJson,
  leases: () => null,
  order: (id) => id.toString('base64'),
}

const msgpack: Encoding = {
  address: MapKey.bytes,
  header: (header) => new SignedBytes(header),
  leases: (leases) =>
    leases.size === 0
      ? null
      : new Map(
          [...leases].map(([name, until]): [Value, Value] => {
            const [sender, lease] = leaseParts(name)
            return [{ Lease: lease, Sender: sender }, until]
          }),
        ),
  order: (id) => id.toString('latin1'),
}

function deltaValue(delta: StateDelta, header: Uint8Array, encode: Encoding): Value {
  const { accounts, assetRecords, appResources, boxes, creatables, transactions, leases } = delta
  const { previousTimestamp, totals } = delta
  return {
    Accts: {
      Accts: [...accounts].map(([key, account]) => accountValue(key, account, encode)),
      AppResources: orNull(appResources.map((record) => appResourceValue(record, encode))),
      AssetResources: orNull(assetRecords.map((record) => assetRecordValue(record, encode))),
    },
    Creatables: creatablesValue(creatables, encode),
    Hdr: encode.header(openHeader(header, delta.openTimestamp)),
    KvMods: boxes.length === 0 ? null : boxesValue(boxes),
    PrevTimestamp: previousTimestamp,
    StateProofNext: 0,
    Totals: totalsValue(totals),
    Txids: new Map(
      [...transactions]
        .map(([key, lastValid], index): [Buffer, Value] => [
          Buffer.from(MapKey.bytes(key)),
          { Intra: index, LastValid: lastValid },
        ])
        .sort(([a], [b]) => (encode.order(a) < encode.order(b) ? -1 : 1)),
    ),
    Txleases: encode.leases(leases),
  }
}

function orNull(values: readonly Value[]): Value {
  return values.length === 0 ? null : values
}

function accountValue(key: MapKey.MapKey, account: Account, { address }: Encoding): Value {
  const record = accountEncoding.shortRecord(account)
  return { ...record, Addr: address(key), AuthAddr: address(account.authorizer ?? MapKey.zero) }
}

function assetRecordValue(record: AssetRecord, { address }: Encoding): Value {
  const { account, assetId, holding, isHoldingDeleted, asset, isAssetDeleted } = record
  return {
    Addr: address(account),
    Aidx: assetId,
    Holding: {
      Deleted: isHoldingDeleted,
      Holding: holding === undefined ? null : accountEncoding.holdingRecord(holding),
    },
    Params: { Deleted: isAssetDeleted, Params: asset === undefined ? null : withAddresses(asset, address) },
  }
}

function appResourceValue(record: AppResource, { address }: Encoding): Value {
  const { account, appId, application, isApplicationDeleted, local, isLocalDeleted } = record
  return {
    Addr: address(account),
    Aidx: appId,
    Params: {
      Deleted: isApplicationDeleted,
      Params: application === undefined ? null : applicationRecord(application, address),
    },
    State: { Deleted: isLocalDeleted, LocalState: local === undefined ? null : localRecord(local) },
  }
}

const boxPrefix = Buffer.from('bx:')

/** By the keys of a node's database: a prefix, the id of the application in 8 bytes, and the name. */
function boxesValue(boxes: readonly BoxMod[]): Value {
  const entries = boxes.map(({ appId, name, before, after }): [Buffer, Value] => {
    const id = Buffer.alloc(8)
    id.writeBigUInt64BE(appId)
    const key = Buffer.concat([boxPrefix, id, MapKey.bytes(name)])
    return [key, { Data: after ?? null, OldData: before ?? null }]
  })
  return new Map(entries.sort(([a], [b]) => Buffer.compare(a, b)).map(([key, value]) => [new Text(key), value]))
}

function withAddresses(asset: NonNullable<AssetRecord['asset']>, address: Encoding['address']): Value {
  const { manager, reserve, freeze, clawback } = asset
  const role = (key: MapKey.MapKey): Value | undefined => (key === MapKey.zero ? undefined : address(key))
  return {
    ...accountEncoding.assetRecord(asset),
    m: role(manager),
    r: role(reserve),
    f: role(freeze),
    c: role(clawback),
  }
}

function creatablesValue(creatables: StateDelta['creatables'], { address }: Encoding): Value {
  if (creatables.length === 0) return null
  const sorted = [...creatables].sort((a, b) => (a.id < b.id ? -1 : 1))
  return new Map(
    sorted.map(({ id, type, isCreated, creator }): [Value, Value] => [
      id,
      { Created: isCreated, Creator: address(creator), Ctype: type === 'asset' ? 0 : 1, Ndeltas: 0 },
    ]),
  )
}

/** Zero values are absent, and so are totals without any value. */
function totalsValue(totals: Totals): Value {
  const total = ({ microAlgos, rewardUnits }: Total): Value | undefined =>
    microAlgos === 0n && rewardUnits === 0n
      ? undefined
      : { mon: microAlgos || undefined, rwd: rewardUnits || undefined }
  return {
    notpart: total(totals['Not Participating']),
    offline: total(totals.Offline),
    online: total(totals.Online),
  }
}

/** The members that a node knows only when the block is full, and the timestamp. */
const late = new Set(['fc', 'ld', 'seed', 'spt', 'tc', 'ts', 'txn'])
const empty = Block.rootsOf([])

/** Returns the header before the first transaction, which is the one that a node reports here. */
function openHeader(header: Uint8Array, timestamp: bigint): Uint8Array {
  const reader = new Msgpack.Reader(header)
  const fields: [string, Uint8Array][] = []
  for (let left = reader.mapHeader(); left > 0; left--) {
    const name = reader.str()
    const start = reader.position
    reader.skip()
    if (!late.has(name)) fields.push([name, header.subarray(start, reader.position)])
  }
  if (timestamp !== 0n) fields.push(['ts', new Msgpack.Writer().uint(timestamp).bytes().slice()])
  fields.sort(([a], [b]) => (a < b ? -1 : 1))
  const writer = new Msgpack.Writer().mapHeader(fields.length)
  for (const [name, bytes] of fields) {
    writer.str(name)
    if (name === 'txn256' || name === 'txn512') writer.bin(empty[name])
    else writer.raw(bytes)
  }
  return writer.bytes().slice()
}

/** The two halves of a name that `leaseKey` makes. */
function leaseParts(name: string): [Uint8Array, Uint8Array] {
  const half = name.length / 2
  return [MapKey.bytes(name.slice(0, half)), MapKey.bytes(name.slice(half))]
}
