/** Operations on the state of applications. */
import { Address, Bytes } from '@latchkey/algorand'
import * as Availability from '../application/Availability.js'
import * as ByteKey from '../application/ByteKey.js'
import { accountLookupError, missingApplication } from '../application/largeIds.js'
import * as limits from '../application/limits.js'
import { type Call, type StatePlace, type StateSchema, schemaProblem } from '../application/model.js'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Machine } from '../evaluator/Machine.js'
import { fromBoolean, type Value } from '../evaluator/Value.js'
import { callOf, type Operations } from './Operation.js'

/** Global and local state. */
export const applications: Operations = {
  app_opted_in: (machine) => {
    const call = callOf(machine)
    const { address, id } = Availability.localOf(call, machine.stack.at(-2)!, machine.stack.at(-1) as bigint)
    const problem = accountLookupError(id)
    if (problem !== undefined) throw new EvaluationError(problem)
    machine.replace(2, fromBoolean(call.group.ledger.localSchema(address, id) !== undefined))
  },
  app_local_get: (machine) => {
    const { address, id } = Availability.localOf(callOf(machine), machine.stack.at(-2)!, 0n)
    const value = readLocal(machine, address, id, machine.stack.at(-1) as Uint8Array)
    machine.replace(2, value ?? 0n)
  },
  app_local_get_ex: (machine) => {
    const [account, app, key] = machine.stack.slice(-3) as [Value, bigint, Uint8Array]
    const { address, id } = Availability.localOf(callOf(machine), account, app)
    const value = readLocal(machine, address, id, key)
    machine.replace(3, value ?? 0n, fromBoolean(value !== undefined))
  },
  app_local_put: (machine) => {
    const [account, key, value] = machine.stack.slice(-3) as [Value, Uint8Array, Value]
    const call = callOf(machine)
    expectKey(key)
    const address = mutableAccount(call, account)
    if (call.group.ledger.localSchema(address, call.appId) === undefined) throw notOptedIn('fetch', address, call.appId)
    writeLocal(call, account, address, ByteKey.of(key), value)
    machine.replace(3)
  },
  app_local_del: (machine) => {
    const [account, key] = machine.stack.slice(-2) as [Value, Uint8Array]
    const call = callOf(machine)
    const address = mutableAccount(call, account)
    if (call.group.ledger.localSchema(address, call.appId) === undefined) throw notOptedIn('del', address, call.appId)
    if (key.length <= limits.maxKeyBytes) writeLocal(call, account, address, ByteKey.of(key), undefined)
    machine.replace(2)
  },
  app_global_get: (machine) => {
    const { appId } = callOf(machine)
    machine.replace(1, readGlobal(machine, appId, machine.stack.at(-1) as Uint8Array) ?? 0n)
  },
  app_global_get_ex: (machine) => {
    const [app, key] = machine.stack.slice(-2) as [bigint, Uint8Array]
    const value = readGlobal(machine, Availability.appOf(callOf(machine), app, true), key)
    machine.replace(2, value ?? 0n, fromBoolean(value !== undefined))
  },
  app_global_put: (machine) => {
    const [key, value] = machine.stack.slice(-2) as [Uint8Array, Value]
    expectKey(key)
    writeGlobal(callOf(machine), ByteKey.of(key), value)
    machine.replace(2)
  },
  app_global_del: (machine) => {
    const key = machine.stack.at(-1) as Uint8Array
    if (key.length <= limits.maxKeyBytes) writeGlobal(callOf(machine), ByteKey.of(key), undefined)
    machine.replace(1)
  },
}

// Longer keys do not exist. Turning one of 4,096 bytes into a key would take longer than everything else.
function readGlobal(machine: Machine, appId: bigint, key: Uint8Array): Value | undefined {
  const { ledger, pool } = callOf(machine).group
  if (ledger.application(appId) === undefined) throw missingApplication(appId)
  if (key.length > limits.maxKeyBytes) return undefined
  const name = ByteKey.of(key)
  const value = ledger.globalValue(appId, name)
  pool.observer?.onStateAccess?.({ kind: 'global', appId, key: name }, value)
  return value
}

function readLocal(machine: Machine, account: ByteKey.ByteKey, appId: bigint, key: Uint8Array): Value | undefined {
  const { ledger, pool } = callOf(machine).group
  if (ledger.localSchema(account, appId) === undefined) throw notOptedIn('fetch', account, appId)
  if (key.length > limits.maxKeyBytes) return undefined
  const name = ByteKey.of(key)
  const value = ledger.localValue(account, appId, name)
  pool.observer?.onStateAccess?.({ kind: 'local', appId, key: name, account }, value)
  return value
}

function notOptedIn(verb: string, account: ByteKey.ByteKey, appId: bigint): EvaluationError {
  const address = Address.encode(ByteKey.bytes(account))
  const problem = accountLookupError(appId) ?? `cannot ${verb} key, ${address} has not opted in to app ${appId}`
  return new EvaluationError(problem)
}

