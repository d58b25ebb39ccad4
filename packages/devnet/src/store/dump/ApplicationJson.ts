/** Applications, local states and boxes as JSON. Keys, names, values and programs are bytes, written in base64. */
import type { Application, StateSchema, Value } from '@latchkey/avm'
import { type Account, none, withApps } from '../../ledger/Account.js'
import * as MapKey from '../../ledger/MapKey.js'
import { type AppRecord, appAddress, StateValues } from '../../ledger/programs/AppRecords.js'
import type { HeldLocal, StateCopy } from '../../ledger/State.js'
import { holdingKey } from '../../ledger/StateReader.js'
import { addOnce, base64, type JsonCursor } from './JsonCursor.js'

export const names = ['applications', 'locals', 'boxes'] as const
type Name = (typeof names)[number]
export type Applications = Pick<StateCopy, Name>

/** Empty lists are omitted, so that a dump without applications can be read by versions that know none. */
export function toJson({ applications, locals, boxes }: Applications): { [name in Name]?: object[] } {
  const lists = {
    applications: sorted(applications).map(([appId, application]) => applicationJson(appId, application)),
    locals: sorted(locals).map(([, held]) => localJson(held)),
    boxes: sorted(boxes).flatMap(([appId, named]) =>
      sorted(named).map(([name, value]) => ({ appId: appId.toString(), name: text(name), value: base64(value) })),
    ),
  }
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0))
}

function sorted<K extends string | bigint, V>(map: ReadonlyMap<K, V>): [K, V][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1))
}

function text(key: MapKey.MapKey): string {
  return base64(MapKey.bytes(key))
}

function applicationJson(appId: bigint, { params, globals }: AppRecord): object {
  return {
    appId: appId.toString(),
    creator: MapKey.address(params.creator),
    approvalProgram: base64(params.approvalProgram),
    clearStateProgram: base64(params.clearStateProgram),
    globalSchema: schemaJson(params.globalSchema),
    localSchema: schemaJson(params.localSchema),
    extraPages: params.extraPages.toString(),
    version: params.version.toString(),
    sizeSponsor: params.sizeSponsor && MapKey.address(params.sizeSponsor),
    allowsForeignBoxReads: params.allowsForeignBoxReads,
    allowsFamilyBoxAccess: params.allowsFamilyBoxAccess,
    globals: valuesJson(globals),
  }
}

function localJson({ key, appId, local }: HeldLocal): object {
  return {
    address: MapKey.address(key),
    appId: appId.toString(),
    schema: schemaJson(local.schema),
    values: valuesJson(local.values),
  }
}

function schemaJson({ integers, byteStrings }: StateSchema): object {
  return { integers: integers.toString(), byteStrings: byteStrings.toString() }
}

function valuesJson(values: StateValues): object[] {
  return sorted(new Map(values.entries())).map(([key, value]) =>
    typeof value === 'bigint'
      ? { key: text(key), integer: value.toString() }
      : { key: text(key), bytes: base64(value) },
  )
}

const required = [
  ...(['appId', 'creator', 'approvalProgram', 'clearStateProgram', 'globalSchema', 'localSchema'] as const),
  ...(['extraPages', 'version', 'allowsForeignBoxReads', 'allowsFamilyBoxAccess', 'globals'] as const),
]
const maxPrograms = 16_384
const maxPages = 7n
const maxBoxBytes = 32_768
const maxNameBytes = 64
const maxValueBytes = 128
const maxValues = 64n

type Members = { readonly [name in Name]?: JsonCursor }

