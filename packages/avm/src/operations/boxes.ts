/** Operations on boxes. */
import type { BoxUse } from '../application/BoxAccess.js'
import { hexOf } from '../application/BoxAccess.js'
import * as ByteKey from '../application/ByteKey.js'
import { missingApplication } from '../application/largeIds.js'
import { maxBoxBytes, maxBoxNameBytes } from '../application/limits.js'
import type { Call, StatePlace } from '../application/model.js'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import { fromBoolean, type Value } from '../evaluator/Value.js'
import { maxUint64 } from '../opcodes/StackType.js'
import { extract, replace } from './byteStrings.js'
import { callOf, type Operations } from './Operation.js'

/** A box that an operation uses. Its application is that of the program, or the deepest argument of `app_box_*`. */
type Target = {
  readonly call: Call
  readonly appId: bigint
  readonly name: ByteKey.ByteKey
  readonly value: Uint8Array | undefined
  /** The arguments after the name. */
  readonly args: readonly Value[]
  readonly isWriting: boolean
  /** Puts values in place of the arguments before a failure, whose stack is part of the behaviour of nodes. */
  readonly leave: (...values: Value[]) => void
}

type BoxOperation = {
  /** The number of arguments, with the name. */
  readonly args: number
  readonly isWriting: boolean
  /** Returns the values that take the place of the arguments. */
  readonly run: (target: Target) => readonly Value[]
}

const operations: { readonly [name: string]: BoxOperation } = {
  create: {
    args: 2,
    isWriting: true,
    run: (target) => {
      const size = target.args[0] as bigint
      expectSize(size)
      // A box that exists is not written, so that it does not count for the budget.
      use(target, target.value === undefined ? 'create' : 'read', Number(size))
      if (target.value !== undefined) {
        if (BigInt(target.value.length) !== size) {
          throw new EvaluationError(`box size mismatch ${target.value.length} ${size}`)
        }
        return [0n]
      }
      set(target, new Uint8Array(Number(size)))
      return [1n]
    },
  },
  extract: {
    args: 3,
    isWriting: false,
    run: (target) => {
      const [start, length] = target.args as [bigint, bigint]
      expectSize(start + length)
      const box = existing(target, 'read')
      try {
        return [extract(box, start, length)]
      } catch (error) {
        target.leave(0n)
        throw error
      }
    },
  },
  replace: {
    args: 3,
    isWriting: true,
    run: (target) => {
      const [start, part] = target.args as [bigint, Uint8Array]
      expectSize(start + BigInt(part.length))
      set(target, replace(existing(target, 'write'), start, part))
      return []
    },
  },
  splice: {
    args: 4,
    isWriting: true,
    run: (target) => {
      const [start, length, part] = target.args as [bigint, bigint, Uint8Array]
      set(target, spliced(existing(target, 'write'), start, length, part))
      return []
    },
  },
  del: {
    args: 1,
    isWriting: true,
    run: (target) => {
      use(target, 'delete', 0)
      if (target.value === undefined) return [0n]
      set(target, undefined)
      return [1n]
    },
  },
  len: {
    args: 1,
    isWriting: false,
    run: (target) => {
      use(target, 'read', 0)
      return [BigInt(target.value?.length ?? 0), fromBoolean(target.value !== undefined)]
    },
  },
  get: {
    args: 1,
    isWriting: false,
    run: (target) => {
      use(target, 'read', 0)
      return [target.value ?? new Uint8Array(), fromBoolean(target.value !== undefined)]
    },
  },
  put: {
    args: 2,
    isWriting: true,
    run: (target) => {
      const [value] = target.args as [Uint8Array]
      use(target, target.value === undefined ? 'create' : 'write', value.length)
      if (target.value !== undefined && target.value.length !== value.length) {
        target.leave()
        throw new EvaluationError(`attempt to box_put wrong size ${target.value.length} != ${value.length}`)
      }
      set(target, value)
      return []
    },
  },
  resize: {
    args: 2,
    isWriting: true,
    run: (target) => {
      const [size] = target.args as [bigint]
      expectSize(size)
      const before = existing(target, 'resize', Number(size))
      const after = new Uint8Array(Number(size))
      after.set(before.subarray(0, after.length))
      // Nodes delete the box and create it, which writes the account even if the size stays the same.
      target.call.group.ledger.setBox(target.appId, target.name, undefined)
      set(target, after)
      return []
    },
  },
}

