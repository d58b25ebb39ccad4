/** Fields that instructions name in an immediate, such as `Sender` of `txn`. */
import { fieldTable } from './fieldTable.js'
import * as StackType from './StackType.js'

/** A field of a group. */
export type Field = {
  readonly name: string
  readonly byte: number
  /** The type of its value, or undefined for a field that has none, such as the name of a curve. */
  readonly type: StackType.StackType | undefined
  readonly version: number
  /** Whether its value is a list. */
  readonly isArray: boolean
  /** Whether it exists only after the transaction ran. */
  readonly isEffect: boolean
  /** The first version that can set the field, or undefined if none can. */
  readonly setVersion: number | undefined
  /** Whether logic signatures cannot read it. */
  readonly isAppOnly: boolean
}

/** The name of a group of fields. */
export type GroupName = keyof typeof fieldTable | 'txnScalar' | 'txnArray' | 'txnSettable' | 'appParamsSettable'

const groups = new Map<string, readonly Field[]>(
  Object.entries(fieldTable).map(([name, rows]) => [name, rows.trim().split('\n').map(parseRow)]),
)
const txn = groups.get('txn')!
groups.set(
  'txnScalar',
  txn.filter(({ isArray }) => !isArray),
)
groups.set(
  'txnArray',
  txn.filter(({ isArray }) => isArray),
)
groups.set('txnSettable', txn)
groups.set('appParamsSettable', groups.get('appParams')!)

const byName = new Map(
  [...groups].map(([group, fields]) => [group, new Map(fields.map((field) => [field.name, field]))]),
)
const byByte = new Map(
  [...groups].map(([group, fields]) => [group, new Map(fields.map((field) => [field.byte, field]))]),
)
// The assembler knows the other fields and refuses them; in a program, they have no meaning.
byByte.set(
  'appParamsSettable',
  new Map([...byByte.get('appParams')!].filter(([, { setVersion }]) => setVersion !== undefined)),
)

/** Whether the name is that of a group. */
export function isGroup(name: string): name is GroupName {
  return groups.has(name)
}

/** Returns the field of a group by its name. */
export function named(group: GroupName, name: string): Field | undefined {
  return byName.get(group)!.get(name)
}

/** Returns the field of a group by its byte. */
export function withByte(group: GroupName, byte: number): Field | undefined {
  return byByte.get(group)!.get(byte)
}

/** Messages name the types of some groups. */
const typeNames: { readonly [group: string]: string } = {
  txn: 'TxnField',
  global: 'GlobalField',
  block: 'BlockField',
  base64Encoding: 'Base64Encoding',
  jsonType: 'JSONRefType',
  vrfStandard: 'VrfStandard',
}

/** The name of a byte in messages. As on a node, the first byte without a field has a name of its own. */
export function nameOf(group: GroupName, byte: number): string {
  const field = withByte(group, byte)
  if (field !== undefined) return field.name
  const type = typeNames[group]!
  return group !== 'block' && byte === groups.get(group)!.length ? `invalid${type}` : `${type}(${byte})`
}

function parseRow(row: string): Field {
  const [byte, name, type, version, properties = ''] = row.split(';').map((cell) => cell.trim())
  const [, setVersion] = /set=(\d+)/.exec(properties) ?? []
  return {
    name: name!,
    byte: Number(byte),
    type: type === '' ? undefined : StackType.parse(type!),
    version: Number(version),
    isArray: /\barray\b/.test(properties),
    isEffect: /\beffect\b/.test(properties),
    setVersion: setVersion === undefined ? undefined : Number(setVersion),
    isAppOnly: /\bapp\b/.test(properties),
  }
}