/** @param isNumber whether an id is that of a transaction, as are those of applications. */
export function fromJson(members: Members, isNumber: (id: bigint, place: JsonCursor) => void): Applications {
  const applications = new Map<bigint, AppRecord>()
  for (const member of members.applications?.list() ?? []) {
    const it = member.object(required, ['sizeSponsor'])
    const appId = it.appId.unsigned()
    isNumber(appId, it.appId)
    const params: Application = {
      creator: it.creator.address(),
      approvalProgram: it.approvalProgram.bytesUpTo(maxPrograms),
      clearStateProgram: it.clearStateProgram.bytesUpTo(maxPrograms),
      globalSchema: schemaOf(it.globalSchema),
      localSchema: schemaOf(it.localSchema),
      extraPages: Number(it.extraPages.unsigned(maxPages)),
      version: it.version.unsigned(),
      sizeSponsor: it.sizeSponsor?.address(),
      allowsForeignBoxReads: it.allowsForeignBoxReads.boolean(),
      allowsFamilyBoxAccess: it.allowsFamilyBoxAccess.boolean(),
    }
    addOnce(applications, appId, { params, globals: valuesOf(it.globals, params.globalSchema) }, it.appId)
  }
  return { applications, locals: localsOf(members, isNumber), boxes: boxesOf(members, isNumber) }
}

function localsOf({ locals: member }: Members, isNumber: (id: bigint, place: JsonCursor) => void) {
  const locals = new Map<string, HeldLocal>()
  for (const one of member?.list() ?? []) {
    const it = one.object(['address', 'appId', 'schema', 'values'])
    const [key, appId, schema] = [it.address.address(), it.appId.unsigned(), schemaOf(it.schema)]
    isNumber(appId, it.appId)
    addOnce(locals, holdingKey(key, appId), { key, appId, local: { schema, values: valuesOf(it.values, schema) } }, one)
  }
  return locals
}

function boxesOf({ boxes: member }: Members, isNumber: (id: bigint, place: JsonCursor) => void) {
  const boxes = new Map<bigint, Map<MapKey.MapKey, Uint8Array>>()
  for (const one of member?.list() ?? []) {
    const it = one.object(['appId', 'name', 'value'])
    const appId = it.appId.unsigned()
    isNumber(appId, it.appId)
    const named = boxes.get(appId) ?? new Map<MapKey.MapKey, Uint8Array>()
    boxes.set(appId, named)
    addOnce(named, MapKey.of(it.name.bytesUpTo(maxNameBytes)), it.value.bytesUpTo(maxBoxBytes), it.name)
  }
  return boxes
}

function schemaOf(member: JsonCursor): StateSchema {
  const { integers, byteStrings } = member.object(['integers', 'byteStrings'])
  return { integers: Number(integers.unsigned(maxValues)), byteStrings: Number(byteStrings.unsigned(maxValues)) }
}

function valuesOf(member: JsonCursor, { integers, byteStrings }: StateSchema): StateValues {
  const values = new StateValues()
  for (const one of member.list()) {
    const it = one.object(['key'], ['integer', 'bytes'])
    const key = MapKey.of(it.key.bytesUpTo(maxNameBytes))
    if (values.get(key) !== undefined) it.key.fail('is a duplicate')
    values.set(key, readValue(one, it))
  }
  const { counts } = values
  if (counts.integers > integers || counts.byteStrings > byteStrings) member.fail('exceeds its schema')
  return values
}

function readValue(one: JsonCursor, { integer, bytes }: { integer?: JsonCursor; bytes?: JsonCursor }): Value {
  if ((integer === undefined) === (bytes === undefined)) return one.fail('must have either integer or bytes')
  return integer === undefined ? bytes!.bytesUpTo(maxValueBytes) : integer.unsigned()
}

/** Adds the totals on which minimum balances depend. */
export function counted(
  accounts: ReadonlyMap<MapKey.MapKey, Account>,
  { applications, locals, boxes }: Applications,
): Map<MapKey.MapKey, Account> {
  const result = new Map(accounts)
  const add = (key: MapKey.MapKey, added: Parameters<typeof withApps>[1]): void => {
    result.set(key, withApps(result.get(key) ?? none, added))
  }
  for (const { params } of applications.values()) {
    add(params.creator, { created: 1 })
    add(params.sizeSponsor ?? params.creator, { ...params.globalSchema, extraPages: params.extraPages })
  }
  for (const { key, local } of locals.values()) add(key, { optedIn: 1, ...local.schema })
  for (const [appId, named] of boxes) {
    const key = appAddress(appId)
    for (const [name, value] of named) add(key, { boxes: 1, boxBytes: name.length + value.length })
  }
  return result
}