/** Boxes of the application itself, and from version 13 on of others. */
export const boxes: Operations = Object.fromEntries(
  Object.entries(operations).flatMap(([name, operation]) => [
    [`box_${name}`, (machine: Machine) => perform(machine, operation, false)],
    [`app_box_${name}`, (machine: Machine) => perform(machine, operation, true)],
  ]),
)

function perform(machine: Machine, operation: BoxOperation, namesApp: boolean): void {
  const call = callOf(machine)
  // The id of the application leaves the stack first, even if the operation fails.
  const appId = namesApp ? (machine.stack.splice(-1 - operation.args, 1)[0] as bigint) : call.appId
  const args = machine.stack.slice(-operation.args)
  const name = args[0] as Uint8Array
  expectName(call, name)
  const key = ByteKey.of(name)
  const value = call.group.ledger.box(appId, key)
  const { isWriting } = operation
  const leave = (...values: Value[]): void => machine.replace(operation.args, ...values)
  const target = { call, appId, name: key, value, args: args.slice(1), isWriting, leave }
  leave(...call.group.pool.boxes.during(() => operation.run(target)))
}

function expectAccess({ group: { ledger }, appId: own }: Call, appId: bigint, isWriting: boolean): void {
  if (appId === own) return
  const owner = ledger.application(appId)
  if (owner === undefined) throw missingApplication(appId)
  const isFamily = owner.creator === ledger.application(own)?.creator
  if (isFamily && owner.allowsFamilyBoxAccess) return
  if (!isWriting && owner.allowsForeignBoxReads) return
  const [who, verb] = [isFamily ? 'family' : 'foreign', isWriting ? 'write' : 'read']
  throw new EvaluationError(`${who} app ${own} may not ${verb} box of ${appId}`)
}

function expectName({ kind }: Call, { length }: Uint8Array): void {
  if (kind === 'clearState') throw new EvaluationError('boxes may not be accessed from ClearState program')
  if (length === 0) throw new EvaluationError('box names may not be zero length')
  if (length <= maxBoxNameBytes) return
  throw new EvaluationError(`name too long: length was ${length}, maximum is ${maxBoxNameBytes}`)
}

function expectSize(size: bigint): void {
  if (size <= BigInt(maxBoxBytes)) return
  const shown = size > maxUint64 ? maxUint64 : size
  throw new EvaluationError(`box size too large: ${shown}, maximum is ${maxBoxBytes}`)
}

function use({ call, appId, name, value, isWriting }: Target, kind: BoxUse, size: number): void {
  call.group.pool.boxes.use(appId, name, kind, value?.length, size)
  expectAccess(call, appId, isWriting)
  call.group.pool.observer?.onStateAccess?.({ kind: 'box', appId, key: name }, value)
}

function existing(target: Target, kind: BoxUse, size = target.value?.length ?? 0): Uint8Array {
  use(target, kind, size)
  if (target.value === undefined) throw new EvaluationError(`no such box 0x${hexOf(target.name)}`)
  return target.value
}

function set({ call: { group }, appId, name }: Target, value: Uint8Array | undefined): void {
  group.ledger.setBox(appId, name, value)
  const place: StatePlace = { kind: 'box', appId, key: name }
  group.pool.observer?.onStateChange?.(place, value)
}

/** Replaces a range by other bytes. The box keeps its length: the end is cut off or filled with zeroes. */
function spliced(box: Uint8Array, start: bigint, length: bigint, part: Uint8Array): Uint8Array {
  const size = BigInt(box.length)
  if (start > size) throw new EvaluationError(`replacement start ${start} beyond length: ${size}`)
  const end = start + length
  if (end > size) throw new EvaluationError(`splice end ${end} beyond original length: ${size}`)
  if (start + BigInt(part.length) > size) throw new EvaluationError('splice inserted bytes too long')
  const result = new Uint8Array(box.length)
  result.set(box.subarray(0, Number(start)))
  result.set(part, Number(start))
  const rest = Number(start) + part.length
  result.set(box.subarray(Number(end), Number(end) + box.length - rest), rest)
  return result
}
