/** Applications and local state in the two encodings of nodes: JSON, and the stored record in msgpack. */
import type { Value as ProgramValue, StateSchema } from '@latchkey/avm'
import * as MapKey from '../ledger/MapKey.js'
import type { AppRecord, LocalState, StateValues } from '../ledger/programs/AppRecords.js'
import { stateValue } from './effectsValue.js'
import { Text, type Value } from './HttpResponse.js'

type Members = { [name: string]: Value | undefined }

export function applicationJson({ params, globals }: AppRecord): Value {
  return {
    'approval-program': params.approvalProgram,
    'clear-state-program': params.clearStateProgram,
    creator: MapKey.address(params.creator),
    'extra-program-pages': params.extraPages || undefined,
    'family-box-access': params.allowsFamilyBoxAccess || undefined,
    'foreign-box-reads': params.allowsForeignBoxReads || undefined,
    'global-state': globals.size === 0 ? undefined : stateValue(globals.entries()),
    'global-state-schema': schemaJson(params.globalSchema),
    'local-state-schema': schemaJson(params.localSchema),
    'size-sponsor': params.sizeSponsor && MapKey.address(params.sizeSponsor),
    version: params.version || undefined,
  }
}

export function schemaJson({ integers, byteStrings }: StateSchema): Value {
  return { 'num-byte-slice': byteStrings, 'num-uint': integers }
}

export function localJson(id: bigint, { schema, values }: LocalState): Members {
  return {
    id,
    'key-value': values.size === 0 ? undefined : stateValue(values.entries()),
    schema: schemaJson(schema),
  }
}

/** Zero values are absent. Accounts are bytes, except in JSON. */
export function applicationRecord(
  { params, globals }: AppRecord,
  address: (key: MapKey.MapKey) => Value = MapKey.bytes,
): Members {
  return {
    approv: params.approvalProgram,
    clearp: params.clearStateProgram,
    epp: params.extraPages || undefined,
    fba: params.allowsFamilyBoxAccess || undefined,
    fbr: params.allowsForeignBoxReads || undefined,
    gs: valuesRecord(globals),
    gsch: schemaRecord(params.globalSchema),
    lsch: schemaRecord(params.localSchema),
    ss: params.sizeSponsor && address(params.sizeSponsor),
    v: params.version || undefined,
  }
}

export function localRecord({ schema, values }: LocalState): Members {
  return { hsch: schemaRecord(schema), tkv: valuesRecord(values) }
}

export function schemaRecord({ integers, byteStrings }: StateSchema): Value | undefined {
  if (integers === 0 && byteStrings === 0) return undefined
  return { nbs: byteStrings || undefined, nui: integers || undefined }
}

function valuesRecord(values: StateValues): Value | undefined {
  if (values.size === 0) return undefined
  const sorted = [...values.entries()].sort(([a], [b]) => (a < b ? -1 : 1))
  return new Map(sorted.map(([key, value]) => [new Text(MapKey.bytes(key)), valueRecord(value)]))
}

function valueRecord(value: ProgramValue): Value {
  if (typeof value === 'bigint') return { tt: 2, ui: value || undefined }
  return { tb: value.length === 0 ? undefined : new Text(value), tt: 1 }
}

export function accountApplicationRecord(local: LocalState | undefined, created: AppRecord | undefined): Value {
  return { 'app-local-state': local && localRecord(local), 'app-params': created && applicationRecord(created) }
}
