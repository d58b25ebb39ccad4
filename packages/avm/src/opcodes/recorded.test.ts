/** Compares the tables of instructions and fields with those of the reference. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as Fields from './Fields.js'
import * as Instruction from './Instruction.js'

type RecordedCost = {
  readonly base?: number
  readonly perChunk?: number
  readonly chunkBytes?: number
  readonly ofArg?: number
  readonly byField?: { readonly [field: string]: RecordedCost }
}
type Form = {
  readonly fromVersion: number
  readonly size: number
  readonly immediates: readonly { readonly name: string; readonly kind: string; readonly group?: string }[]
  readonly args: readonly string[]
  readonly returns: readonly string[]
  readonly cost: RecordedCost
  readonly modes: readonly string[]
}
type Operation = {
  readonly name: string
  readonly opcode: string
  readonly sub?: string
  readonly introduced: number
  readonly forms: readonly Form[]
}
type RecordedField = {
  readonly name: string
  readonly byte: number
  readonly type?: string
  readonly array?: boolean
  readonly effect?: boolean
  readonly version: number
  readonly itxnVersion?: number | null
  readonly setVersion?: number | null
  readonly modes?: readonly string[]
}
type Tables = {
  readonly maxEvalVersion: number
  readonly maxAssemblerVersion: number
  readonly groups: { readonly [name: string]: { readonly fields: readonly RecordedField[] } }
  readonly ops: readonly Operation[]
}

const sample = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'src', 'testdata')
const folder = process.env.LATCHKEY_AVM_CASES ?? sample
const tables = JSON.parse(readFileSync(join(folder, 'opcodes.json'), 'utf8')) as Tables
const versions = Array.from({ length: tables.maxAssemblerVersion }, (_, index) => index + 1)

function formIn(operation: Operation, version: number): Form | undefined {
  return operation.forms.findLast(({ fromVersion }) => fromVersion <= version)
}

function costOf({ base = 0, perChunk = 0, chunkBytes = 1, ofArg = 0 }: RecordedCost): Instruction.Cost {
  return { base, perChunk, chunkBytes, argument: ofArg }
}

test('the newest versions are those of the reference', () => {
  assert.equal(Instruction.maxVersion, tables.maxEvalVersion)
  assert.equal(Instruction.maxAssemblerVersion, tables.maxAssemblerVersion)
})

test('every version has the instructions of the reference', () => {
  for (const version of versions) {
    const expected = tables.ops.filter((operation) => formIn(operation, version) !== undefined)
    assert.deepEqual([...Instruction.names(version)].sort(), expected.map(({ name }) => name).sort(), `v${version}`)
  }
})

test('every instruction has the encoding, the types, the modes and the costs of the reference', () => {
  for (const operation of tables.ops) {
    for (const version of versions) {
      const form = formIn(operation, version)
      if (form === undefined) continue
      const what = `${operation.name} v${version}`
      const own = Instruction.named(version, operation.name)!
      const code = Number(operation.opcode)
      const suffix = operation.sub === undefined ? undefined : Number(operation.sub)
      assert.equal(Instruction.withCode(version, code, suffix), own, what)
      assert.equal(own.introduced, operation.introduced, what)
      const immediates = own.immediates.map(({ name, kind, group }) => ({ name, kind, ...(group && { group }) }))
      // Cells of the table are split at spaces.
      const named = form.immediates.map((one) => ({ ...one, name: one.name.replace(' ', '') }))
      assert.deepEqual(immediates, named, what)
      assert.deepEqual(
        own.args.map(({ name }) => name),
        form.args,
        what,
      )
      assert.deepEqual(
        own.returns.map(({ name }) => name),
        form.returns,
        what,
      )
      assert.deepEqual([own.isForSignatures, own.isForApps], modesOf(form.modes), what)
      compareCost(own, form.cost, what)
    }
  }
})

const modesOf = (modes: readonly string[]): boolean[] => ['sig', 'app'].map((mode) => modes.includes(mode))

/** A form of the table may list the cost of a field that the version does not have. */
function compareCost({ cost }: Instruction.Instruction, expected: RecordedCost, what: string): void {
  const { byField } = expected
  if (byField === undefined) {
    assert.deepEqual(cost, costOf(expected), what)
    return
  }
  assert.ok(cost instanceof Map, what)
  for (const [field, one] of Object.entries(byField)) assert.deepEqual(cost.get(field), costOf(one), what)
}

test('every group has the fields of the reference', () => {
  for (const [name, { fields }] of Object.entries(tables.groups)) {
    const group = name as Fields.GroupName
    assert.ok(Fields.isGroup(group), name)
    for (const field of fields) {
      const own = Fields.withByte(group, field.byte)!
      const what = `${name} ${field.name}`
      assert.equal(Fields.named(group, field.name), own, what)
      const { type, array = false, effect = false, modes = ['app', 'sig'] } = field
      assert.deepEqual(
        { ...own, type: own.type?.name },
        {
          name: field.name,
          byte: field.byte,
          type,
          version: field.version,
          isArray: array,
          isEffect: effect,
          setVersion: field.itxnVersion ?? field.setVersion ?? undefined,
          isAppOnly: !modes.includes('sig'),
        },
        what,
      )
    }
    assert.equal(Fields.withByte(group, fields.length), undefined, `${name} has more fields`)
  }
})