function expectKey({ length }: Uint8Array): void {
  if (length <= limits.maxKeyBytes) return
  throw new EvaluationError(`key too long: length was ${length}, maximum is ${limits.maxKeyBytes}`)
}

function expectEntry(key: ByteKey.ByteKey, value: Value | undefined): void {
  if (!(value instanceof Uint8Array)) return
  const name = `0x${Bytes.toHex(ByteKey.bytes(key))}`
  if (value.length > limits.maxValueBytes) {
    throw new EvaluationError(`value too long for key ${name}: length was ${value.length}`)
  }
  const sum = key.length + value.length
  if (sum > limits.maxKeyAndValueBytes) {
    throw new EvaluationError(`key/value total too long for key ${name}: sum was ${sum}`)
  }
}

function writeGlobal(call: Call, key: ByteKey.ByteKey, value: Value | undefined): void {
  const { group, appId } = call
  const { ledger } = group
  write(
    call,
    { kind: 'global', appId, key },
    {
      before: ledger.globalValue(appId, key),
      value,
      // The schema can change while the program runs: an inner call may update the application.
      schema: () => ledger.application(appId)?.globalSchema ?? call.application.globalSchema,
      counts: () => ledger.globalCounts(appId),
      set: () => ledger.setGlobalValue(appId, key, value),
      changes: () => call.delta.globals,
    },
  )
}

function writeLocal(
  call: Call,
  reference: Value,
  account: ByteKey.ByteKey,
  key: ByteKey.ByteKey,
  value: Value | undefined,
): void {
  const { group, appId } = call
  const { ledger } = group
  const schema = ledger.localSchema(account, appId)!
  const { sharedAccounts } = call.delta
  const known = sharedAccounts.length
  try {
    write(
      call,
      { kind: 'local', appId, key, account },
      {
        before: ledger.localValue(account, appId, key),
        value,
        schema: () => schema,
        counts: () => ledger.localCounts(account, appId),
        set: () => ledger.setLocalValue(account, appId, key, value),
        changes: () => localChanges(call, reference, account),
      },
    )
  } catch (error) {
    // As on a node, the delta of a failed call has the change, and not the account that it was the first to need.
    sharedAccounts.length = known
    throw error
  }
}

type Write = {
  readonly before: Value | undefined
  readonly value: Value | undefined
  readonly schema: () => StateSchema
  readonly counts: () => StateSchema
  readonly set: () => void
  readonly changes: () => Map<ByteKey.ByteKey, Value | undefined>
}

function write(call: Call, place: StatePlace, { before, value, schema, counts, set, changes }: Write): void {
  const { observer } = call.group.pool
  observer?.onStateAccess?.(place, before)
  if (before === value || isSame(before, value)) {
    // A write that changes nothing is not part of the call's delta, but the host may report it.
    set()
    observer?.onStateChange?.(place, value)
    return
  }
  // A simulation reports the change even if it then fails.
  changes().set(place.key, value)
  expectEntry(place.key, value)
  set()
  const problem = value === undefined ? undefined : schemaProblem(counts(), schema())
  if (problem !== undefined) throw new EvaluationError(problem)
  observer?.onStateChange?.(place, value)
}

function isSame(a: Value | undefined, b: Value | undefined): boolean {
  return a instanceof Uint8Array && b instanceof Uint8Array && Bytes.equal(a, b)
}

/**
 * Resolves an account whose local state changes. Deltas name it by an index, so that before shared resources the
 * transaction itself had to name it.
 */
function mutableAccount(call: Call, reference: Value): ByteKey.ByteKey {
  if (call.version < limits.sharedResourcesVersion) return Availability.mutableAccountOf(call, reference)
  const address = Availability.accountOf(call, reference)
  if (Availability.isLocalAvailable(call, address, call.appId)) return address
  const shown = Address.encode(ByteKey.bytes(address))
  throw new EvaluationError(`unavailable Local State ${call.appId}+${shown}`)
}

function localChanges(call: Call, reference: Value, account: ByteKey.ByteKey): Map<ByteKey.ByteKey, Value | undefined> {
  const { locals } = call.delta
  const isIndex = typeof reference === 'bigint' && call.transaction.al === undefined
  const index = isIndex ? Number(reference) : (Availability.accountIndex(call, account) ?? sharedIndex(call, account))
  let changes = locals.get(index)
  if (changes === undefined) {
    changes = new Map()
    locals.set(index, changes)
  }
  return changes
}

function sharedIndex({ delta: { sharedAccounts }, transaction }: Call, account: ByteKey.ByteKey): number {
  if (!sharedAccounts.includes(account)) sharedAccounts.push(account)
  return (transaction.apat?.length ?? 0) + 1 + sharedAccounts.indexOf(account)
}
