/** Operations on logs, and on the effects of earlier application calls of the group. */
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import type { Value } from '../evaluator/Value.js'
import { callOf, type Operations } from './Operation.js'

/** Logs, scratch space and created ids of the group. */
export const effects: Operations = {
  log: (machine) => {
    const call = callOf(machine)
    const { pool } = call.group
    const { logs } = call.delta
    const message = machine.stack.at(-1) as Uint8Array
    if (logs.length >= pool.maxLogCalls) {
      throw new EvaluationError(`too many log calls in program. up to ${pool.maxLogCalls} is allowed`)
    }
    call.logBytes += message.length
    if (call.logBytes > pool.maxLogBytes) {
      throw new EvaluationError(`program logs too large. ${call.logBytes} bytes >  ${pool.maxLogBytes} bytes limit`)
    }
    logs.push(message)
    call.loggedAt = machine.pc
    machine.replace(1)
  },
  gload: (machine) => {
    machine.stack.push(scratchOf(machine, BigInt(machine.immediate(1)), BigInt(machine.immediate(2)), 'gload'))
  },
  gloads: (machine) => {
    const index = machine.stack.at(-1) as bigint
    machine.replace(1, scratchOf(machine, index, BigInt(machine.immediate(1)), 'gloads'))
  },
  gloadss: (machine) => {
    const [index, slot] = machine.stack.slice(-2) as [bigint, bigint]
    machine.replace(2, scratchOf(machine, index, slot, 'gloadss'))
  },
  gaid: (machine) => {
    machine.stack.push(createdId(machine, BigInt(machine.immediate(1)), 'gaid'))
  },
  gaids: (machine) => {
    machine.replace(1, createdId(machine, machine.stack.at(-1) as bigint, 'gaids'))
  },
}

function scratchOf(machine: Machine, index: bigint, slot: bigint, name: string): Value {
  const { group, index: own } = callOf(machine)
  const { length } = group.transactions
  if (index >= BigInt(length)) {
    throw new EvaluationError(`${name} lookup TxnGroup[${index}] but it only has ${length}`)
  }
  // Only gloadss takes the slot from the stack; an immediate is one byte.
  if (slot >= BigInt(machine.scratch.length)) throw new EvaluationError(`${name} scratch index >= 256 (${slot})`)
  const place = Number(index)
  if (group.transactions[place]!.type !== 'appl') {
    throw new EvaluationError(`can't use ${name} on non-app call txn with index ${index}`)
  }
  if (place === own) throw new EvaluationError(`can't use ${name} on self, use load instead`)
  if (place > own) {
    throw new EvaluationError(`${name} can't get future scratch space from txn with index ${index}`)
  }
  const scratch = group.scratches[place]
  if (scratch === undefined) throw new EvaluationError(`${name} lookup of txn ${index} that did not run a program`)
  return scratch[Number(slot)] ?? 0n
}

function createdId(machine: Machine, index: bigint, name: string): bigint {
  const { group, index: own } = callOf(machine)
  const { length } = group.transactions
  if (index >= BigInt(length)) {
    throw new EvaluationError(`${name} lookup TxnGroup[${index}] but it only has ${length}`)
  }
  const place = Number(index)
  if (place > own) {
    throw new EvaluationError(
      `${name} can't get creatable ID of txn ahead of the current one (index ${index}) in the transaction group`,
    )
  }
  if (place === own) {
    throw new EvaluationError(
      `${name} is only for accessing creatable IDs of previous txns, use \`global CurrentApplicationID\` instead to access the current app's creatable ID`,
    )
  }
  const { type } = group.transactions[place]!
  if (type !== 'appl' && type !== 'acfg') {
    throw new EvaluationError(
      `can't use ${name} on txn that is not an app call nor an asset config txn with index ${index}`,
    )
  }
  const { createdAppId, createdAssetId } = group.effects[place] ?? {}
  const id = createdAppId ?? createdAssetId
  if (id === undefined) throw new EvaluationError(`${name}: index ${index} did not create anything`)
  return id
}
