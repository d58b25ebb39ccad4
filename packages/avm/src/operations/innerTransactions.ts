/** Operations that make transactions, and read those that were made. */
import type { Transaction } from '@latchkey/algorand'
import * as Inner from '../application/Inner.js'
import { type Group, innerId } from '../application/model.js'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import type { Value } from '../evaluator/Value.js'
import * as Fields from '../opcodes/Fields.js'
import { callOf, type Operations } from './Operation.js'
import * as TransactionFields from './TransactionFields.js'

/** The first version whose inner transactions have ids. */
const innerIdVersion = 6

/** Inner transactions. */
export const innerTransactions: Operations = {
  itxn_begin: (machine) => Inner.begin(callOf(machine)),
  itxn_next: (machine) => Inner.next(callOf(machine)),
  itxn_field: (machine) => {
    const call = callOf(machine)
    const byte = machine.immediate(1)
    const field = Fields.withByte('txn', byte)
    if (call.building === undefined) throw new EvaluationError('itxn_field without itxn_begin')
    if (field?.setVersion === undefined || field.setVersion > machine.version) {
      throw new EvaluationError(`invalid itxn_field ${Fields.nameOf('txn', byte)}`)
    }
    // The value leaves the stack even if the field cannot have it.
    Inner.setField(call, field.name, machine.stack.pop()!)
  },
  itxn_submit: (machine) => Inner.submit(callOf(machine)),
  itxn: (machine) => {
    machine.stack.push(scalar(machine, undefined, machine.immediate(1)))
  },
  itxna: (machine) => {
    machine.stack.push(element(machine, undefined, machine.immediate(1), BigInt(machine.immediate(2))))
  },
  itxnas: (machine) => {
    machine.replace(1, element(machine, undefined, machine.immediate(1), machine.stack.at(-1) as bigint))
  },
  gitxn: (machine) => {
    machine.stack.push(scalar(machine, machine.immediate(1), machine.immediate(2)))
  },
  gitxna: (machine) => {
    const index = BigInt(machine.immediate(3))
    machine.stack.push(element(machine, machine.immediate(1), machine.immediate(2), index))
  },
  gitxnas: (machine) => {
    const index = machine.stack.at(-1) as bigint
    machine.replace(1, element(machine, machine.immediate(1), machine.immediate(2), index))
  },
}

function scalar(machine: Machine, index: number | undefined, byte: number): Value {
  const field = fieldOf(machine, byte)
  if (field.isArray) throw new EvaluationError(`invalid txn field ${field.name}`)
  const source = sourceOf(machine, index)
  expectKnown(machine, field)
  return TransactionFields.scalar(source, field)
}

function element(machine: Machine, index: number | undefined, byte: number, position: bigint): Value {
  const field = fieldOf(machine, byte)
  if (!field.isArray) throw new EvaluationError(`unsupported array field ${field.name}`)
  return TransactionFields.element(sourceOf(machine, index), field, position)
}

function fieldOf({ version }: Machine, byte: number): Fields.Field {
  const field = Fields.withByte('txn', byte)
  if (field !== undefined && field.version <= version) return field
  throw new EvaluationError(`invalid txn field ${Fields.nameOf('txn', byte)}`)
}

/** A transaction of the group that was submitted last. Without an index, its last one. */
function sourceOf(machine: Machine, index: number | undefined): TransactionFields.Source {
  const group = callOf(machine).submitted
  const length = group?.transactions.length ?? 0
  const place = index ?? Math.max(0, length - 1)
  if (group === undefined || place >= length) throw new EvaluationError(`txn index ${place}, len(group) is ${length}`)
  const transaction = group.transactions[place]!
  return {
    machine,
    transaction,
    effects: group.effects[place],
    // As on a node, `itxn` shows the last transaction as if it were the first of its group.
    index: index ?? 0,
    id: () => (index === undefined ? lastId(group, transaction) : group.transactionId(place)),
  }
}

const lastIds = new WeakMap<Group, Uint8Array>()

/** Computed once for each group: a loop that reads the id of a transaction of 30 kB has a cost of 1 for each read. */
function lastId(group: Group, transaction: Transaction.Transaction): Uint8Array {
  let id = lastIds.get(group)
  if (id === undefined) {
    id = innerId(group.origin!, 0, transaction)
    lastIds.set(group, id)
  }
  return id
}

function expectKnown({ version }: Machine, { name }: Fields.Field): void {
  if (version >= innerIdVersion || (name !== 'TxID' && name !== 'GroupIndex')) return
  throw new EvaluationError(`illegal field for inner transaction ${name}`)
}
