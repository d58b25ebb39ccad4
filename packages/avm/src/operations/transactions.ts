/** Operations that read transactions of the group. */
import { Call } from '../application/model.js'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import type { Value } from '../evaluator/Value.js'
import * as Fields from '../opcodes/Fields.js'
import type { Operations } from './Operation.js'
import * as TransactionFields from './TransactionFields.js'

/** The first version that reads the effects of the group. */
const effectsVersion = 6

/** Fields of transactions. */
export const transactions: Operations = {
  txn: (machine) => {
    machine.stack.push(scalar(machine, BigInt(machine.index), machine.immediate(1)))
  },
  gtxn: (machine) => {
    machine.stack.push(scalar(machine, BigInt(machine.immediate(1)), machine.immediate(2)))
  },
  gtxns: (machine) => {
    machine.replace(1, scalar(machine, numberAt(machine, -1), machine.immediate(1)))
  },
  txna: (machine) => {
    const index = BigInt(machine.immediate(2))
    machine.stack.push(element(machine, BigInt(machine.index), machine.immediate(1), index))
  },
  gtxna: (machine) => {
    const [transaction, field, index] = [machine.immediate(1), machine.immediate(2), machine.immediate(3)]
    machine.stack.push(element(machine, BigInt(transaction), field, BigInt(index)))
  },
  gtxnsa: (machine) => {
    const index = BigInt(machine.immediate(2))
    machine.replace(1, element(machine, numberAt(machine, -1), machine.immediate(1), index))
  },
  txnas: (machine) => {
    machine.replace(1, element(machine, BigInt(machine.index), machine.immediate(1), numberAt(machine, -1)))
  },
  gtxnas: (machine) => {
    const transaction = BigInt(machine.immediate(1))
    machine.replace(1, element(machine, transaction, machine.immediate(2), numberAt(machine, -1)))
  },
  gtxnsas: (machine) => {
    machine.replace(2, element(machine, numberAt(machine, -2), machine.immediate(1), numberAt(machine, -1)))
  },
}

function numberAt({ stack }: Machine, index: number): bigint {
  return stack.at(index) as bigint
}

function scalar(machine: Machine, transaction: bigint, byte: number): Value {
  const field = fieldOf(machine, byte)
  if (field.isArray) throw new EvaluationError(`invalid txn field ${field.name}`)
  expectMode(machine, field)
  expectPast(machine, transaction, field)
  const index = transactionIndex(machine, transaction)
  expectEffects(machine, field)
  return TransactionFields.scalar(sourceOf(machine, index), field)
}

function element(machine: Machine, transaction: bigint, byte: number, index: bigint): Value {
  const field = fieldOf(machine, byte)
  if (!field.isArray) throw new EvaluationError(`unsupported array field ${field.name}`)
  expectMode(machine, field)
  expectPast(machine, transaction, field)
  const place = transactionIndex(machine, transaction)
  expectEffects(machine, field)
  return TransactionFields.element(sourceOf(machine, place), field, index)
}

function expectPast(machine: Machine, index: bigint, { isEffect }: Fields.Field): void {
  if (!isEffect || index < BigInt(machine.index)) return
  throw new EvaluationError(`txn effects can only be read from past txns ${index} ${machine.index}`)
}

/** Programs of version 5 know the effects of inner transactions alone. */
function expectEffects({ version }: Machine, { isEffect }: Fields.Field): void {
  if (!isEffect || version >= effectsVersion) return
  throw new EvaluationError('Unable to obtain effects from top-level transactions')
}

function sourceOf(machine: Machine, index: number): TransactionFields.Source {
  const { context, call } = machine
  return {
    machine,
    transaction: context.group[index]!,
    effects: call instanceof Call ? call.group.effects[index] : undefined,
    index,
    id: () => context.transactionId(index),
  }
}

function fieldOf({ version }: Machine, byte: number): Fields.Field {
  const field = Fields.withByte('txn', byte)
  if (field !== undefined && field.version <= Math.max(version, 1)) return field
  throw new EvaluationError(`invalid txn field ${Fields.nameOf('txn', byte)}`)
}

function transactionIndex({ context: { group } }: Machine, index: bigint): number {
  if (index < BigInt(group.length)) return Number(index)
  throw new EvaluationError(`txn index ${index}, len(group) is ${group.length}`)
}

function expectMode({ mode }: Machine, { name, isEffect }: Fields.Field): void {
  if (isEffect && mode === 'signature') throw new EvaluationError(`txn[${name}] not allowed in current mode`)
}
